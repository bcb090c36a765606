package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/report"
)

// reportHTML writes the report as a page like the simulator's.
func reportHTML(w io.Writer, r reported) error {
	page := report.Document{Title: fmt.Sprintf("What ran and what was decided, %s to %s", r.From.UTC().Format(time.DateTime), r.To.UTC().Format(time.DateTime)), Commit: sourceRevision()}
	for _, m := range r.Models {
		page.Scenarios = append(page.Scenarios, reportModel(r, m))
	}
	return report.Write(w, page)
}

// reportModel returns a model as a scenario with two policies.
func reportModel(r reported, m shadow.Model) report.Scenario {
	s := report.Scenario{
		Name: m.Model.String(), Measured: true,
		Description: fmt.Sprintf("%s. Decisions: %s. Requests: about %.0f in %s. Time without a record or a reading: %s.",
			capital(r.Source), modeOf(m), m.Requests, hours(m.Hours), hours(m.Unknown)),
		Objectives: report.Objectives{TTFT: m.Objective.TTFT, ITL: m.Objective.ITL},
	}
	if m.Objective.Set() {
		s.Objectives.Attainment = m.Objective.Share()
	}
	if part, known := m.Hindsight.Expected.Part(); known {
		s.Clairvoyant.Cost, s.Clairvoyant.Attainment = report.SpreadOf(m.Hindsight.Cost), report.SpreadOf(part)
	}
	ran, decided := reportSide(courseRan, m.Ran, m), reportSide(courseDecided, m.Decided, m)
	decided.Own = true
	if part, known := m.Ran.Measured.Part(); known {
		s.Remarks = append(s.Remarks, report.Remark{Name: "measured", Text: fmt.Sprintf("%.2f %% of the requests met their objectives with what ran", 100*part)})
	}
	if m.Ran.Regret.Known {
		s.Remarks = append(s.Remarks, report.Remark{Name: "regret", Text: fmt.Sprintf("ran %s, decided %s: cost and %g for each request expected to miss, beyond the cheapest replicas of each cycle",
			amount(m.Ran.Regret.Value), amount(m.Decided.Regret.Value), r.MissPrice)})
	}
	s.Remarks = append(s.Remarks, report.Remark{Name: "GPU hours", Text: fmt.Sprintf("ran %s, decided %s", amount(m.Ran.GPUHours), amount(m.Decided.GPUHours))})
	for _, d := range m.Differ {
		s.Remarks = append(s.Remarks, report.Remark{Name: "differs", Text: sentenceOf(d)})
	}
	for _, a := range r.Assumes {
		s.Remarks = append(s.Remarks, report.Remark{Name: "assumed", Text: a})
	}
	ranLast, decidedLast := map[scaling.VariantKey]scaling.Replicas{}, map[scaling.VariantKey]scaling.Replicas{}
	for _, moment := range m.Course {
		at := moment.At.Sub(m.From)
		if rate := moment.Cycle.Rate; rate.Known() {
			s.Offered = append(s.Offered, report.Point{At: at, Value: rate.Value})
		}
		sample := report.Sample{At: at, Queued: moment.Cycle.Waiting, TTFT: reading(moment.Cycle.TTFT), ITL: reading(moment.Cycle.ITL)}
		reportMoment(&ran, ranLast, sample, m, moment, moment.Ready, moment.Ran)
		sample.Queued, sample.TTFT, sample.ITL = math.NaN(), math.NaN(), math.NaN() // the decided replicas did not run, so these were not measured
		reportMoment(&decided, decidedLast, sample, m, moment, moment.Serving, moment.Decided)
	}
	s.Policies = []report.Result{ran, decided}
	return s
}

// reportSide returns a course without its samples.
func reportSide(name string, side shadow.Side, m shadow.Model) report.Result {
	out := report.Result{Name: name, Measures: report.Measures{Cost: report.SpreadOf(side.Cost), ReplicaHours: report.SpreadOf(side.ReplicaHours)}}
	for _, v := range m.Variants {
		out.Variants = append(out.Variants, v.Name)
	}
	if part, known := side.Expected.Part(); known {
		out.Measures.Attainment = report.SpreadOf(part)
	}
	return out
}

// reportMoment adds a sample of the replicas that serve, and the changes of those that were asked
// for. last holds the previous ones of each variant.
func reportMoment(to *report.Result, last map[scaling.VariantKey]scaling.Replicas, sample report.Sample, m shadow.Model, at shadow.Moment, serve, asked []scaling.Replicas) {
	sample.Replicas = make([]scaling.Replicas, len(m.Variants))
	for i, v := range at.Cycle.Variants {
		j, _ := slices.BinarySearchFunc(m.Variants, v.Key, scaling.VariantKey.Compare)
		sample.Replicas[j] = serve[i]
		before, known := last[v.Key]
		if !known {
			before = at.Ran[i]
		}
		last[v.Key] = asked[i]
		if before == asked[i] {
			continue
		}
		reason := "set by the scaler of the target"
		if to.Own {
			reason = reasonOf(v.Why)
		}
		to.Decisions = append(to.Decisions, report.Decision{At: sample.At, Variant: v.Key.Name, From: before, To: asked[i], Reason: reason})
	}
	to.Samples = append(to.Samples, sample)
}

func reasonOf(step scaling.Step) string {
	if step.Detail != "" {
		return step.Detail
	}
	return string(step.Reason)
}

// reading returns a value, NaN if it is not known.
func reading(r scaling.Reading) float64 {
	if !r.Known() {
		return math.NaN()
	}
	return r.Value
}

// capital capitalizes the first letter of a text.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
