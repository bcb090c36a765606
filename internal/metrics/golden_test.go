package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestGoldenLabelSanitize holds Label to what published versions did.
func TestGoldenLabelSanitize(t *testing.T) {
	shared := os.Getenv("WVA_SHARED")
	if shared == "" {
		t.Skip("WVA_SHARED not set")
	}
	content, err := os.ReadFile(filepath.Join(shared, "golden", "contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID, Area         string
		Inputs, Expected json.RawMessage // of other shapes in other areas
	}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range cases {
		if c.Area != "label-sanitize" {
			continue
		}
		found++
		var given struct{ Value string }
		var want struct{ Label string }
		if err := json.Unmarshal(c.Inputs, &given); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if got := Label(given.Value); got != want.Label {
			t.Errorf("%s: Label(%q) = %q, want %q", c.ID, given.Value, got, want.Label)
		}
	}
	if found == 0 {
		t.Fatal("no case of area label-sanitize")
	}
}
