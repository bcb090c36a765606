package cycle

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// tenants are two namespaces with the same model, accelerators and pod template. One has served for
// long, and its replicas may report a false speed. The other begins.
type tenants struct {
	setup Setup
	past  memory.History
	cycle int
}

func newTenants(share bool) *tenants {
	t := &tenants{setup: Setup{Models: map[scaling.ModelKey]settings.Model{}, Interval: time.Minute}, past: memory.History{}}
	for _, namespace := range []string{"evil", "honest"} {
		s := settingsOf(settings.Queueing, settings.Spare)
		s.ShareProfiles = share
		t.setup.Models[scaling.ModelKey{Namespace: namespace, ID: "m"}] = s
	}
	return t
}

// look returns a snapshot of two replicas of a namespace, whose steps take step(n) ms with n
// requests decoding. With decoding 0 no replica has a pace.
func (t *tenants) look(namespace string, step func(n float64) float64, decoding float64) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	at := now.Add(time.Duration(t.cycle) * time.Minute)
	v := siteVariant("v", 10, 1, 2)
	v.Key.Namespace, v.Model.Namespace, v.Template, v.Profile = namespace, namespace, "t", scaling.Profile{}
	v.Replicas.NewestReady = now.Add(-time.Hour)
	s := scaling.Snapshot{Model: v.Model, At: at, Window: time.Minute, Variants: []scaling.Variant{v}}
	rate := 1000 * decoding / (step(decoding) * siteOutput)
	for _, pod := range []string{"a", "b"} {
		r := scaling.ReplicaSample{
			Pod: namespace + pod, Variant: v.Key, Ready: true, At: at, KVCapacity: fresh(siteKV), Running: fresh(decoding),
			KVCacheUsage: fresh(0.3), KVCacheUsageNow: fresh(0.3), QueueLength: fresh(0), QueueLengthNow: fresh(0),
		}
		if decoding > 0 {
			r.Pace = scaling.Pace{Decoding: decoding, ITL: step(decoding), Started: rate, TTFT: 2 * step(decoding)}
		}
		s.Replicas = append(s.Replicas, r)
	}
	s.Load = scaling.Load{
		ArrivalRate: fresh(2 * rate), InputTokens: fresh(siteInput), OutputTokens: fresh(siteOutput), ITL: fresh(step(decoding)), TTFT: fresh(2 * step(decoding)),
		GatewayQueue: scaling.Reading{State: scaling.NotApplicable}, PrefixHits: scaling.Reading{State: scaling.NotApplicable},
	}
	if decoding == 0 {
		s.Load.ArrivalRate = fresh(4)
	}
	return s
}

func (t *tenants) run(snapshots ...scaling.Snapshot) Verdict {
	out := t.setup.Decide(Case{Now: snapshots[0].At, Snapshots: snapshots, History: t.past})
	t.cycle++
	t.past = out.History
	return out
}

// TestANamespaceMovesNoOtherUnlessProfilesAreShared: the speed that the replicas of one namespace
// report, true or not, changes nothing in another. If profiles are shared, learning starts from it,
// and the namespace's own measurements replace it.
func TestANamespaceMovesNoOtherUnlessProfilesAreShared(t *testing.T) {
	honest := func(n float64) float64 { return 20 + 0.4*n }
	lie := func(n float64) float64 { return 2 + 0.04*n }
	owner := scaling.ModelKey{Namespace: "honest", ID: "m"}
	key := scaling.VariantKey{Namespace: "honest", Name: "v"}
	waves := []float64{2, 6, 14, 30}
	perReplica := func(v Verdict) float64 {
		for _, a := range v.Analyses {
			if a.Model == owner && a.Analyzer == "queueing" && len(a.Variants) == 1 {
				return a.Variants[0].PerReplica
			}
		}
		return 0
	}
	run := func(share, evil bool, decoding func(cycle int) float64) (verdicts []Verdict) {
		all := newTenants(share)
		for range 20 {
			var snapshots []scaling.Snapshot
			if evil {
				snapshots = append(snapshots, all.look("evil", lie, waves[all.cycle%4]))
			}
			n := 0.0
			if all.cycle >= 10 {
				n = decoding(all.cycle - 10)
			}
			verdicts = append(verdicts, all.run(append(snapshots, all.look("honest", honest, n))...))
		}
		return verdicts
	}
	idle := func(int) float64 { return 0 }
	serving := func(cycle int) float64 { return waves[cycle%4] }

	for name, decoding := range map[string]func(int) float64{"idle": idle, "serving": serving} {
		alone, beside := run(false, false, decoding), run(false, true, decoding)
		for i := range alone {
			if got, want := encode(t, beside[i].History[key]), encode(t, alone[i].History[key]); got != want {
				t.Fatalf("%s, cycle %d: beside another namespace, which shares nothing, %s\nwant as alone %s", name, i, got, want)
			}
		}
	}
	shared := run(true, true, idle)
	last := shared[len(shared)-1]
	if fit := last.History[key].Fit; !fit.Shared.Known() || fit.Informed() {
		t.Errorf("shared, the idle namespace has %+v, want a prior and no evidence", fit)
	}
	if alone := run(true, false, idle); perReplica(last) <= 2*perReplica(alone[len(alone)-1]) {
		t.Errorf("with what is shared a replica serves %.2f requests/s, alone %.2f: want what the other showed", perReplica(last), perReplica(alone[len(alone)-1]))
	}
	alone, beside := run(true, false, serving), run(true, true, serving)
	got, want := perReplica(beside[len(beside)-1]), perReplica(alone[len(alone)-1])
	if !(want > 0) || math.Abs(got-want) > 0.05*want {
		t.Errorf("after ten windows of its own, beside a lie that is shared, a replica serves %.2f requests/s, want the %.2f of one alone", got, want)
	}
}

// TestSharingEndsWithItsSetting: in the next cycle the shared profile is no longer a prior.
func TestSharingEndsWithItsSetting(t *testing.T) {
	key := scaling.VariantKey{Namespace: "honest", Name: "v"}
	step := func(n float64) float64 { return 20 + 0.4*n }
	all := newTenants(true)
	cycle := func() memory.Shared {
		return all.run(all.look("evil", step, 4), all.look("honest", step, 0)).History[key].Fit.Shared
	}
	for range 5 {
		cycle()
	}
	if !cycle().Known() {
		t.Fatal("nothing is shared")
	}
	for m, s := range all.setup.Models {
		s.ShareProfiles = m.Namespace != "evil" // one of both suffices
		all.setup.Models[m] = s
	}
	if s := cycle(); s.Known() {
		t.Errorf("it is still shared: %+v", s)
	}
}
