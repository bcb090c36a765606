package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// oneByOne computes what countMissing does, replica by replica.
func oneByOne(s variantState, now time.Time) variantState {
	placed := s.Replicas.Current - s.Replicas.Unschedulable
	replica := s.serving
	for _, m := range s.past.Waits.Missing(s.serving, s.hold, s.past.ProgressAt) {
		for range m.Replicas {
			replica++
			waited, patience, set := now.Sub(m.Since), s.patience(), replica <= s.Replicas.Current
			switch {
			case !set:
				waited, patience = min(waited, now.Sub(s.past.ProgressAt)), min(patience, patienceScaler)
			case replica > placed:
				patience = s.patienceForNode()
			}
			switch {
			case s.decided && waited > patience && !set:
				s.late, s.unset = s.late+1, s.unset+1
			case s.decided && waited > patience:
				s.late++
				if !m.WasReady {
					s.failed++
				}
			case m.WasReady && set:
				s.returning++
			default:
				s.starting++
			}
		}
	}
	return s
}

func TestMissingReplicasAreCountedAsOneByOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(100_000, 0)
	ago := func() time.Time { return now.Add(-time.Duration(random.IntN(40)) * time.Minute / 2) }
	for range 20_000 {
		s := variantState{serving: scaling.Replicas(random.IntN(6)), decided: random.IntN(4) > 0}
		s.hold = s.serving + scaling.Replicas(random.IntN(12))
		s.Replicas = scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(random.IntN(16)), Unschedulable: scaling.Replicas(random.IntN(6))}
		s.StartUp = time.Duration(random.IntN(8)) * time.Minute
		s.past.ProgressAt = ago()
		s.past.Waits.There = scaling.Replicas(random.IntN(8))
		for to := s.past.Waits.There; random.IntN(4) > 0; {
			to += scaling.Replicas(1 + random.IntN(4))
			s.past.Waits.Runs = append(s.past.Waits.Runs, memory.Wait{To: to, Since: ago(), WasReady: random.IntN(2) == 0})
		}
		want, got := oneByOne(s, now), s.countMissing(now)
		if got.late != want.late || got.unset != want.unset || got.returning != want.returning || got.starting != want.starting {
			t.Fatalf("%+v: late %d, unset %d, returning %d, starting %d; want %d, %d, %d, %d", s,
				got.late, got.unset, got.returning, got.starting, want.late, want.unset, want.returning, want.starting)
		}
	}
}

// TestTheMostReplicasAreCountedAtOnce: counting one by one would take seconds.
func TestTheMostReplicasAreCountedAtOnce(t *testing.T) {
	now := time.Unix(100_000, 0)
	s := variantState{hold: math.MaxInt32, decided: true}
	s.past.ProgressAt = now
	begin := time.Now()
	for range 100 {
		if got := s.countMissing(now).starting; got != math.MaxInt32 {
			t.Fatalf("got %d", got)
		}
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %s", took)
	}
}

// TestADetailOfManyVariantsIsShort: each variant repeats the detail, so a plan of 2,000 variants
// once took 1.1 GB.
func TestADetailOfManyVariantsIsShort(t *testing.T) {
	now := time.Unix(100_000, 0)
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	many := func(past memory.Past, counts scaling.ReplicaCounts) Input {
		in := Input{
			Snapshot: scaling.Snapshot{Model: model, At: now, Window: time.Minute}, History: memory.History{},
			Analysis: scaling.Analysis{Model: model, Signal: scaling.Grow, Reason: scaling.ReasonSaturated, Detail: "full"},
		}
		for i := range 500 {
			key := scaling.VariantKey{Namespace: "ns", Name: fmt.Sprintf("%s-%03d", strings.Repeat("v", 240), i)}
			in.Snapshot.Variants = append(in.Snapshot.Variants, scaling.Variant{Key: key, Model: model, Bounds: scaling.Bounds{Min: 1, Max: 1}, Replicas: counts})
			in.History[key] = past
		}
		return in
	}
	for name, in := range map[string]Input{
		"in transition": many(memory.Past{Desired: 1, DecidedAt: now, ProgressAt: now}, scaling.ReplicaCounts{Observed: true}),
		"no candidate":  many(memory.Past{}, scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1}),
	} {
		decisions := Decide(in)
		if len(decisions) != 500 {
			t.Fatalf("%s: %d decisions", name, len(decisions))
		}
		detail := decisions[0].Cause().Detail
		if len(detail) > 2048 || !strings.Contains(detail, "and 497 more") {
			t.Errorf("%s (%s): a detail of %d bytes: %.300s", name, decisions[0].Cause().Reason, len(detail), detail)
		}
	}
}
