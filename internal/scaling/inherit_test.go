package scaling

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAVariantTakesOverThePastOfTheOneThatHadItsTarget(t *testing.T) {
	key := func(name string) VariantKey { return VariantKey{Namespace: "ns", Name: name} }
	model, target := ModelKey{Namespace: "ns", ID: "m"}, TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}
	past := func(desired Replicas, change ...func(*Past)) Past {
		p := Past{Target: target, Model: model, Desired: desired, DecidedAt: time.Unix(int64(desired), 0)}
		for _, f := range change {
			f(&p)
		}
		return p
	}
	v := func(name string) Variant { return Variant{Key: key(name), Target: target, Model: model} }
	for name, tt := range map[string]struct {
		history History
		fleet   []Variant
		want    map[string]Replicas // desired replicas by variant, of those in the fleet
	}{
		"the other is gone":          {History{key("va"): past(5)}, []Variant{v("hpa")}, map[string]Replicas{"hpa": 5}},
		"the other stays":            {History{key("va"): past(5)}, []Variant{v("va"), v("hpa")}, map[string]Replicas{"va": 5}},
		"it has a past of its own":   {History{key("va"): past(5), key("hpa"): past(2)}, []Variant{v("hpa")}, map[string]Replicas{"hpa": 2}},
		"another target":             {History{key("va"): past(5, func(p *Past) { p.Target.Name = "e" })}, []Variant{v("hpa")}, map[string]Replicas{}},
		"another model":              {History{key("va"): past(5, func(p *Past) { p.Model.ID = "n" })}, []Variant{v("hpa")}, map[string]Replicas{}},
		"another API version":        {History{key("va"): past(5, func(p *Past) { p.Target.APIVersion = "apps/v1beta2" })}, []Variant{v("hpa")}, map[string]Replicas{"hpa": 5}},
		"of several the latest past": {History{key("a"): past(5), key("b"): past(7), key("c"): past(6)}, []Variant{v("hpa")}, map[string]Replicas{"hpa": 7}},
		"another namespace":          {History{VariantKey{Namespace: "other", Name: "va"}: past(5)}, []Variant{v("hpa")}, map[string]Replicas{}},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(tt.history)
			got := map[string]Replicas{}
			inherited := tt.history.Inherit(Fleet{Variants: tt.fleet})
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
