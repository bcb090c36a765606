package queueing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestABatchBeyondTheMostIsSizedAsTheMost: before the limit, 20 variants took 43 s a cycle.
func TestABatchBeyondTheMostIsSizedAsTheMost(t *testing.T) {
	of := func(batch int) []scaling.Variant {
		p := a100
		p.MaxBatchSize = batch
		var out []scaling.Variant
		for i := range 20 {
			out = append(out, variant(fmt.Sprint("v", i), p, 1))
		}
		return out
	}
	begin := time.Now()
	got := Analyze(snapshot(20, of(1<<20)...), objective, Options{TTFTPercentile: 0.9}, Memory{})
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	want := Analyze(snapshot(20, of(scaling.MostBatch)...), objective, Options{TTFTPercentile: 0.9}, Memory{})
	for i := range want.Variants {
		if got.Variants[i].PerReplica != want.Variants[i].PerReplica {
			t.Errorf("%s: %g a replica, want %g", want.Variants[i].Variant, got.Variants[i].PerReplica, want.Variants[i].PerReplica)
		}
	}
}

// TestADetailOfManyVariantsWithoutAProfileIsShort: each variant repeats the detail.
func TestADetailOfManyVariantsWithoutAProfileIsShort(t *testing.T) {
	var variants []scaling.Variant
	for i := range 500 {
		variants = append(variants, variant(fmt.Sprintf("%s-%03d", strings.Repeat("v", 240), i), scaling.Profile{}, 1))
	}
	got := Analyze(snapshot(20, variants...), objective, Options{}, Memory{}).Detail
	if len(got) > 2048 || !strings.Contains(got, "and 497 more") {
		t.Errorf("a detail of %d bytes: %.300s", len(got), got)
	}
}
