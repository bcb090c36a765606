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
// lacks, and the manager one that it does not read. The same of freeze windows.
func TestTheSchemaKnowsEveryFieldOfSaturation(t *testing.T) {
	var definitions map[string]struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(read(t, "testdata/defs.json"), &definitions); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]config.Kind{"saturation": config.KindSaturation, "freezeWindow": config.KindSchedule} {
		var want []string
		for _, key := range config.Catalogue() {
			if key.In == kind {
				want = append(want, key.Name)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(definitions[name].Properties))); diff != "" {
			t.Errorf("testdata/defs.json, %s (-keys of the configuration +properties):\n%s", name, diff)
		}
	}
}
