package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// admission is what came out of a case: whether an object is accepted, and what a refusal says.
type admission struct {
	Accepted        bool
	MessageContains string `json:"message_contains"`
}

func goldenAdmissions(t *testing.T) []goldentest.Case[map[string]any, admission] {
	t.Helper()
	return goldentest.Read[map[string]any, admission](t, "crd-cel", "crd-variantid", "crd-cost")
}

// goldenSpec returns the inputs of a case as fields of a spec.
func goldenSpec(t *testing.T, inputs map[string]any) string {
	t.Helper()
	var fields []string
	for key, value := range inputs {
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
	for _, c := range goldenAdmissions(t) {
		t.Run(c.ID, func(t *testing.T) {
			_, errs := s.admit(t, object(t, "va", goldenSpec(t, c.Inputs)))
			if (errs == "") != c.Expected.Accepted || !strings.Contains(errs, c.Expected.MessageContains) {
				t.Errorf("%v: got %q, want accepted %v, %q", c.Inputs, errs, c.Expected.Accepted, c.Expected.MessageContains)
			}
		})
	}
}

// TestGoldenLoad reads the recorded load as an older version stored it, in the
// status. The published versions made numbers of it, 0 where it was none. One
// deviation, by the rule that load is collected each cycle and never stored: the
// numbers are not read at all. What holds is that no load, however broken,
// stands in the way of its object.
func TestGoldenLoad(t *testing.T) {
	s := newServer(t)
	type load struct{ ArrivalRate, AvgInputTokens, AvgOutputTokens, TTFT, ITL string }
	for _, c := range goldentest.Read[load, struct{ Error bool }](t, "load-parse") {
		t.Run(c.ID, func(t *testing.T) {
			if c.Expected.Error {
				t.Fatal("recorded an error, which no load was to be")
			}
			obj := object(t, "va", "")
			obj["status"] = map[string]any{"currentAlloc": map[string]any{
				"numReplicas": int64(1), "ttftAverage": c.Inputs.TTFT, "itlAverage": c.Inputs.ITL,
				"load": map[string]any{
					"arrivalRate": c.Inputs.ArrivalRate, "avgInputTokens": c.Inputs.AvgInputTokens, "avgOutputTokens": c.Inputs.AvgOutputTokens,
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
