package main

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
)

// recording writes the cycles of the leader to a file. Only the loop that runs the cycles uses it.
type recording struct{ file *record.File }

var _ cycle.Archive = (*recording)(nil)

// newArchive keeps cycles in the history, and in a file where one is named. It returns the
// runnables for that.
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

// newRecording opens the file. A cycle that it cannot write counts as an error of the component
// record.
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
