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
)

// TestARecordHoldsTheWholeCase fails for a field that is added to a Case, or to
// anything in it, and that a record does not carry.
func TestARecordHoldsTheWholeCase(t *testing.T) {
	var d Decided
	recordtest.Filler{Rand: rand.New(rand.NewPCG(1, 2))}.Fill(&d)
	thresholds := map[scaling.ModelKey]saturation.Policy{}
	for model := range d.Case.Policies {
		thresholds[model] = saturation.Default()
	}
	recorded := d.Recorded(thresholds)
	if diff := cmp.Diff(d.Case, FromRecord(recorded)); diff != "" {
		t.Errorf("a record loses (-) or makes up (+):\n%s", diff)
	}
	if recorded.Cycle != d.Cycle || recorded.Interval != d.Interval || !cmp.Equal(d.Plan, *recorded.Plan) || recorded.Build == "" {
		t.Errorf("recorded as %s of %q, interval %s", recorded.Cycle, recorded.Build, recorded.Interval)
	}
	for model := range thresholds {
		if recorded.Thresholds(model) != thresholds[model] {
			t.Errorf("the thresholds of %s are %+v", model, recorded.Thresholds(model))
		}
	}
}

// TestARecordedCaseIsDecidedToTheSameBytes writes cases with everything that can
// go wrong in them, reads them, and decides them again.
func TestARecordedCaseIsDecidedToTheSameBytes(t *testing.T) {
	forSeeds(t, 400, func(t *testing.T, c Case, r *rand.Rand) {
		thresholds := map[scaling.ModelKey]saturation.Policy{}
		for _, s := range c.Snapshots {
			thresholds[s.Model] = saturation.Policy{
				KVCacheThreshold: 0.5 + r.Float64()/2, QueueLengthThreshold: 5 * r.Float64(), KVSpareTrigger: r.Float64() / 5, QueueSpareTrigger: r.Float64(),
			}
		}
		verdict := Decide(c, func(s scaling.Snapshot) scaling.Analysis { return saturation.Analyze(s, thresholds[s.Model]) })
		line := Decided{Cycle: "p-1", Case: c, Plan: verdict.Plan}.Recorded(thresholds).Append(nil)

		read, err := record.Decode(line)
		if err != nil {
			t.Fatalf("%v in\n%s", err, line)
		}
		again := Decide(FromRecord(read), func(s scaling.Snapshot) scaling.Analysis { return saturation.Analyze(s, read.Thresholds(s.Model)) })
		read.Plan = &again.Plan
		if diff := cmp.Diff(string(line), string(read.Append(nil))); diff != "" {
			t.Errorf("recorded (-) and decided again (+):\n%s", diff)
		}
		if diff := cmp.Diff(verdict.History, again.History, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("remembered (-) and remembered again (+):\n%s", diff)
		}
	})
}

// archive notes what it is given.
type archive struct{ kept []Decided }

func (a *archive) Keep(d Decided) { a.kept = append(a.kept, d) }

func TestACycleArchivesWhatItDecidedFrom(t *testing.T) {
	past := scaling.History{{Namespace: "ns", Name: "v"}: scaling.Past{Desired: 2, DecidedAt: now.Add(-time.Hour)}}
	w, kept := &world{history: past}, &archive{}
	c := newCycle(w)
	c.Archive = kept
	c.Clock = testingclock.NewFakePassiveClock(time.Now()) // with a monotonic clock
	c.Policy = func(scaling.ModelKey) constrain.Policy { return constrain.Policy{MaxScaleUpStep: 3} }
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 1 {
		t.Fatalf("kept %d cases, want 1", len(kept.kept))
	}
	got := kept.kept[0]
	want := Decided{
		Cycle: "p-1", Interval: time.Minute, Plan: w.last.Plan,
		Case: Case{
			Now: w.last.Plan.At, Snapshots: w.last.Snapshots, History: past,
			Policies: map[scaling.ModelKey]constrain.Policy{{Namespace: "ns", ID: "m"}: {MaxScaleUpStep: 3}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got.Case.Now != got.Case.Now.Round(0) { // != and not Equal: the monotonic clock counts
		t.Errorf("decided at %s, with a clock that no record can hold", got.Case.Now)
	}
}
