package chart

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// TestTheSchemaKnowsEveryFieldOfSaturation: Helm refuses a field that the schema
// lacks, and the manager one that it does not read.
func TestTheSchemaKnowsEveryFieldOfSaturation(t *testing.T) {
	var definitions struct {
		Saturation struct {
			Properties map[string]any `json:"properties"`
		} `json:"saturation"`
	}
	if err := json.Unmarshal(read(t, "testdata/defs.json"), &definitions); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, key := range config.Catalogue() {
		if key.In == config.KindSaturation {
			want = append(want, key.Name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(definitions.Saturation.Properties))); diff != "" {
		t.Errorf("testdata/defs.json, saturation (-keys of the configuration +properties):\n%s", diff)
	}
}
