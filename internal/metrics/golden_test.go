package metrics

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// TestGoldenLabelSanitize holds Label to what published versions did.
func TestGoldenLabelSanitize(t *testing.T) {
	for _, c := range goldentest.Read[struct{ Value string }, struct{ Label string }](t, "label-sanitize") {
		if got := Label(c.Inputs.Value); got != c.Expected.Label {
			t.Errorf("%s: Label(%q) = %q, want %q", c.ID, c.Inputs.Value, got, c.Expected.Label)
		}
	}
}
