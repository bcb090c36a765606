package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// difference is a variant whose decision now differs. One of the decisions is nil if there was
// none.
type difference struct {
	Variant  scaling.VariantKey `json:"variant"`
	Recorded *scaling.Decision  `json:"recorded,omitempty"`
	Decided  *scaling.Decision  `json:"decided,omitempty"`
}

// differences returns the variants whose decisions differ between two plans, sorted.
func differences(recorded, decided scaling.Plan) []difference {
	both := map[scaling.VariantKey]difference{}
	for i, d := range recorded.Decisions {
		both[d.Variant] = difference{Variant: d.Variant, Recorded: &recorded.Decisions[i]}
	}
	for i, d := range decided.Decisions {
		pair := both[d.Variant]
		pair.Variant, pair.Decided = d.Variant, &decided.Decisions[i]
		both[d.Variant] = pair
	}
	var out []difference
	for _, key := range slices.SortedFunc(maps.Keys(both), scaling.VariantKey.Compare) {
		if d := both[key]; !slices.Equal(decisionLines(d.Recorded), decisionLines(d.Decided)) {
			out = append(out, d)
		}
	}
	return out
}

// print writes the lines of both decisions, with - before those only of the recorded one, and +
// before those only of the other.
func (d difference) print(w io.Writer) {
	fmt.Fprintf(w, "  %s: recorded %s, decided %s\n", d.Variant, replicas(d.Recorded), replicas(d.Decided))
	recorded, decided := decisionLines(d.Recorded), decisionLines(d.Decided)
	for _, line := range recorded {
		mark := "-"
		if slices.Contains(decided, line) {
			mark = " "
		}
		fmt.Fprintf(w, "    %s %s\n", mark, line)
	}
	for _, line := range decided {
		if !slices.Contains(recorded, line) {
			fmt.Fprintf(w, "    + %s\n", line)
		}
	}
}

func replicas(d *scaling.Decision) string {
	if d == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d replicas", d.Target())
}

// decisionLines returns all fields of a decision, a line each.
func decisionLines(d *scaling.Decision) []string {
	if d == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("model %s, %d replicas when it was decided", d.Model, d.Current)}
	if d.Fallback {
		lines = append(lines, "a fallback: no analysis stood behind it")
	}
	if d.Withheld {
		lines = append(lines, "a reduction is withheld until the readings show the last change")
	}
	if d.Spare > 0 {
		lines = append(lines, fmt.Sprintf("%d more could go", d.Spare))
	}
	for _, s := range d.Steps {
		lines = append(lines, fmt.Sprintf("%-9s %d -> %d  %s: %s", s.Stage, s.From, s.To, s.Reason, s.Detail))
	}
	return lines
}
