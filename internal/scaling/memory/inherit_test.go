package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAVariantTakesOverThePastOfTheOneThatHadItsTarget(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "ns", Name: name} }
	model, target := scaling.ModelKey{Namespace: "ns", ID: "m"}, scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}
	past := func(desired scaling.Replicas, change ...func(*Past)) Past {
		p := Past{Target: target, Model: model, Desired: desired, DecidedAt: time.Unix(int64(desired), 0)}
		for _, f := range change {
			f(&p)
		}
		return p
	}
	v := func(name string) scaling.Variant {
		return scaling.Variant{Key: key(name), Target: target, Model: model}
	}
	for name, tt := range map[string]struct {
		history History
		fleet   []scaling.Variant
		want    map[string]scaling.Replicas // desired replicas by variant, of those in the fleet
	}{
		"the other is gone":        {History{key("va"): past(5)}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{"hpa": 5}},
		"the other stays":          {History{key("va"): past(5)}, []scaling.Variant{v("va"), v("hpa")}, map[string]scaling.Replicas{"va": 5}},
		"it has a past of its own": {History{key("va"): past(5), key("hpa"): past(2)}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{"hpa": 2}},
		"another target":           {History{key("va"): past(5, func(p *Past) { p.Target.Name = "e" })}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{}},
		"another model":            {History{key("va"): past(5, func(p *Past) { p.Model.ID = "n" })}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{}},
		"another API version": {
			History{key("va"): past(5, func(p *Past) { p.Target.APIVersion = "apps/v1beta2" })},
			[]scaling.Variant{v("hpa")},
			map[string]scaling.Replicas{"hpa": 5},
		},
		"of several the latest past": {History{key("a"): past(5), key("b"): past(7), key("c"): past(6)}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{"hpa": 7}},
		"another namespace":          {History{scaling.VariantKey{Namespace: "other", Name: "va"}: past(5)}, []scaling.Variant{v("hpa")}, map[string]scaling.Replicas{}},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(tt.history)
			got := map[string]scaling.Replicas{}
			inherited := tt.history.Inherit(scaling.Fleet{Variants: tt.fleet})
			for _, v := range tt.fleet {
				if p, ok := inherited[v.Key]; ok {
					got[v.Key.Name] = p.Desired
				}
			}
			if diff := cmp.Diff(got, tt.want); diff != "" || len(tt.history) != before {
				t.Errorf("%d pasts, were %d; -got +want:\n%s", len(tt.history), before, diff)
			}
		})
	}
}
