package cycle

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record/recordtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestARecordHoldsTheWholeCase fails for a new field, in a Case, a Setup or anything in them, that
// a record does not carry.
func TestARecordHoldsTheWholeCase(t *testing.T) {
	var d Decided
	recordtest.Filler{Rand: rand.New(rand.NewPCG(1, 2))}.Fill(&d)
	settings := slices.Collect(maps.Values(d.Setup.Models))
	d.Setup.Models = map[scaling.ModelKey]model.Settings{}
	for key := range d.Case.Policies {
		d.Setup.Models[key] = settings[0]
	}
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
	forSeeds(t, 150, func(t *testing.T, c Case, r *rand.Rand) {
		c, setup := randomSetup(c, r)
		for key, s := range setup.Models {
			s.Spare = saturation.Thresholds{
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

// archive keeps what it is given.
type archive struct{ kept []Decided }

func (a *archive) Keep(d Decided) { a.kept = append(a.kept, d) }

func TestACycleArchivesWhatItDecidedFrom(t *testing.T) {
	past := memory.History{{Namespace: "ns", Name: "v"}: memory.Past{Desired: 2, DecidedAt: now.Add(-time.Hour)}}
	w, kept := &world{history: past}, &archive{}
	c := newCycle(w)
	c.Archive = kept
	c.Clock = testingclock.NewFakePassiveClock(time.Now()) // with a monotonic clock
	c.Policy = func(scaling.ModelKey) ModelSettings {
		return ModelSettings{Settings: model.Default(), Pacing: constrain.Pacing{MaxScaleUpStep: 3}}
	}
	if err := c.Run(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if len(kept.kept) != 1 {
		t.Fatalf("kept %d cases, want 1", len(kept.kept))
	}
	got := kept.kept[0]
	want := Decided{
		Plan:  w.last.Plan,
		Setup: Setup{Interval: time.Minute, Models: map[scaling.ModelKey]model.Settings{{Namespace: "ns", ID: "m"}: model.Default()}},
		Case: Case{
			Cycle: "p-1", Now: w.last.Plan.At, Snapshots: w.last.Snapshots, History: past,
			Policies: map[scaling.ModelKey]constrain.Pacing{{Namespace: "ns", ID: "m"}: {MaxScaleUpStep: 3}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if got.Case.Now != got.Case.Now.Round(0) { // != and not Equal: the monotonic clock counts
		t.Errorf("decided at %s, with a clock that no record can hold", got.Case.Now)
	}
}
