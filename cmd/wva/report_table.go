package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

// The names of the courses of replicas in the report.
const (
	courseRan       = "ran"
	courseDecided   = "decided"
	courseHindsight = "hindsight"
)

// print writes the report as text.
func (r reported) print(w io.Writer) error {
	fmt.Fprintf(w, "%s to %s, %s\n\n", r.From.UTC().Format(time.RFC3339), r.To.UTC().Format(time.RFC3339), r.Source)
	if err := r.table().Write(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", r.Total.Sentence())
	for _, m := range r.Models {
		if m.Unknown > 0 {
			fmt.Fprintf(w, "%s: of %s nothing is counted: targets were not read, nothing was decided, or no cycle was recorded\n", m.Model, hours(m.Unknown))
		}
	}
	if err := r.printDifferences(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nAssumed:")
	for _, a := range r.Assumes {
		fmt.Fprintf(w, "- %s\n", a)
	}
	_, err := fmt.Fprintf(w, "- a request that misses its objectives costs %g (--miss-price), in the unit of the costs\n", r.MissPrice)
	return err
}

// table returns a table with a line for each course of each model.
func (r reported) table() console.Table {
	table := console.Table{Columns: []console.Column{
		console.Left("MODEL"), console.Left("DECISIONS"), console.Left("COURSE"), console.Right("HOURS"), console.Right("REPLICA HOURS"), console.Right("GPU HOURS"),
		console.Right("COST"), console.Right("MEASURED"), console.Right("EXPECTED"), console.Right("REGRET"),
	}}
	add := func(name, mode, length, course string, s shadow.Side) {
		table.Rows = append(table.Rows, []string{
			name, mode, course, length, amount(s.ReplicaHours), amount(s.GPUHours), amount(s.Cost), percentOf(s.Measured), percentOf(s.Expected), valueOf(s.Regret),
		})
	}
	for _, m := range r.Models {
		add(m.Model.String(), modeOf(m), amount(m.Hours), courseRan, m.Ran)
		add("", "", "", courseDecided, m.Decided)
		if m.Hindsight.Regret.Known {
			add("", "", "", courseHindsight, m.Hindsight)
		}
	}
	if len(r.Models) > 1 {
		add("all", "", amount(r.Total.Hours), courseRan, r.Total.Ran)
		add("", "", "", courseDecided, r.Total.Decided)
	}
	return table
}

// modeOf describes how far the decisions on a model were only advice.
func modeOf(m shadow.Model) string {
	switch part := m.Advisory / m.Hours; {
	case !(m.Hours > 0) || part == 0:
		return "carried out"
	case part == 1:
		return "advice"
	default:
		return fmt.Sprintf("%.0f %% advice", 100*part)
	}
}

// printDifferences lists the greatest differences between what ran and what was decided.
func (r reported) printDifferences(w io.Writer) error {
	differ := shadow.Greatest(r.Models)
	if len(differ) == 0 {
		_, err := fmt.Fprintln(w, "\nWhat ran and what was decided are the same.")
		return err
	}
	fmt.Fprintln(w, "\nWhere they differ most:")
	for _, d := range differ {
		if _, err := fmt.Fprintf(w, "  %s\n", sentenceOf(d)); err != nil {
			return err
		}
	}
	return nil
}

// sentenceOf describes a difference.
func sentenceOf(d shadow.Difference) string {
	text := fmt.Sprintf("%s from %s, for %s: %s ran, %d decided, cost %s", d.Variant, d.At.UTC().Format(time.RFC3339), hours(d.Hours), d.Ran.Text(), d.Decided, signed(d.Cost))
	if d.Cost == 0 {
		text += ", GPU hours " + signed(d.GPUs)
	}
	if d.Reason == "" {
		return text
	}
	text += fmt.Sprintf(": %s", d.Reason)
	if d.Detail != "" {
		text += " (" + d.Detail + ")"
	}
	if d.Cycle != "" {
		text += fmt.Sprintf("; cycle %s", d.Cycle)
	}
	return text
}

func signed(v float64) string {
	if v > 0 {
		return "+" + amount(v)
	}
	return amount(v)
}

// hours renders hours as a duration.
func hours(h float64) string {
	return time.Duration(h * float64(time.Hour)).Round(time.Second).String()
}

// amount renders a number with as many decimals as are useful.
func amount(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

func percentOf(s shadow.Share) string {
	part, known := s.Part()
	if !known {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*part)
}

func valueOf(v shadow.Value) string {
	if !v.Known {
		return "-"
	}
	return amount(v.Value)
}
