package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/docs"
)

// TestManifestsOfThePages checks every manifest that a page shows as wva config
// check does for a user.
func TestManifestsOfThePages(t *testing.T) {
	pages, err := docs.Read(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := newSchema()
	if err != nil {
		t.Fatal(err)
	}
	f := configCheckFlags{namespace: "default", systemNamespace: "workload-variant-autoscaler-system"}
	checked := 0
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Language != "yaml" || !strings.Contains("\n"+b.Text, "\nkind:") {
				continue
			}
			read, err := readManifests([]string{"-"}, strings.NewReader(b.Text))
			if err != nil {
				t.Errorf("%s:%d: %v", p.Path, b.Line, err)
				continue
			}
			report, err := f.check(t.Context(), read, objects)
			if err != nil {
				t.Fatal(err)
			}
			checked += report.ConfigMaps + report.VariantAutoscalings
			for _, finding := range report.Findings {
				t.Errorf("%s:%d: %s %s: %s: %s", p.Path, b.Line, finding.Kind, finding.Name, finding.Field, finding.Message)
			}
		}
	}
	if checked == 0 {
		t.Error("no manifest was checked")
	}
}
