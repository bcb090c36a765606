package cycle

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record/recordtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// TestARecordHoldsTheWholeCase fails for a new field, in a Case, a Setup or anything in them, that
// a record does not carry.
func TestARecordHoldsTheWholeCase(t *testing.T) {
	var d Decided
	recordtest.Filler{Rand: rand.New(rand.NewPCG(1, 2))}.Fill(&d)
	recorded := d.Recorded()
	setup, c := FromRecord(recorded)
	if diff := cmp.Diff(d.Case, c); diff != "" {
		t.Errorf("a record loses (-) or makes up (+):\n%s", diff)
	}
	if diff := cmp.Diff(d.Setup, setup); diff != "" {
		t.Errorf("a record loses (-) or makes up (+) of how it was decided:\n%s", diff)
	}
	if recorded.Cycle != d.Case.Cycle || !cmp.Equal(d.Plan, *recorded.Plan) || recorded.Build == "" {
		t.Errorf("recorded as %s of %q", recorded.Cycle, recorded.Build)
	}
}

// TestARecordedCaseIsDecidedToTheSameBytes writes random cases with faults of all kinds, reads
// them, and decides them again.
func TestARecordedCaseIsDecidedToTheSameBytes(t *testing.T) {
	forSeeds(t, 150, func(t *testing.T, _ Setup, _ Case, r *rand.Rand) {
		setup, c := randomSetup(r)
		for key, s := range setup.Models {
			s.Saturation = saturation.Thresholds{
				KVCacheThreshold: 0.5 + r.Float64()/2, QueueLengthThreshold: 5 * r.Float64(), KVSpareTrigger: r.Float64() / 5, QueueSpareTrigger: r.Float64(),
			}
			setup.Models[key] = s
		}
		c.Cycle = "p-1"
		verdict := setup.Decide(c)
		line := Decided{Setup: setup, Case: c, Plan: verdict.Plan}.Recorded().Append(nil)

		read, err := record.Decode(line)
		if err != nil {
			t.Fatalf("%v in\n%s", err, line)
		}
		sameSetup, sameCase := FromRecord(read)
		again := sameSetup.Decide(sameCase)
		read.Plan = &again.Plan
		if diff := cmp.Diff(string(line), string(read.Append(nil))); diff != "" {
			t.Errorf("recorded (-) and decided again (+):\n%s", diff)
		}
		if diff := cmp.Diff(verdict.History, again.History, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("remembered (-) and remembered again (+):\n%s", diff)
		}
	})
}

func TestARecordIsDecidedByTheEngineThatWasPublishedAsModel(t *testing.T) {
	m := scaling.ModelKey{Namespace: "ns", ID: "m"}
	r := record.Cycle{Configuration: map[scaling.ModelKey]settings.Model{m: {Engine: "model"}}}
	if setup, _ := FromRecord(r); setup.Models[m].Engine != settings.Queueing {
		t.Errorf("decided by %q, want %q", setup.Models[m].Engine, settings.Queueing)
	}
	if got := r.Configuration[m].Engine; got != "model" {
		t.Errorf("the record says %q now", got)
	}
}

// archive keeps what it is given.
type archive struct{ kept []Decided }

func (a *archive) Keep(d Decided) { a.kept = append(a.kept, d) }

func TestACycleArchivesWhatItDecidedFrom(t *testing.T) {
	past := memory.History{{Namespace: "ns", Name: "v"}: memory.Past{Desired: 2, DecidedAt: now.Add(-time.Hour)}}
	w, kept := &world{history: past}, &archive{}
	c := newCycle(w)
	c.Archive = kept
	c.Clock = testingclock.NewFakePassiveClock(time.Now()) // with a monotonic clock
	how := withPace(constrain.Pacing{MaxScaleUpStep: 3})
	c.Policy = func(scaling.ModelKey) settings.Model { return how }
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 1 {
		t.Fatalf("kept %d cases, want 1", len(kept.kept))
	}
	got := kept.kept[0]
	want := Decided{
		Plan:  w.last.Plan,
		Setup: Setup{Interval: time.Minute, Models: map[scaling.ModelKey]settings.Model{{Namespace: "ns", ID: "m"}: how}},
		Case:  Case{Cycle: "p-1", Now: w.last.Plan.At, Snapshots: w.last.Snapshots, History: past},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got.Case.Now != got.Case.Now.Round(0) { // != and not Equal: the monotonic clock counts
		t.Errorf("decided at %s, with a clock that no record can hold", got.Case.Now)
	}
}
