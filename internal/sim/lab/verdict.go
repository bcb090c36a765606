package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Verdict says in sentences, computed from the means, who reaches the target at
// the least cost and where each of this project's policies stands: also where it
// loses.
func (s ScenarioResults) Verdict() []string {
	var sentences []string
	reach := s.reaching()
	switch {
	case len(reach) == 0:
		best := slices.MaxFunc(s.Rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(a.Measures.Attainment.Mean, b.Measures.Attainment.Mean), cmp.Compare(b.Measures.Cost.Mean, a.Measures.Cost.Mean))
		})
		sentences = append(sentences, fmt.Sprintf("No policy reaches %s; %s comes closest with %s at a cost of %s.",
			percent(s.Target), best.Policy, percent(best.Measures.Attainment.Mean), amount(best.Measures.Cost.Mean)))
	default:
		if winners := s.winners(); len(winners) > 0 {
			sentences = append(sentences, fmt.Sprintf("%s %s %s at the least cost, %s.",
				enumerate(winners), verb("reach", winners), percent(s.Target), amount(reach[0].Measures.Cost.Mean)))
		}
	}
	for _, r := range s.Rows {
		if r.Own {
			sentences = append(sentences, s.standing(r, reach))
		}
	}
	return append(sentences, s.Clairvoyant.sentences(s.Target)...)
}

// sentences say what foresight could have had.
func (c *Clairvoyant) sentences(target float64) []string {
	if c == nil {
		return nil
	}
	if !c.Reachable {
		return []string{fmt.Sprintf("No policy can reach %s here, whatever it knows: too many requests cannot meet their objectives even alone.", percent(target))}
	}
	bound := fmt.Sprintf("Whoever reaches %s pays %s or more, whoever misses no objective that can be met %s (bounds by relaxation).",
		percent(target), amount(c.LowerBound), amount(c.FullBound))
	found := fmt.Sprintf("Knowing every arrival, %s are attained at a cost of %s (seed %d).", percent(c.Measures.Attainment), amount(c.Measures.Cost), c.Seed)
	if !c.Reached {
		found += " No schedule was found that reaches the target."
	}
	return []string{bound, found}
}

// reaching returns the rows that reach the target, the cheapest first.
func (s ScenarioResults) reaching() []Row {
	reach := slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return r.Measures.Attainment.Mean < s.Target })
	slices.SortStableFunc(reach, func(a, b Row) int { return cmp.Compare(a.Measures.Cost.Mean, b.Measures.Cost.Mean) })
	return reach
}

// standing says where one of our policies stands.
func (s ScenarioResults) standing(r Row, reach []Row) string {
	attained, cost := r.Measures.Attainment.Mean, r.Measures.Cost.Mean
	var better []string
	for _, o := range s.Rows {
		if !o.Own && o.beats(r) {
			better = append(better, o.Policy.String())
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Our %s ", r.Policy)
	switch {
	case attained >= s.Target && r.asCheapAs(reach[0]):
		fmt.Fprintf(&b, "reaches %s at the least cost, %s.", percent(s.Target), amount(cost))
		return b.String()
	case attained >= s.Target:
		fmt.Fprintf(&b, "reaches the target with %s, at %s times the least cost.", percent(attained), amount(cost/max(reach[0].Measures.Cost.Mean, 1e-9)))
	default:
		fmt.Fprintf(&b, "misses the target: %s at a cost of %s.", percent(attained), amount(cost))
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

// enumerate joins words as in a sentence.
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// verb is a verb for one subject or several.
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

// Cheapest returns the rows that reach the target at the least cost: several
// where they did the same, none where nobody reaches it.
func (s ScenarioResults) Cheapest() []Row {
	reach := s.reaching()
	return slices.DeleteFunc(slices.Clone(reach), func(r Row) bool { return !r.asCheapAs(reach[0]) })
}

// winners names the policies of others among the cheapest.
func (s ScenarioResults) winners() []string {
	var names []string
	for _, r := range s.Cheapest() {
		if !r.Own {
			names = append(names, r.Policy.String())
		}
	}
	return names
}

// asCheapAs reports whether two rows cost the same, but for rounding.
func (r Row) asCheapAs(o Row) bool {
	const rounding = 1e-9
	return r.Measures.Cost.Mean <= o.Measures.Cost.Mean*(1+rounding)
}
