package soak

import (
	"fmt"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// Rule is the name of a rule; see the package comment.
type Rule string

// The rules.
const (
	Starves Rule = "starves"
	Slow    Rule = "slow"
	Waste   Rule = "waste"
	Hoards  Rule = "hoards"
	Turns   Rule = "turns"
	Blind   Rule = "blind"
	Bounds  Rule = "bounds"
	Numbers Rule = "numbers"
	Order   Rule = "order"
)

// Limit reports whether the rule is a limit on a cost or a delay, which a sound core exceeds in rare
// cases. Any violation of the other rules is a defect.
func (r Rule) Limit() bool { return r == Slow || r == Waste || r == Hoards || r == Turns }

// Violation is a violation of a rule.
type Violation struct {
	Rule   Rule
	At     time.Duration
	Detail string // what was found, and the steps of the decision
}

// String returns the violation in one line, and the steps of the decision.
func (v Violation) String() string { return fmt.Sprintf("%s at %s: %s", v.Rule, v.At, v.Detail) }

// Judge runs c and returns the first violation of each rule, in the order in which they occurred.
// It caches needs in n.
func Judge(c Case, n *Needs) []Violation { return judge(c, n, "") }

// judge ends with the first violation of only, unless that is "".
func judge(c Case, needs *Needs, only Rule) []Violation {
	j := newJudging(c, needs)
	plant.Run(j.plant, c.Length, func(t plant.Tick) bool {
		j.see(t)
		return only == "" || !j.found[only]
	})
	return j.violations
}

// judging is the state of judging a case.
type judging struct {
	Case
	needs   *Needs
	plant   plant.Config
	best    []float64 // of a replica of each variant, requests/s
	ticks   []moment
	hunger  int              // ticks in which requests wait for replicas, without a break
	lack    float64          // the most of their rate meanwhile that Ready replicas did not complete, requests/s
	plenty  int              // ticks in which the load is known and no request waits, without a break
	crowd   scaling.Replicas // the most replicas within these ticks
	changes [][]change       // of the decision on each variant
	seen    []int            // the tick at which a replica of each variant was first Ready, from 1; 0 before
	found   map[Rule]bool

	violations []Violation
}

func newJudging(c Case, needs *Needs) *judging {
	n := len(c.Variants)
	j := &judging{Case: c, needs: needs, plant: c.Plant(), changes: make([][]change, n), seen: make([]int, n), found: map[Rule]bool{}}
	for _, v := range j.plant.Variants {
		j.best = append(j.best, j.plant.Best(v))
	}
	return j
}

// see judges a cycle.
func (j *judging) see(t plant.Tick) {
	j.ticks = append(j.ticks, thin(t))
	for i, v := range t.Variants {
		if v.Ready > 0 && j.seen[i] == 0 {
			j.seen[i] = len(j.ticks)
		}
	}
	for _, check := range []func(plant.Tick){j.hungry, j.lavish, j.hoarding, j.restless, j.rash, j.sound} {
		check(t)
	}
}

// moment is the kept part of a tick.
type moment struct {
	offered, capacity float64
	wanted            scaling.Replicas
	variants          []plant.VariantTick
}

func thin(t plant.Tick) moment {
	m := moment{offered: t.Offered, capacity: t.Capacity, variants: t.Variants}
	for _, v := range t.Variants {
		m.wanted += v.Wanted
	}
	return m
}

// violate stores the first violation of a rule.
func (j *judging) violate(r Rule, t plant.Tick, format string, args ...any) {
	if j.found[r] {
		return
	}
	j.found[r] = true
	j.violations = append(j.violations, Violation{r, t.At, fmt.Sprintf(format, args...) + "\n" + told(t)})
}

// told returns the steps of the decisions.
func told(t plant.Tick) string {
	var out strings.Builder
	for _, d := range t.Verdict.Plan.Decisions {
		fmt.Fprintf(&out, "  %s of %d:", d.Variant.Name, d.Current)
		for _, s := range d.Steps {
			fmt.Fprintf(&out, " [%s %d->%d %s: %.240s]", s.Stage, s.From, s.To, s.Reason, s.Detail)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// spans returns how many ticks a time spans.
func (j *judging) spans(d time.Duration) int { return int((d+j.Tick-1)/j.Tick) + 1 }

// last returns the last n moments, nil if there are fewer.
func (j *judging) last(n int) []moment {
	if n > len(j.ticks) {
		return nil
	}
	return j.ticks[len(j.ticks)-n:]
}

// most returns the largest number of replicas of a variant.
func (j *judging) most(v Variant) scaling.Replicas {
	if v.Max == 0 {
		return 1 << 30
	}
	return v.Max
}

// rash checks that no variant shrinks while most pods report nothing. The comparison is with the
// last decision, without replicas that have no node: an order that finds none may be taken back.
func (j *judging) rash(t plant.Tick) {
	if !t.Blind {
		return
	}
	for i, v := range t.Variants {
		if stands := min(v.Stands, v.Placed, j.most(j.Variants[i])); !v.Deleted && v.Wanted < stands {
			j.violate(Blind, t, "%s: %d replicas stand and %d are decided on while most Ready pods report nothing", j.Variants[i].Name, stands, v.Wanted)
		}
	}
}

// calmSince returns since when the load has been constant and no fault has begun or ended, false
// while a fault with a period is in force or the load changes.
func (j *judging) calmSince(at time.Duration) (time.Duration, bool) {
	since, end := time.Duration(0), time.Duration(0)
	for i, s := range j.Load {
		begin := end
		end += s.For
		last := i == len(j.Load)-1
		if at < end || last {
			switch flat := s.From == s.To; {
			case last && at >= end && !flat:
				since = end
			case !flat:
				return 0, false
			default:
				since = begin
			}
			break
		}
	}
	for _, f := range j.plant.Faults {
		if f.At <= at {
			since = max(since, f.At)
		}
		if f.End() <= at {
			since = max(since, f.End())
		}
		if f.Kind == fault.Rollout && f.Active(at) {
			// Each wave takes replicas and returns those of the wave before: a fault begins,
			// another ends.
			_, each := f.Waves()
			since = max(since, at-(at-f.At)%each)
		}
		if f.Active(at) && f.Period > 0 {
			return 0, false
		}
	}
	return since, true
}

// decision returns the decision on a variant, false if there is none.
func decision(t plant.Tick, k scaling.VariantKey) (scaling.Decision, bool) {
	for _, d := range t.Verdict.Plan.Decisions {
		if d.Variant == k {
			return d, true
		}
	}
	return scaling.Decision{}, false
}
