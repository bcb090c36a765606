package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// TestARecordHoldsTheSettingsThatWereUsed decides by other thresholds in each
// cycle.
func TestARecordHoldsTheSettingsThatWereUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	of := scaling.ModelKey{Namespace: "ns", ID: "m"}
	r, err := newRecording(config.Recording{File: path, MaxBytes: 1 << 20}, logr.Discard(), metrics.New(prometheus.NewRegistry(), clock.RealClock{}, metrics.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		how := settings.Default()
		how.Saturation.KVCacheThreshold = 0.5 + float64(n)/10
		r.Keep(cycle.Decided{Setup: cycle.Setup{Models: map[scaling.ModelKey]settings.Model{of: how}}, Case: cycle.Case{Now: time.Unix(int64(1+n), 0)}})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.file.Run(ended); err != nil {
		t.Fatal(err)
	}
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var got []float64
	for c, err := range record.Read(text) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Configuration[of].Saturation.KVCacheThreshold)
	}
	if len(got) != 2 || got[0] != 0.5 || got[1] != 0.6 {
		t.Errorf("recorded KV cache thresholds %v, want 0.5 and 0.6", got)
	}
}

func TestALostRecordIsCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	r, err := newRecording(config.Recording{File: filepath.Join(t.TempDir(), "cycles.jsonl"), MaxBytes: 1 << 20}, logr.Discard(),
		metrics.New(reg, clock.RealClock{}, metrics.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // and nothing writes them
		r.Keep(cycle.Decided{})
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != metrics.Errors {
			continue
		}
		m := f.GetMetric()[0]
		if m.GetLabel()[0].GetValue() != "record" || m.GetCounter().GetValue() != 12 {
			t.Errorf("counted %s, want 12 of the component record: 8 wait", m)
		}
		return
	}
	t.Error("not counted")
}

func TestAFileThatCannotBeOpenedKeepsTheManagerFromStarting(t *testing.T) {
	_, err := newRecording(config.Recording{File: t.TempDir(), MaxBytes: 1 << 20}, logr.Discard(), nil)
	if err == nil {
		t.Error("a folder was taken for a file")
	}
}
