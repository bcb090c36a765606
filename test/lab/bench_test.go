package main

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// BenchmarkDay runs one seed of the scenarios of a day (348,475 requests) with one of
// our engines, as the lab does, and reports the CPU time of a run in seconds, the reading of
// the trace included. It is skipped without WVA_SHARED.
func BenchmarkDay(b *testing.B) {
	lab.CollectLess()
	all, err := matrix(goldentest.Shared(b, "traces"))
	if err != nil {
		b.Fatal(err)
	}
	day := regexp.MustCompile(`^servegen-day/`)
	for _, s := range all {
		if !day.MatchString(s.Name) {
			continue
		}
		for _, policy := range []string{lab.Hybrid, lab.Queueing, lab.Tokens, lab.Saturation} {
			choices, err := lab.ReadChoices([]string{policy})
			if err != nil {
				b.Fatal(err)
			}
			plan := lab.Plan{Scenarios: []lab.Scenario{s}, Choices: choices, Seeds: []uint64{1}}
			b.Run(s.Name+"/"+policy, func(b *testing.B) {
				began := cpu(b)
				for b.Loop() {
					if _, err := lab.Execute(b.Context(), plan, lab.Options{Workers: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((cpu(b)-began).Seconds()/float64(b.N), "cpu-s/op")
			})
		}
	}
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
