package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// defaultProfile is the built-in profile of a simulation.
const defaultProfile = "llama-8b-l40s"

// noWorkload is the message for a missing workload.
const noWorkload = "--workload is missing: want a file, a generator such as 'sine(1->12,1h,4h)', or --from-prometheus URL"

// plan returns the plan of the flags, without the workload; changed reports which flags were given.
func (f *simulateFlags) plan(changed func(name string) bool) (lab.Plan, error) {
	if err := f.check(changed); err != nil {
		return lab.Plan{}, err
	}
	scenario, err := f.fleet()
	if err != nil {
		return lab.Plan{}, err
	}
	choices, err := lab.ReadChoices(f.names(scenario))
	if err != nil {
		return lab.Plan{}, fmt.Errorf("--policy: %w", err)
	}
	p := lab.Plan{Scenarios: []lab.Scenario{scenario}, Choices: choices, Tune: f.tune, Series: f.report != ""}
	if f.foresee || f.report != "" && !changed("clairvoyant") {
		p.Foresight = 40
	}
	for _, seed := range f.seeds {
		p.Seeds = append(p.Seeds, uint64(seed))
	}
	return p, nil
}

// names returns the selected policies, with every policy in place of "all". The default is the
// default engine of the manager.
func (f *simulateFlags) names(of lab.Scenario) []string {
	if len(f.policies) == 0 {
		if slices.ContainsFunc(of.Models, func(m lab.Model) bool { return m.Spec.SLO.TTFT > 0 || m.Spec.SLO.ITL > 0 }) {
			return []string{lab.Hybrid}
		}
		return []string{lab.Tokens}
	}
	i := slices.Index(f.policies, "all")
	if i < 0 {
		return f.policies
	}
	var names []string
	for _, name := range slices.Replace(slices.Clone(f.policies), i, i+1, lab.Names()...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// check returns an error for wrong flags.
func (f *simulateFlags) check(changed func(name string) bool) error {
	if err := f.store.check(changed); err != nil {
		return err
	}
	switch {
	case f.workload == "" && f.store.url == "" && f.scenario == "":
		return errors.New(noWorkload)
	case f.workload == "-":
		return errors.New("--workload -: standard input can be read only once, and every policy reads the workload again; want a file")
	case !slices.Contains([]string{"table", "json", "csv"}, f.output):
		return fmt.Errorf("--output %q, want table, json or csv", f.output)
	case f.lengths != "chat" && f.lengths != "constant":
		return fmt.Errorf("--lengths %q, want chat or constant", f.lengths)
	case len(f.seeds) == 0:
		return errors.New("want one --seed or more")
	case f.workers < 0:
		return fmt.Errorf("--parallel %d, want 0 or more", f.workers)
	}
	if f.scenario == "" {
		return f.checkFleet()
	}
	for _, name := range []string{
		"slo-ttft", "slo-itl", "attainment", "cost", "start-up", "start-up-deviation", "min-replicas", "max-replicas", "stock", "routing",
	} {
		if changed(name) {
			return fmt.Errorf("--%s has no place beside --scenario, which says it for each model", name)
		}
	}
	return nil
}

// checkFleet returns an error for wrong flags that replace a scenario.
func (f *simulateFlags) checkFleet() error {
	switch {
	case !(f.attainment > 0 && f.attainment <= 1):
		return fmt.Errorf("--attainment %g, want a ratio above 0, up to 1", f.attainment)
	case f.stock < -1:
		return fmt.Errorf("--stock %d, want -1 for no limit, or 0 or more accelerators", f.stock)
	case f.minimum < 0, f.maximum < 0, f.maximum > 0 && f.maximum < f.minimum:
		return fmt.Errorf("--min-replicas %d and --max-replicas %d, want 0 or more, the second 0 or no less than the first", f.minimum, f.maximum)
	case f.sloTTFT < 0, f.sloITL < 0, f.startUp < 0, f.deviation < 0, !(f.cost >= 0), math.IsInf(f.cost, 1):
		return fmt.Errorf("--slo-ttft %s, --slo-itl %s, --start-up %s, --start-up-deviation %s, --cost %g: want 0 or more of each",
			f.sloTTFT, f.sloITL, f.startUp, f.deviation, f.cost)
	}
	return nil
}

// workloadOf returns the workload of --workload, else that of the scenario.
func (f *simulateFlags) workloadOf(s lab.Scenario, changed func(name string) bool) (lab.Source, error) {
	switch {
	case f.workload != "":
		return f.source(changed)
	case s.Workload.Open == nil:
		return lab.Source{}, errors.New(noWorkload + "; or the field workload in " + f.scenario)
	}
	return s.Workload, nil
}

// source returns the workload: a file if one of this name exists, else a generator.
func (f *simulateFlags) source(changed func(name string) bool) (lab.Source, error) {
	lengths, err := workload.ChatLengths(float64(f.inputTokens), float64(f.outputTokens))
	if f.lengths == "constant" {
		lengths, err = workload.ConstantLengths(f.inputTokens, f.outputTokens)
	}
	if err != nil {
		return lab.Source{}, fmt.Errorf("--input-tokens and --output-tokens: %w", err)
	}
	var s lab.Source
	if _, missing := os.Stat(f.workload); missing == nil {
		s, err = lab.File(f.workload, lab.FileOptions{Lengths: lengths, Peak: f.peak, Take: f.take})
	} else if profile, wrong := workload.ParseProfile(f.workload); wrong == nil {
		s = lab.Generator(profile, lengths)
	} else if strings.Contains(f.workload, "(") {
		err = wrong
	} else {
		err = fmt.Errorf("%w; and it is no generator such as 'sine(1->12,1h,4h)' either", missing)
	}
	if err != nil {
		return s, fmt.Errorf("--workload: %w", err)
	}
	for _, name := range []string{"peak", "take"} {
		if changed(name) && !s.Curve {
			return s, fmt.Errorf("--%s is for curves of rates, and %s is none", name, s.Name)
		}
	}
	for _, name := range []string{"lengths", "input-tokens", "output-tokens"} {
		if changed(name) && !s.Curve && s.Length == 0 {
			return s, fmt.Errorf("--%s has no place beside the log %s, which has lengths of its own", name, s.Name)
		}
	}
	return s, nil
}

// fleet returns the scenario without its workload.
func (f *simulateFlags) fleet() (lab.Scenario, error) {
	built, err := emulator.BuiltInProfiles()
	if err != nil {
		return lab.Scenario{}, err
	}
	var known []serving.Profile
	for _, p := range built {
		known = append(known, p)
	}
	given, err := f.profiles(built)
	if err != nil {
		return lab.Scenario{}, err
	}
	if f.scenario != "" {
		known = slices.DeleteFunc(known, func(p serving.Profile) bool {
			return slices.ContainsFunc(given, func(o serving.Profile) bool { return o.Name == p.Name })
		})
		return lab.ReadScenario(f.scenario, append(known, given...))
	}
	if len(given) != 1 {
		names := make([]string, len(given))
		for i, p := range given {
			names[i] = p.Name
		}
		return lab.Scenario{}, fmt.Errorf("--profile %s holds %s, want one profile; several variants are described in a --scenario file", f.profile, strings.Join(names, ", "))
	}
	return f.single(given[0])
}

// profiles returns the profiles of --profile, else the default.
func (f *simulateFlags) profiles(built emulator.Profiles) ([]serving.Profile, error) {
	name := f.profile
	if name == "" {
		name = defaultProfile
	}
	if p, ok := built[name]; ok {
		return []serving.Profile{p}, nil
	}
	given, err := lab.ReadProfiles(name)
	if errors.Is(err, os.ErrNotExist) {
		names := make([]string, 0, len(built))
		for n := range built {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("--profile: there is no file %s and no such built-in profile, want one of %s", name, strings.Join(names, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	return given, nil
}

// single returns the scenario of one model with one variant from the flags.
func (f *simulateFlags) single(p serving.Profile) (lab.Scenario, error) {
	m := lab.DefaultModel()
	m.Spec.Key.ID = p.Name
	m.Spec.SLO = sim.SLO{TTFT: float64(f.sloTTFT) / float64(time.Millisecond), ITL: float64(f.sloITL) / float64(time.Millisecond), Attainment: f.attainment}
	var err error
	if m.Spec.Routing, err = sim.ParseRouting(f.routing); err != nil {
		return lab.Scenario{}, fmt.Errorf("--routing: %w", err)
	}
	v := lab.DefaultVariant(m.Spec.Key.Namespace, p)
	v.Spec.Cost, v.StartUp = f.cost, sim.StartUp{Mean: f.startUp, Deviation: f.deviation}
	v.Spec.Bounds.Min = scaling.Replicas(f.minimum)
	if f.maximum > 0 {
		v.Spec.Bounds.Max = scaling.Replicas(f.maximum)
	}
	m.Spec.Variants = []sim.Variant{v}
	s := lab.Scenario{
		Name: p.Name, Target: f.attainment, Models: []lab.Model{m},
		Description: fmt.Sprintf("One variant: %s on %s at %g per replica-hour, ready after %s.", p.Name, p.Accelerator, f.cost, f.startUp),
	}
	if f.stock >= 0 {
		s.Fleet.Nodes = []sim.Nodes{{Accelerator: p.Accelerator, Count: f.stock, GPUs: 1}}
	}
	return s, nil
}
