package counterfactual

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Block is one question and the sentences that answer it, without line breaks.
type Block struct {
	Question string // without a question mark
	Answer   []string
}

// Report returns the answers as text to follow that of explain.Report: why not fewer, why not the
// other variants, and what would change the decision.
func Report(a Answers, now time.Time) string {
	var b strings.Builder
	for _, block := range Blocks(a, now) {
		fmt.Fprintf(&b, "  %s\n", block.Question)
		for _, line := range block.Answer {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// Blocks returns the questions and answers of Report.
func Blocks(a Answers, now time.Time) []Block {
	var out []Block
	block := func(question string, lines ...string) {
		for i, line := range lines {
			if i == 0 {
				out = append(out, Block{Question: spelling.Visible(question, "")})
			}
			out[len(out)-1].Answer = append(out[len(out)-1].Answer, spelling.Visible(line, ""))
		}
	}
	block("Why not fewer", a.Fewer.lines()...)
	for _, o := range a.Others {
		block("Why not "+o.Variant.Name, o.line(a.Variant.Name))
	}
	changes := []string{a.Grows.line(a, "more than", "up", now)}
	if a.WithoutMax > 0 {
		changes = append(changes, fmt.Sprintf("without maxReplicas, %s would be decided now", a.WithoutMax.Text()))
	}
	if a.Decided > 0 {
		changes = append(changes, a.Shrinks.line(a, "fewer than", "down", now))
	}
	if a.Late.Kind != LateNone {
		changes = append(changes, a.Late.line(now))
	}
	block("What would change it", changes...)
	return out
}

// lines returns why one replica fewer is not decided.
func (f Fewer) lines() []string {
	n := f.Replicas.Text()
	switch f.Why {
	case WhyUnknown:
		return []string{"not known: " + f.Detail}
	case WhyNone:
		return []string{"no replica is decided"}
	case WhyRule:
		out := []string{fmt.Sprintf("without this, %s would be decided now:", f.Without.Text())}
		return append(out, steps(f.Rules)...)
	case WhyWaits:
		return append([]string{"the decision waits:"}, steps(f.Rules)...)
	case WhyKept:
		return append([]string{n + " would carry the load of now, spread evenly; the decision is" + because(f.Because)}, f.expected()...)
	case WhyLoad:
	}
	orders := make([]string, 0, len(f.Orders))
	for _, o := range f.Orders {
		orders = append(orders, fmt.Sprintf("%s from %d to %d", o.Variant.Name, o.From, o.To))
	}
	out := append([]string{}, f.expected()...)
	return append(out, fmt.Sprintf("with %s, a cycle would order %s: %s, %s", n, strings.Join(orders, ", "), f.Because.Reason, need(f.Because.Detail)))
}

// expected describes the fleet with one replica fewer, in one line for each variant.
func (f Fewer) expected() []string {
	out := make([]string, 0, len(f.Expected))
	for _, e := range f.Expected {
		text := fmt.Sprintf("with one fewer, a replica of %s gets %s requests/s and serves %s within the objectives: ", e.Variant.Name, number(e.Rate), number(e.Serves))
		if e.Overloaded {
			out = append(out, text+"more than it completes, so that requests wait ever longer")
			continue
		}
		var of []string
		for _, l := range []struct {
			name                               string
			expected, wanted, late, percentile float64
		}{
			{"TTFT", e.TTFT, e.TTFTObjective, e.TTFTTooLong, e.TTFTPercentile}, {"ITL", e.ITL, e.ITLObjective, e.ITLTooLong, e.ITLPercentile},
		} {
			if l.wanted > 0 {
				of = append(of, latency(l.name, l.expected, l.wanted, l.late, l.percentile))
			}
		}
		out = append(out, text+strings.Join(of, "; "))
	}
	return out
}

// latency compares an expected latency with its objective.
func latency(name string, expected, wanted, late, percentile float64) string {
	at := "in the mean"
	if percentile > 0 {
		at = fmt.Sprintf("at percentile %g", percentile)
	}
	if late > 0 {
		return fmt.Sprintf("%s %s ms %s, which misses %g ms by %s ms", name, number(expected), at, wanted, number(late))
	}
	return fmt.Sprintf("%s %s ms %s, within %g ms", name, number(expected), at, wanted)
}

// steps names steps with their reasons.
func steps(all []scaling.Step) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s: %s, %s", s.Stage, s.Reason, holds(s.Detail)))
	}
	return out
}

// because returns the reason and the detail of a step after a colon, "" for nil.
func because(s *scaling.Step) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(": %s, %s", s.Reason, holds(s.Detail))
}

// need returns a detail without its description of the ordered replicas.
func need(detail string) string {
	for _, begins := range []string{"; not all of it can be carried", "; the cheapest replicas that carry it"} {
		detail, _, _ = strings.Cut(detail, begins)
	}
	return detail
}

// why returns the consequence of late replicas: the fault, or that a cycle orders others.
func (l Late) why() string {
	if l.Again {
		return ": a cycle orders again, without them"
	}
	detail, _, _ := strings.Cut(l.Because.Detail, "; ")
	return fmt.Sprintf(": %s, %s", l.Because.Reason, detail)
}

// holds returns the part of a detail that says what holds the decision; all of it where it has no
// such part.
func holds(detail string) string {
	for _, begins := range []string{"; not reduced: ", "; not grown: ", "; not all of it can be carried", "; fewer replicas would be filled"} {
		if i := strings.LastIndex(detail, begins); i >= 0 {
			return detail[i+len("; "):]
		}
	}
	return detail
}

// rate formats a rate with the digits of Precision.
func rate(x float64) string {
	if x >= 10_000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// number formats a rate or a latency with three digits, from 1000 on in full.
func number(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// line returns why another variant does not replace one replica of the variant named instead.
func (o Other) line(instead string) string {
	switch o.Beside {
	case BesideUnneeded:
		return "one fewer of " + instead + " would need none of it"
	case BesideCannot:
		text := "it cannot take the load of one replica of " + instead
		if o.Detail != "" {
			return text + ": " + o.Detail
		}
		return text + because(o.Because)
	case BesideDearer:
		return fmt.Sprintf("%s in the place of one of %s: costs %.3g an hour more", o.Replicas.Text(), instead, o.Cost)
	case BesideSame:
		return fmt.Sprintf("%s in the place of one of %s: costs the same", o.Replicas.Text(), instead)
	case BesideCheaper:
		text := fmt.Sprintf("%s in the place of one of %s: costs %.3g an hour less; ", o.Replicas.Text(), instead, -o.Cost)
		if o.Moves {
			return text + "the fleet would move to it an hour after its last change, for now it waits" + because(o.Because)
		}
		return text + "the fleet would not move to it an hour after its last change either" + because(o.Because)
	case BesideUnknown:
	}
	return "not known: " + o.Detail
}

// line returns the rate, or the time, at which the number changes.
func (t Turn) line(a Answers, than, way string, now time.Time) string {
	than = fmt.Sprintf("%s %d", than, a.Decided)
	switch t.Kind {
	case TurnAlready:
		return fmt.Sprintf("%s: the load of now calls for it, and it is held%s", than, because(t.Held))
	case TurnLater:
		return fmt.Sprintf("%s: at the load of now, in %s%s; until then%s", than, max(0, t.At.Sub(now)).Round(time.Second), t.change(a), because(t.Until))
	case TurnNone:
		if t.Last == 0 {
			return than + ": at no rate" + because(t.Held)
		}
		text := fmt.Sprintf("%s: at no rate, tried %s to %s requests/s (%s now)%s", than, way, number(t.Last), number(t.Now), because(t.Held))
		if t.Other != nil {
			text += "; " + t.Other.others(a)
		}
		return text
	case TurnFound:
	case TurnUnknown:
		return fmt.Sprintf("%s: not known: %s", than, t.Detail)
	}
	text := fmt.Sprintf("%s: at %s requests/s (%s now)%s%s", than, rate(t.Rate), number(t.Now), t.change(a), because(t.Held))
	if t.Until != nil {
		side := "below"
		if way == "down" {
			side = "above"
		}
		text += "; " + side + " that" + because(t.Until)
	}
	if t.ReversedAt > 0 {
		text += fmt.Sprintf("; not so at %s requests/s", rate(t.ReversedAt))
	}
	if t.Other != nil {
		text += "; " + t.Other.others(a)
	}
	return text
}

// change returns the numbers of the explained variant after a comma, "" where they stay.
func (t Turn) change(a Answers) string {
	i := slices.IndexFunc(t.Changes, func(c Change) bool { return c.Variant == a.Variant })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(", wanted %d, decided %d", t.Changes[i].Wanted, t.Changes[i].To)
}

// others names the variants that change first.
func (t Turn) others(a Answers) string {
	var out []string
	for _, c := range t.Changes {
		if c.Variant != a.Variant {
			out = append(out, fmt.Sprintf("%s goes from %d to %d", c.Variant.Name, c.From, c.Wanted))
		}
	}
	return fmt.Sprintf("before that, at %s requests/s, %s", rate(t.Rate), strings.Join(out, ", "))
}

// line returns when the order counts as late.
func (l Late) line(now time.Time) string {
	switch l.Kind {
	case LateNone:
		return "no order is under way"
	case LateAlready:
		return fmt.Sprintf("the order of %s is late%s", l.Missing.Text(), l.why())
	case LateAt:
		return fmt.Sprintf("the order of %s counts as late from %s on, in %s, unless something changes%s",
			l.Missing.Text(), l.At.UTC().Format(time.RFC3339), max(0, l.At.Sub(now)).Round(time.Second), l.why())
	case LateUnknown:
	}
	return "when the order is late is not known: " + l.Detail
}
