package chart

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// notOfTheChart are settings that no value of the chart sets, each for a reason.
var notOfTheChart = []string{
	"PROMETHEUS_BEARER_TOKEN",                  // prometheus.tokenSecret: no secret is among values
	"PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD", // without effect
	"COLLECTOR_BACKEND",                        // collectorBackend, which sets the flag
}

// TestAValueSetsEachSetting: a setting is one that a template writes, or that `settings` takes by its name.
func TestAValueSetsEachSetting(t *testing.T) {
	var definitions map[string]struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(read(t, "testdata/defs.json"), &definitions); err != nil {
		t.Fatal(err)
	}
	var templates strings.Builder
	files, err := filepath.Glob("../../charts/workload-variant-autoscaler/templates/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("templates: %v, %v", files, err)
	}
	for _, file := range files {
		templates.Write(read(t, file))
	}
	for _, key := range config.Catalogue() {
		_, named := definitions["settings"].Properties[key.Name]
		written := strings.Contains(templates.String(), key.Name)
		switch {
		case key.In != config.KindSettings:
		case slices.Contains(notOfTheChart, key.Name):
			if named || written {
				t.Errorf("%s is said to be set by no value, and is", key.Name)
			}
		case named == written:
			t.Errorf("%s is among settings: %t, written by a template: %t, want one of them", key.Name, named, written)
		}
	}
	for name, text := range map[string]string{
		"text": `{prometheus: {baseURL: "https://p"}, settings: {WVA_SHARE_PROFILES: "true"}}`,
		"bool": `{prometheus: {baseURL: "https://p"}, settings: {WVA_SHARE_PROFILES: true}}`,
	} {
		out := mustRender(t, load(t), values(t, text), Release{Name: "wva", Namespace: "system"})
		got := slices.Collect(maps.Values(texts(t, out)))
		if !slices.ContainsFunc(got, func(object string) bool { return strings.Contains(object, `WVA_SHARE_PROFILES: "true"`) }) {
			t.Errorf("%s: no object has it", name)
		}
	}
}
