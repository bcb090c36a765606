package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// rolesOptions are the flags of "lab roles".
type rolesOptions struct {
	traces, out, only, policies, commit string
	seeds                               int
}

// rolesPolicies are our policy and the baselines that scale prefill and decode.
const rolesPolicies = lab.Hybrid + " dynamo-sla hpa-paired heteroscale"

func parseRoles(args []string) (rolesOptions, error) {
	var o rolesOptions
	flags := flag.NewFlagSet("lab roles", flag.ContinueOnError)
	flags.StringVar(&o.traces, "traces", "", "folder with profiles.json")
	flags.StringVar(&o.out, "o", "docs/benchmarks.md", "document whose section is written anew")
	flags.StringVar(&o.only, "only", "", "run only scenarios whose names match this regular expression, and leave the document as it is")
	flags.StringVar(&o.policies, "policies", rolesPolicies, "policies, separated by spaces")
	flags.StringVar(&o.commit, "commit", "unknown", "that the program was built from, for the document")
	flags.IntVar(&o.seeds, "seeds", 3, "number of seeds, from 1 on")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.traces == "":
		return o, errors.New("no folder with profiles: make lab-roles TRACES=folder")
	case o.seeds < 1:
		return o, fmt.Errorf("-seeds %d, want 1 or more", o.seeds)
	}
	return o, nil
}

// mix is the mean lengths of prompts and answers, in tokens.
type mix struct{ input, output int }

// requests returns requests of a mix with Poisson arrivals: a third have half of its lengths, a
// third have one and a half times its lengths.
func (m mix) requests(rates string) ([]lab.Source, error) {
	rate, err := workload.ParseProfile(rates)
	if err != nil {
		return nil, err
	}
	var parts []lab.Source
	for _, halves := range []int{1, 2, 3} {
		lengths, err := workload.ConstantLengths(m.input*halves/2, m.output*halves/2)
		if err != nil {
			return nil, err
		}
		parts = append(parts, lab.Generator(rate, lengths))
	}
	return parts, nil
}

// rolesScenario is a load that changes, for a model served in prefill and decode. Its rates are
// those of a third of the requests.
type rolesScenario struct {
	name, description string
	stretches         []stretch
}

// stretch is a mix with its rates.
type stretch struct {
	mix
	rates string
}

// rolesScenarios return loads that change the work of prefill, of decode, and of both.
func rolesScenarios() []rolesScenario {
	usual := mix{800, 200}
	return []rolesScenario{
		{"prompts", "After an hour prompts have 8000 tokens in the mean instead of 800, at 20 requests/s and 200 tokens of answer all the time.", []stretch{
			{usual, "constant(6.6667,1h),constant(0,1h)"}, {mix{8000, 200}, "constant(0,1h),constant(6.6667,1h)"},
		}},
		{"answers", "After an hour answers have 2000 tokens in the mean instead of 200, at 20 requests/s and prompts of 800 tokens all the time.", []stretch{
			{usual, "constant(6.6667,1h),constant(0,1h)"}, {mix{800, 2000}, "constant(0,1h),constant(6.6667,1h)"},
		}},
		{"rate", "After an hour the rate is 40 requests/s instead of 20, and 20 again half an hour later, with prompts of 800 tokens and answers of 200 all the time.", []stretch{
			{usual, "constant(6.6667,1h),constant(13.3333,30m),constant(6.6667,30m)"},
		}},
	}
}

// plan returns every policy in every scenario. The fleet begins with the replicas for the first
// load: 20 prompts/s of 101.7 ms and 4000 tokens/s, in replicas that decode at most 6912 in a full
// KV cache.
func (o rolesOptions) plan() (lab.Plan, error) {
	p := lab.Plan{Tune: true}
	m, err := readMeasurements(o.traces)
	if err != nil {
		return p, err
	}
	var variants []sim.Variant
	for _, role := range []struct {
		role  scaling.Role
		first scaling.Replicas
	}{{scaling.RoleDecode, 2}, {scaling.RolePrefill, 3}} {
		v, err := m.variant(serves{name: string(role.role), id: phi4A100, on: a100(), least: 1})
		if err != nil {
			return p, err
		}
		v.Spec.Role, v.Replicas = role.role, role.first
		variants = append(variants, v)
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return p, fmt.Errorf("-only: %w", err)
	}
	for _, one := range rolesScenarios() {
		if !only.MatchString(one.name) {
			continue
		}
		var parts []lab.Source
		for _, s := range one.stretches {
			requests, err := s.requests(s.rates)
			if err != nil {
				return p, fmt.Errorf("scenario %s: %w", one.name, err)
			}
			parts = append(parts, requests...)
		}
		model := lab.DefaultModel()
		model.Sized = false
		model.Spec.SLO = rolesObjectives()
		model.Spec.Transfer = sim.DefaultTransfer()
		model.Spec.Variants = variants
		p.Scenarios = append(p.Scenarios, lab.Scenario{
			Name: one.name, Description: one.description, Target: lab.DefaultTarget,
			Workload: lab.Mix(one.name, parts...).Remembered(), Models: []lab.Model{model},
		})
	}
	if len(p.Scenarios) == 0 {
		return p, fmt.Errorf("no scenario matches -only %q: there are prompts, answers and rate", o.only)
	}
	if p.Choices, err = lab.ReadChoices(strings.Fields(o.policies)); err != nil {
		return p, fmt.Errorf("-policies: %w", err)
	}
	for seed := range o.seeds {
		p.Seeds = append(p.Seeds, uint64(seed)+1)
	}
	return p, nil
}

// rolesObjectives returns objectives that allow for a prompt of 12,000 tokens, which takes 1.2 s
// alone.
func rolesObjectives() sim.SLO { return sim.SLO{TTFT: 3000, ITL: 30, Attainment: lab.DefaultTarget} }

// runRoles runs the scenarios of prefill and decode and writes their section of the document.
func runRoles(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseRoles(args)
	if err != nil {
		return err
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	watch := clock.RealClock{}
	began := watch.Now()
	results, failure := lab.Execute(ctx, plan, lab.Options{OnProgress: progress(out, watch, began)})
	if !results.Complete {
		return errors.Join(failure, errors.New("the run did not finish, and the document stays as it is"))
	}
	text := rolesSection(plan, results, fmt.Sprintf("Commit %s, %s; seeds %s.", o.commit, watch.Since(began).Round(time.Second), seeds(plan.Seeds)))
	fmt.Fprint(out, text)
	if o.only != "" {
		return failure
	}
	page, err := os.ReadFile(o.out)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	if err := os.WriteFile(o.out, []byte(replaceSection(string(page), text)), 0o644); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	return failure
}

// rolesHeading begins the section of the document that lab roles writes.
const rolesHeading = "## Prefill and decode\n"

// rolesPart returns the section of a document that lab roles has written, "" where there is none.
func rolesPart(page string) string {
	_, rest, found := strings.Cut(page, "\n"+rolesHeading)
	if !found {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return "\n" + rolesHeading + strings.TrimRight(rest, "\n") + "\n"
}

// writtenRoles returns the section of lab roles in a file, "" where there is none.
func writtenRoles(file string) string {
	page, err := os.ReadFile(file)
	if err != nil {
		return "" // it is written for the first time
	}
	return rolesPart(string(page))
}

// replaceSection returns a document with its section of lab roles replaced by text. Without such a
// section, text goes before the section "What was tried", or else to the end.
func replaceSection(page, text string) string {
	if old := rolesPart(page); old != "" {
		return strings.Replace(page, old, text, 1)
	}
	if before, after, found := strings.Cut(page, triedHeading); found {
		return before + text + triedHeading + after
	}
	return strings.TrimRight(page, "\n") + "\n" + text
}

// rolesSection returns the section.
func rolesSection(p lab.Plan, r lab.Results, run string) string {
	var b strings.Builder
	slo := p.Scenarios[0].Models[0].Spec.SLO
	variants := p.Scenarios[0].Models[0].Spec.Variants
	transfer := p.Scenarios[0].Models[0].Spec.Transfer
	fmt.Fprintf(&b, `
%s
Generated by `+"`make lab-roles`"+`; not edited by hand. %s

A model that is served in parts, in the simulator ([how](user-guide/simulate.md#prefill-and-decode)): each replica is `+"`%s`"+`, at
%.2f USD per hour, and the KV cache of a prompt takes %s and %s for each token to decode. Objectives: TTFT %.0f s, ITL %.0f ms; a minute
is **held** if %.0f %% of the requests that ended in it met both. A third of the requests have half of the mean lengths, a third one and a
half times these; arrivals are Poisson. All else is as above: ours are not tuned, know the objectives and the profile, and are
carried out by an HPA without tolerance; the others are tuned in the first 40 minutes, before anything changes, and all are judged on the 80
minutes that follow. Their ratio of prefill to decode is the one that the profiles call for at the first load. In hindsight is
the setting that was best in the part that is judged.
`, rolesHeading, run, variants[0].Profile.Name, variants[0].Spec.Cost, transfer.Base, transfer.PerToken, slo.TTFT/1000, slo.ITL, 100*slo.Attainment)
	for i, s := range r.Scenarios {
		fmt.Fprintf(&b, "\n**%s.** %s\n\n", s.Scenario, p.Scenarios[i].Description)
		fmt.Fprintf(&b, "| Policy | Minutes held of %.0f | Attained %% | TTFT met %% | ITL met %% | Cost | In hindsight: held | Attained %% | Cost |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", s.Span/60)
		for _, row := range s.Rows {
			name := "`" + row.Policy.Name + "`"
			if row.Own {
				name = "**" + name + "**"
			}
			m := row.Measures
			fmt.Fprintf(&b, "| %s | %.1f | %s | %s | %s | %s | %s |\n", name, held(s, m.Violation.Mean), m.Attainment.Text(100, 1),
				m.TTFTAttainment.Text(100, 1), m.ITLAttainment.Text(100, 1), m.Cost.Text(1, 2), rolesHindsight(s, row))
		}
	}
	return b.String()
}

// held returns the minutes of a scenario that are not in violation, where violation is a ratio.
func held(s lab.ScenarioResults, violation float64) float64 { return s.Span / 60 * (1 - violation) }

// rolesHindsight returns three cells: the result of a baseline with its best setting in hindsight.
func rolesHindsight(s lab.ScenarioResults, r lab.Row) string {
	if r.Hindsight == nil || len(r.Hindsight.Runs) == 0 {
		return "– | – | –"
	}
	m := r.Hindsight.Measures
	return fmt.Sprintf("%.1f | %s | %s", held(s, m.Violation.Mean), m.Attainment.Text(100, 1), m.Cost.Text(1, 2))
}
