package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// explain rewords an error of pkg/analyzer in terms of the flags: which flag, its value, the
// accepted values, and the best value that a target can have.
func (f *queueFlags) explain(err error) error {
	if input, ok := errors.AsType[*analyzer.InputError](err); ok {
		return f.explainInput(input)
	}
	if target, ok := errors.AsType[*analyzer.TargetError](err); ok {
		return f.explainTarget(target)
	}
	return err
}

// queueFlagOf returns the flag of a field of pkg/analyzer.
func queueFlagOf(field string) (flag string, known bool) {
	flag, known = map[string]string{
		"Config.MaxBatch":          "max-batch",
		"Config.MaxQueue":          "max-queue",
		"RequestSize.InputTokens":  "input-tokens",
		"RequestSize.OutputTokens": "output-tokens",
		"FourParameter.Alpha":      "alpha",
		"FourParameter.Beta":       "beta",
		"FourParameter.Gamma":      "gamma",
		"FourParameter.Delta":      "delta",
		"ThreeParameter.Alpha":     "alpha",
		"ThreeParameter.Beta":      "beta",
		"ThreeParameter.Gamma":     "gamma",
		"Targets.TTFT":             "ttft",
		"Targets.ITL":              "itl",
		"Targets.TPS":              "tps",
		"rate":                     "rate",
	}[field]
	return flag, known
}

func (f *queueFlags) explainInput(e *analyzer.InputError) error {
	if flag, known := queueFlagOf(e.Field); known {
		return fmt.Errorf("--%s is %v, want %s", flag, e.Value, e.Want)
	}
	if e.Field == "Config.MaxBatch + Config.MaxQueue" {
		return fmt.Errorf("--max-batch %d and --max-queue %d make %v, want %s; --correct takes it", f.maxBatch, f.maxQueue, e.Value, e.Want)
	}
	if time, ok := strings.CutPrefix(e.Field, "Config.Service."); ok {
		// No single flag is wrong: together they give times that cannot be computed with.
		parameters := fmt.Sprintf("--alpha %v, --beta %v, --gamma %v and --delta %v", f.alpha, f.beta, f.gamma, f.delta)
		if f.serviceModel == modelThree {
			parameters = fmt.Sprintf("--alpha %v, --beta %v and --gamma %v", f.alpha, f.beta, f.gamma)
		}
		return fmt.Errorf("%s with --input-tokens %v and --output-tokens %v: the time %s is %v ms, want %s",
			parameters, f.inputTokens, f.outputTokens, strings.ToLower(time), e.Value, e.Want)
	}
	return e
}

func (f *queueFlags) explainTarget(e *analyzer.TargetError) error {
	flag := "--" + strings.ToLower(e.Target)
	if e.Target == "TPS" {
		return fmt.Errorf("%s of %v %s cannot be reached: the most that this replica serves while it keeps the other targets is %s %s",
			flag, e.Wanted, e.Unit, figure(e.Best), e.Unit)
	}
	if e.Best < e.Wanted {
		return fmt.Errorf("%s of %v %s has no rate: the %s is %s %s at all of them, and the published versions accept that only as the target itself; --correct answers",
			flag, e.Wanted, e.Unit, e.Target, figure(e.Best), e.Unit)
	}
	return fmt.Errorf("%s of %v %s cannot be met: the best achievable %s (%s) is %s %s, at the least rate",
		flag, e.Wanted, e.Unit, e.Target, percentileName(e.Percentile), figure(e.Best), e.Unit)
}
