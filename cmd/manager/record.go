package main

import (
	"github.com/go-logr/logr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	enginesaturation "github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// recording keeps the cycles of the leader in a file. It belongs to the loop
// that runs them.
type recording struct {
	file       *record.File
	thresholds func(scaling.ModelKey) saturation.Policy
	used       map[scaling.ModelKey]saturation.Policy // by the cycle that is under way
}

var _ cycle.Archive = (*recording)(nil)

// newRecording opens the file. What it loses is counted as an error of the
// component record.
func newRecording(o config.Recording, log logr.Logger, instruments *metrics.Metrics, thresholds func(scaling.ModelKey) saturation.Policy) (*recording, error) {
	file, err := record.NewFile(record.FileOptions{
		Path: o.File, MaxBytes: int64(o.MaxBytes), Log: log, Lost: func() { instruments.CountError("record") },
	})
	if err != nil {
		return nil, err
	}
	return &recording{file: file, thresholds: thresholds, used: map[scaling.ModelKey]saturation.Policy{}}, nil
}

// of records the cycles of c. They are analyzed by thresholds that are noted on
// the way: the configuration may change during a cycle, and what is recorded must
// be what was used.
func (r *recording) of(c *cycle.Cycle) {
	c.Analyze = enginesaturation.Analyzer(func(model scaling.ModelKey) saturation.Policy {
		r.used[model] = r.thresholds(model)
		return r.used[model]
	})
	c.Archive = r
}

// Keep implements cycle.Archive.
func (r *recording) Keep(d cycle.Decided) {
	r.file.Keep(d.Recorded(r.used))
	clear(r.used)
}
