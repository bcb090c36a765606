package main

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
)

// recording keeps the cycles of the leader in a file. It belongs to the loop
// that runs them.
type recording struct{ file *record.File }

var _ cycle.Archive = (*recording)(nil)

// newArchive has cycles kept in the history, and in a file where one is named. It returns what has to run for
// that.
func newArchive(c common) ([]manager.Runnable, error) {
	past := &chronicle{history: c.history, memory: c.memory}
	c.last.Next = past
	if c.operator.Recording.File == "" {
		return []manager.Runnable{leading(c.history.Run)}, nil
	}
	r, err := newRecording(c.operator.Recording, c.log, c.instruments)
	if err != nil {
		return nil, err
	}
	past.next = r
	return []manager.Runnable{leading(c.history.Run), leading(r.file.Run)}, nil
}

// newRecording opens the file. What it loses is counted as an error of the
// component record.
func newRecording(o config.Recording, log logr.Logger, instruments *metrics.Metrics) (*recording, error) {
	file, err := record.NewFile(record.FileOptions{
		Path: o.File, MaxBytes: int64(o.MaxBytes), Log: log, Lost: func() { instruments.CountError("record") },
	})
	if err != nil {
		return nil, err
	}
	return &recording{file: file}, nil
}

// Keep implements cycle.Archive.
func (r *recording) Keep(d cycle.Decided) { r.file.Keep(d.Recorded()) }
