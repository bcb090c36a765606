package discovery

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// goldenCase is one recorded case of the published version.
type goldenCase struct {
	ID     string
	Area   string
	Inputs struct {
		VariantID    string
		Desired, Min int
		Max          *int
	}
	Expected struct {
		Name    string
		Clamped int
		Changed bool
	}
}

// golden decodes the recorded cases of one area, or skips the test where they
// are not at hand.
func golden(t *testing.T, area string) []goldenCase {
	t.Helper()
	shared := os.Getenv("WVA_SHARED")
	if shared == "" {
		t.Skip("WVA_SHARED not set")
	}
	content, err := os.ReadFile(filepath.Join(shared, "golden", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(content, &raw); err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	for _, r := range raw {
		var head struct{ Area string }
		if err := json.Unmarshal(r, &head); err != nil {
			t.Fatal(err)
		}
		if head.Area != area {
			continue // of another shape
		}
		var c goldenCase
		if err := json.Unmarshal(r, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("no golden case of area %s", area)
	}
	return cases
}

func TestGoldenNameSuggestions(t *testing.T) {
	for _, c := range golden(t, "name-suggest") {
		if got := nameFor(c.Inputs.VariantID); got != c.Expected.Name {
			t.Errorf("%s: got %q, want %q", c.ID, got, c.Expected.Name)
		}
	}
}

func TestGoldenBounds(t *testing.T) {
	for _, c := range golden(t, "bounds") {
		spec := v1alpha1.VariantAutoscalingSpec{MinReplicas: int32(c.Inputs.Min)}
		if c.Inputs.Max != nil {
			spec.MaxReplicas = new(int32(*c.Inputs.Max))
		}
		got := bounds(spec).Clamp(c.Inputs.Desired)
		if got != c.Expected.Clamped || got != c.Inputs.Desired != c.Expected.Changed {
			t.Errorf("%s: got %d, want %d, changed %v", c.ID, got, c.Expected.Clamped, c.Expected.Changed)
		}
	}
}
