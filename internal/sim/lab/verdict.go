package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// TargetStatus says where the attainment of a policy is relative to the target.
type TargetStatus int

// The statuses. A policy is AtTarget if its attainment is within two standard errors of the target,
// above or below. With one seed there is no error, and no policy is AtTarget.
const (
	Misses TargetStatus = iota
	AtTarget
	Reaches
)

// Status returns the status of a row.
func (s ScenarioResults) Status(r Row) TargetStatus {
	over := r.Measures.Attainment
	over.Mean -= s.Target
	switch {
	case over.Error > 0 && over.sign() == 0:
		return AtTarget
	case over.Mean >= 0:
		return Reaches
	default:
		return Misses
	}
}

// Attains reports whether the mean attainment of a row is the target or more: it
// reaches the target, or is at it and on the upper side.
func (s ScenarioResults) Attains(r Row) bool { return r.Measures.Attainment.Mean >= s.Target }

// Verdict says in sentences which policies reach the target at the least cost, and how each of this
// project's policies compares, also where it loses. A difference within two standard errors is a
// tie.
func (s ScenarioResults) Verdict() []string {
	var sentences []string
	if reach := s.reaching(); len(reach) == 0 {
		best := slices.MaxFunc(s.Rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(a.Measures.Attainment.Mean, b.Measures.Attainment.Mean), cmp.Compare(b.Measures.Cost.Mean, a.Measures.Cost.Mean))
		})
		sentences = append(sentences, fmt.Sprintf("No policy reaches %s; %s comes closest with %s at a cost of %s%s.",
			percent(s.Target), best.Policy, percent(best.Measures.Attainment.Mean), amount(best.Measures.Cost.Mean), s.doubts(best)))
	} else if winners := s.winners(); len(winners) > 0 {
		sentences = append(sentences, s.won(winners))
	}
	for _, r := range s.Rows {
		if r.Own {
			sentences = append(sentences, s.own(r))
		}
	}
	if !slices.ContainsFunc(s.Rows, func(r Row) bool { return len(r.Runs) != 1 }) {
		sentences = append(sentences, "This is of one seed: differences may be chance.")
	}
	return append(sentences, s.Clairvoyant.sentences(s.Target)...)
}

// won returns the sentence on the policies of other projects that cost least.
func (s ScenarioResults) won(winners []Row) string {
	names := make([]string, len(winners))
	for i, r := range winners {
		names[i] = r.Policy.String()
	}
	least, most := winners[0].Measures.Cost.Mean, winners[len(winners)-1].Measures.Cost.Mean
	cost := amount(least)
	if amount(most) != cost {
		cost = fmt.Sprintf("%s to %s, which is a tie", cost, amount(most))
	}
	return fmt.Sprintf("%s %s %s at the least cost, %s.", enumerate(names), verb("reach", names), percent(s.Target), cost)
}

// doubts returns a clause if the attainment of a row is within the error of the target.
func (s ScenarioResults) doubts(r Row) string {
	if s.Status(r) == AtTarget {
		return ", within the error of the target"
	}
	return ""
}

// sentences returns the verdict on the clairvoyant, nothing for nil.
func (c *Clairvoyant) sentences(target float64) []string {
	if c == nil {
		return nil
	}
	if c.Attainable < target {
		return []string{fmt.Sprintf("No policy can reach %s here, whatever it knows: only %s of the requests can meet their objectives, each alone.", percent(target), percent(c.Attainable))}
	}
	found := fmt.Sprintf("Knowing every arrival, %s are attained at a cost of %s (seed %d).", percent(c.Measures.Attainment), amount(c.Measures.Cost), c.Seed)
	if !c.Reached {
		found += " No schedule was found that reaches the target."
	}
	return []string{found}
}

// reaching returns the rows that attain the target, the cheapest first.
func (s ScenarioResults) reaching() []Row {
	reach := slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return !s.Attains(r) })
	slices.SortStableFunc(reach, func(a, b Row) int { return cmp.Compare(a.Measures.Cost.Mean, b.Measures.Cost.Mean) })
	return reach
}

// own returns the verdict on one of our policies.
func (s ScenarioResults) own(r Row) string {
	attained, cost := r.Measures.Attainment.Mean, r.Measures.Cost.Mean
	var better []string
	for _, o := range s.Rows {
		if !o.Own && o.beats(r) {
			better = append(better, o.Policy.String())
		}
	}
	cheapest := s.Cheapest()
	wins := slices.ContainsFunc(cheapest, func(o Row) bool { return o.Policy.String() == r.Policy.String() })
	var b strings.Builder
	fmt.Fprintf(&b, "Our %s ", r.Policy)
	switch {
	case wins && cost > cheapest[0].Measures.Cost.Mean:
		fmt.Fprintf(&b, "reaches %s at a cost of %s, a tie with the least%s.", percent(s.Target), amount(cost), s.doubts(r))
		return b.String()
	case wins:
		fmt.Fprintf(&b, "reaches %s at the least cost, %s%s.", percent(s.Target), amount(cost), s.doubts(r))
		return b.String()
	case s.Attains(r):
		fmt.Fprintf(&b, "reaches the target with %s%s, at %s times the least cost.", percent(attained), s.doubts(r), amount(cost/max(cheapest[0].Measures.Cost.Mean, 1e-9)))
	default:
		fmt.Fprintf(&b, "misses the target: %s at a cost of %s%s.", percent(attained), amount(cost), s.doubts(r))
	}
	if len(better) == 0 {
		b.WriteString(" No policy of others attains as much for less.")
		return b.String()
	}
	fmt.Fprintf(&b, " It loses to %s, which %s no less at no higher cost.", enumerate(better), verb("attain", better))
	return b.String()
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*ratio) }

func amount(v float64) string { return fmt.Sprintf("%.2f", v) }

// enumerate joins words as a sentence does.
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// verb returns a verb for one subject or several.
func verb(plural string, subjects []string) string {
	switch {
	case len(subjects) > 1:
		return plural
	case strings.HasSuffix(plural, "ch"):
		return plural + "es"
	default:
		return plural + "s"
	}
}

// Cheapest returns the rows that attain the target at the least cost, the cheapest first: several
// if they do the same or differ within the error, none if no row attains the target.
func (s ScenarioResults) Cheapest() []Row {
	reach := s.reaching()
	return slices.DeleteFunc(slices.Clone(reach), func(r Row) bool { return !r.asCheapAs(reach[0]) })
}

// winners returns the policies of other projects among the cheapest.
func (s ScenarioResults) winners() []Row {
	return slices.DeleteFunc(s.Cheapest(), func(r Row) bool { return r.Own })
}

// rounding is the ratio by which equal costs may differ.
const rounding = 1e-9

// asCheapAs reports whether r costs no more than o beyond doubt.
func (r Row) asCheapAs(o Row) bool {
	more := r.costAgainst(o)
	return more.sign() <= 0 || more.Mean <= rounding*o.Measures.Cost.Mean
}

// beats reports whether r is at least as good as o in attainment and cost, by their
// means, and better in one of them beyond doubt.
func (r Row) beats(o Row) bool {
	attained, cost := r.attainedAgainst(o), r.costAgainst(o)
	return attained.Mean >= 0 && cost.Mean <= 0 && (attained.sign() > 0 || cost.sign() < 0)
}

// CheapestPeer returns the least mean cost of another project's policy that attains the target,
// tuned on the first part or, in hindsight, on the judged part; false if none attains it.
func (s ScenarioResults) CheapestPeer(hindsight bool) (float64, bool) {
	least, found := math.Inf(1), false
	for _, r := range s.Rows {
		m := r.Measures
		if hindsight && r.Hindsight != nil {
			m = r.Hindsight.Measures
		}
		if !r.Own && m.Attainment.Mean >= s.Target {
			least, found = min(least, m.Cost.Mean), true
		}
	}
	return least, found
}
