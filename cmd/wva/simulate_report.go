package main

import (
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/report"
)

// simulateReport writes the results of a plan as HTML, with a section for each model of each
// scenario.
func simulateReport(w io.Writer, plan lab.Plan, r lab.Results) error {
	page := report.Document{Title: "Simulation of " + plan.Scenarios[0].Workload.Name, Commit: sourceRevision(), Seeds: r.Seeds}
	for i, s := range r.Scenarios {
		for _, m := range plan.Scenarios[i].Models {
			page.Scenarios = append(page.Scenarios, reportScenario(plan, plan.Scenarios[i], s, m))
		}
	}
	return report.Write(w, page)
}

func reportScenario(plan lab.Plan, asked lab.Scenario, s lab.ScenarioResults, m lab.Model) report.Scenario {
	slo := m.Spec.SLO
	o := report.Scenario{
		Name: s.Scenario, Description: strings.TrimSpace(fmt.Sprintf("%s Workload: %s, %d requests.", asked.Description, s.Workload, s.Requests)),
		Objectives: report.Objectives{TTFT: slo.TTFT, ITL: slo.ITL, Attainment: s.Target}, Seed: plan.Seeds[0],
	}
	if len(asked.Models) > 1 {
		o.Name += ": " + m.Spec.Key.String()
	}
	if s.Clairvoyant != nil {
		for _, c := range s.Clairvoyant.Models {
			if c.Model == m.Spec.Key {
				o.Clairvoyant.Cost, o.Clairvoyant.Attainment = report.SpreadOf(c.Measures.Cost), report.SpreadOf(c.Measures.Attainment)
			}
		}
	}
	var variants []scaling.VariantKey
	for _, v := range m.Spec.Variants {
		variants = append(variants, v.Spec.Key)
	}
	slices.SortFunc(variants, scaling.VariantKey.Compare)
	for _, row := range s.Rows {
		p := reportPolicy(row, m.Spec.Key)
		for _, v := range variants {
			p.Variants = append(p.Variants, v.Name)
		}
		reportCourse(&p, &o, row.Course, m.Spec.Key, variants)
		o.Policies = append(o.Policies, p)
	}
	return o
}

// reportPolicy returns the result of a row without its course.
func reportPolicy(row lab.Row, model scaling.ModelKey) report.Result {
	p := report.Result{Name: row.Policy.String(), Own: row.Own}
	definition := policy.Definition{}
	for _, d := range lab.Catalogue() {
		if d.Name == row.Policy.Name {
			definition, p.About = d, d.Source
		}
	}
	for _, param := range definition.Params {
		one := report.Parameter{Name: param.Name, Value: row.Policy.Params[param.Name], Default: param.Default}
		for _, t := range row.Tuning {
			if tried := t.Params[param.Name]; tried != "" && !slices.Contains(one.Tried, tried) {
				one.Tried = append(one.Tried, tried)
			}
		}
		if one.Value != "" && len(one.Tried) > 0 {
			p.Parameters = append(p.Parameters, one)
		}
	}
	m, ok := row.Model(model)
	if !ok {
		return p
	}
	over := func(s lab.Spread) report.Spread {
		return report.Spread{Mean: s.Mean, Error: s.Error, Low: s.Min, High: s.Max, Runs: len(row.Runs)}
	}
	p.Measures = report.Measures{
		Attainment: over(m.Attainment), Cost: over(m.Cost), Goodput: over(m.Goodput), ReplicaHours: over(m.ReplicaHours),
		TTFTP50: over(m.TTFTP50), TTFTP90: over(m.TTFTP90), TTFTP99: over(m.TTFTP99),
		ITLP50: over(m.ITLP50), ITLP90: over(m.ITLP90), ITLP99: over(m.ITLP99),
		Violation: over(m.Violation), ScaleEvents: over(m.ScaleEvents), ColdStarts: over(m.ColdStarts),
		Failed: over(m.Failed), Lost: over(m.Lost),
	}
	return p
}

// reportCourse adds the course of the run with the first seed for one model. It takes the load from
// the first policy that has one.
func reportCourse(p *report.Result, o *report.Scenario, course *lab.Course, model scaling.ModelKey, variants []scaling.VariantKey) {
	if course == nil {
		return
	}
	fill := len(o.Offered) == 0
	for _, i := range course.Intervals {
		if i.Model != model {
			continue
		}
		if fill && i.Length > 0 {
			o.Offered = append(o.Offered, report.Point{At: i.End, Value: float64(i.Counts.Arrived) / i.Length.Seconds()})
		}
		sample := report.Sample{At: i.End, Queued: float64(i.Waiting), TTFT: math.NaN(), ITL: math.NaN()}
		if i.Counts.Finished > 0 {
			sample.TTFT, sample.ITL = i.TTFT.P90, i.ITL.P90
		}
		for _, v := range i.Variants {
			sample.Replicas = append(sample.Replicas, v.Ready)
			sample.Queued += float64(v.Waiting)
		}
		p.Samples = append(p.Samples, sample)
	}
	for _, d := range course.Decisions {
		if slices.Contains(variants, d.Target.Variant) {
			p.Decisions = append(p.Decisions, report.Decision{
				At: d.At, Variant: d.Target.Variant.Name, From: d.From, To: d.Target.Replicas, Reason: reportReason(d.Target),
			})
		}
	}
}

func reportReason(t sim.Target) string {
	if t.Detail == "" {
		return t.Reason
	}
	return t.Detail
}

// sourceRevision returns the commit that this program was built from, "" if unknown.
func sourceRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return ""
}
