package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// goldenCase is one recorded case of the published versions.
type goldenCase struct {
	ID       string
	Area     string
	Inputs   map[string]any
	Expected struct {
		Accepted        bool
		MessageContains string `json:"message_contains"`
		Error           bool
	}
}

// golden decodes the recorded cases of one area, or skips the test where they
// are not at hand.
func golden(t *testing.T, area string) []goldenCase {
	t.Helper()
	return goldentest.Read[goldenCase](t, goldentest.Files{Shared: []string{"contract.json"}}, area)
}

// goldenSpec returns the inputs of a case as fields of a spec.
func goldenSpec(t *testing.T, c goldenCase) string {
	t.Helper()
	var fields []string
	for key, value := range c.Inputs {
		if value == nil {
			continue // absent
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, key+": "+string(text))
	}
	return strings.Join(fields, ", ")
}

func TestGoldenAdmission(t *testing.T) {
	s := newServer(t)
	for _, area := range []string{"crd-cel", "crd-variantid", "crd-cost"} {
		for _, c := range golden(t, area) {
			t.Run(c.ID, func(t *testing.T) {
				_, errs := s.admit(t, object(t, "va", goldenSpec(t, c)))
				if (errs == "") != c.Expected.Accepted || !strings.Contains(errs, c.Expected.MessageContains) {
					t.Errorf("%v: got %q, want accepted %v, %q", c.Inputs, errs, c.Expected.Accepted, c.Expected.MessageContains)
				}
			})
		}
	}
}

// TestGoldenLoad reads the recorded load as an older version stored it, in the
// status. The published versions made numbers of it, 0 where it was none. One
// deviation, by the rule that load is collected each cycle and never stored: the
// numbers are not read at all. What holds is that no load, however broken,
// stands in the way of its object.
func TestGoldenLoad(t *testing.T) {
	s := newServer(t)
	for _, c := range golden(t, "load-parse") {
		t.Run(c.ID, func(t *testing.T) {
			if c.Expected.Error {
				t.Fatal("recorded an error, which no load was to be")
			}
			obj := object(t, "va", "")
			obj["status"] = map[string]any{"currentAlloc": map[string]any{
				"numReplicas": int64(1), "ttftAverage": c.Inputs["ttft"], "itlAverage": c.Inputs["itl"],
				"load": map[string]any{
					"arrivalRate": c.Inputs["arrivalRate"], "avgInputTokens": c.Inputs["avgInputTokens"], "avgOutputTokens": c.Inputs["avgOutputTokens"],
				},
			}}
			dropped, errs := s.admit(t, obj)
			if errs != "" {
				t.Errorf("refused with %s", errs)
			}
			if len(dropped) != 1 || dropped[0] != "status.currentAlloc.load" {
				t.Errorf("dropped %q, want the load alone", dropped)
			}
		})
	}
}
