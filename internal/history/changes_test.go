package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// single is a cycle of one variant at a second, whose number was one and becomes another.
func single(at int, from, to scaling.Replicas) Cycle {
	p := newPlant(1, 1)
	p.at, p.n, p.change, p.replicas[0] = start.Add(time.Duration(at)*time.Second-interval), at, 0, from
	c := p.next()
	d := scaling.Decision{Variant: variantKey(0), Model: modelKey(0), Current: from}
	c.Plan.Decisions[0] = d.Then(scaling.StageOptimize, to, scaling.ReasonDemand, fmt.Sprintf("the demand wants %d", to))
	c.Part = p.parts(&c)
	return c
}

func TestOnlyDecisionsThatChangedTheNumberAreKept(t *testing.T) {
	h := New(Options{})
	for i, step := range [][2]scaling.Replicas{{2, 2}, {2, 3}, {3, 3}, {3, 1}} {
		h.Add(single(15*(i+1), step[0], step[1]))
	}
	got, _ := h.Model(modelKey(0), time.Time{}, time.Time{}, 0)
	change := func(at int, from, to int) Change {
		return Change{
			T: At(start.Add(time.Duration(at) * time.Second)), Cycle: scaling.CycleID(fmt.Sprintf("plant-%d", at+1)), Namespace: "ns-0",
			Name: variantKey(0).Name, From: from, To: to, Stage: scaling.StageOptimize, Reason: scaling.ReasonDemand,
			Sentence: fmt.Sprintf("the demand wants %d", to), Kept: true,
		}
	}
	if diff := cmp.Diff(got.Decisions, []Change{change(30, 2, 3), change(60, 3, 1)}); diff != "" {
		t.Errorf("decisions, -got +want:\n%s", diff)
	}
	first, ok := h.Decision(variantKey(0), "plant-31")
	if diff := cmp.Diff(first, change(30, 2, 3)); !ok || diff != "" {
		t.Errorf("decision of plant-31, found %t, -got +want:\n%s", ok, diff)
	}
	if _, ok := h.Decision(variantKey(0), "plant-16"); ok {
		t.Error("a cycle that changed nothing has a decision")
	}
	kept, ok := h.Kept(variantKey(0), "plant-31")
	if want := single(30, 2, 3).Part(modelKey(0)); !ok || string(kept.Append(nil)) != string(want.Append(nil)) {
		t.Errorf("kept %t is\n%s\nwant\n%s", ok, kept.Append(nil), want.Append(nil))
	}
	if _, ok := h.Kept(variantKey(0), "plant-16"); ok {
		t.Error("a cycle that changed nothing is kept")
	}
}

func TestARecordOfAllModelsIsKeptOnce(t *testing.T) {
	h, p := New(Options{}), newPlant(3, 1)
	p.change = 1
	h.Add(p.next())
	c := p.next()
	c.Part = func(scaling.ModelKey) record.Cycle { return c.Cycle }
	h.Add(c)
	if n := countOf(&h.parts); n != 1 {
		t.Fatalf("%d records are kept, want 1", n)
	}
	for i := range 3 {
		if _, changed := h.Decision(variantKey(i), c.Cycle.Cycle); !changed {
			continue
		}
		if kept, ok := h.Kept(variantKey(i), c.Cycle.Cycle); !ok || len(kept.Snapshots) != 3 {
			t.Errorf("variant %d: kept %t, of %d models, want 3", i, ok, len(kept.Snapshots))
		}
	}
}

func TestALongSentenceIsCut(t *testing.T) {
	d := scaling.Decision{Current: 1}.Then(scaling.StageOptimize, 2, scaling.ReasonDemand, strings.Repeat("é", 1000))
	c, _ := changeOf("c-1", d, nil)
	if len(c.sentence) > longestSentence || !strings.HasSuffix(c.sentence, "é…") {
		t.Errorf("%d bytes that end in %q", len(c.sentence), c.sentence[len(c.sentence)-8:])
	}
	if c, _ := changeOf("c-1", scaling.Decision{Current: 1}.Then(scaling.StageBounds, 2, scaling.ReasonBelowMin, ""), nil); c.sentence != "BelowMin" {
		t.Errorf("without a sentence it is %q, want the reason", c.sentence)
	}
}

// TestOneNamespaceTakesNoMemoryFromOthers has one namespace add without end.
func TestOneNamespaceTakesNoMemoryFromOthers(t *testing.T) {
	s := newBounded[int](1000)
	for i := range 3 {
		s.add("quiet", instant(i), 100, i)
	}
	for i := range 500 {
		s.add("loud", instant(10+i), 100, i)
	}
	if got := len(s.by["quiet"].held); got != 3 {
		t.Errorf("the quiet namespace keeps %d, want 3", got)
	}
	if got := s.by["loud"]; len(got.held) != 7 || got.held[6].value != 499 || s.lostUntil("loud") != 10+492 || s.lostUntil("quiet") != 0 {
		t.Errorf("the loud namespace keeps %d up to %d, lost until %d; want the newest 7", len(got.held), got.held[6].value, s.lostUntil("loud"))
	}
	s.forget(10 + 497)
	if s.by["quiet"] != nil || len(s.by["loud"].held) != 3 || s.bytes != 300 {
		t.Errorf("%d bytes are left, want those of the newest 3", s.bytes)
	}
}

func TestABoundIsKept(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		most := 1 + r.IntN(5000)
		s := newBounded[int](most)
		for i := range 500 {
			s.add(fmt.Sprint(r.IntN(5)), instant(i), 1+r.IntN(900), i)
			if r.IntN(20) == 0 {
				s.forget(instant(max(0, i-r.IntN(200))))
			}
			sum := 0
			for name, q := range s.by {
				own := 0
				for n, h := range q.held {
					own += h.bytes
					if n > 0 && q.held[n-1].at >= h.at {
						t.Fatalf("seed %d: %s is not in order", seed, name)
					}
				}
				if own != q.bytes {
					t.Fatalf("seed %d: %s counts %d bytes of %d", seed, name, q.bytes, own)
				}
				sum += own
			}
			if sum != s.bytes || sum > most {
				t.Fatalf("seed %d: %d bytes are kept, counted as %d, of %d", seed, sum, s.bytes, most)
			}
		}
	}
}

// TestAHistoryIsReadWhileItGrows is for the race detector.
func TestAHistoryIsReadWhileItGrows(t *testing.T) {
	h, p := New(Options{Later: true}), newPlant(10, 1)
	p.change = 0.5
	ctx, end := context.WithCancel(t.Context())
	var ran sync.WaitGroup
	ran.Go(func() { _ = h.Run(ctx) })
	h.Add(p.next())
	for range 4 {
		ran.Go(func() {
			for ctx.Err() == nil {
				h.Fleet(all)
				got, _ := h.Model(modelKey(1), time.Time{}, time.Time{}, 50)
				for _, d := range got.Decisions {
					h.Kept(variantKey(1), d.Cycle)
				}
				h.Replicas(modelKey(1), time.Time{}, time.Time{})
				h.Span()
			}
		})
	}
	for range 200 {
		c := p.next()
		c.Part = p.parts(&c)
		h.Add(c)
	}
	end()
	ran.Wait()
}
