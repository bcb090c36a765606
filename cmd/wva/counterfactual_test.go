package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// growing is a recorded cycle with its plan.
func growing(t *testing.T) record.Cycle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "samples", "growing.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	plan := replay.Decide(c).Plan
	c.Plan, c.Build = &plan, record.Build()
	return c
}

// asked explains demo/llama-8b-l40s of a manager that has a cycle, or answers for it with a status.
func asked(t *testing.T, c record.Cycle, status int) explained {
	t.Helper()
	key := scaling.VariantKey{Namespace: "demo", Name: "llama-8b-l40s"}
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := "/debug/decisions/" + key.String(); {
		case r.URL.Path == path:
			_ = json.NewEncoder(w).Encode(explain.Explanation{Cycle: c.Cycle, At: c.Now, Variant: scaling.Variant{Key: key}})
		case r.URL.Path == path+"/cycle" && status == http.StatusOK:
			_, _ = w.Write(c.Append(nil))
		default:
			http.Error(w, "the cycle is for others", status)
		}
	}))
	defer manager.Close()
	f := explainFlags{managerFlags: managerFlags{manager: manager.URL}, why: true}
	e, text, err := f.explained(t.Context(), &rest.Config{}, nil, client.ObjectKey{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		t.Fatal(err)
	}
	e.answerFrom(t.Context(), text)
	return e
}

func TestExplainAnswersWhyFromTheCycleOfTheManager(t *testing.T) {
	c := growing(t)
	e := asked(t, c, http.StatusOK)
	if e.Counterfactuals == nil || e.Counterfactuals.Cycle != c.Cycle || e.Counterfactuals.Fewer.Why != counterfactual.WhyLoad || e.Counterfactuals.Grows.Kind != counterfactual.TurnFound {
		t.Fatalf("%+v %s", e.Counterfactuals, e.Unanswered)
	}
	text := e.report(c.Now)
	for _, want := range []string{"\n  Why not fewer\n", "\n  Why not llama-8b-h100\n", "\n  What would change it\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if body, err := json.Marshal(e); err != nil || !strings.Contains(string(body), `"counterfactuals":{"cycle":"`) || !strings.Contains(string(body), `"grows":{"kind":"found"`) {
		t.Errorf("%v: %s", err, body)
	}
}

func TestAnExplanationWithoutTheCycleSaysWhy(t *testing.T) {
	c := growing(t)
	other := c
	plan := *c.Plan
	plan.Decisions = nil
	for _, d := range c.Plan.Decisions {
		plan.Decisions = append(plan.Decisions, d.Then(scaling.StageBounds, 7, scaling.ReasonBelowMin, "minReplicas is 7"))
	}
	other.Plan, other.Build = &plan, "v9"
	for _, tc := range []struct {
		name   string
		cycle  record.Cycle
		status int
		want   string
	}{
		{"a manager without the page", c, http.StatusNotFound, "404"},
		{"a reader without the right", c, http.StatusForbidden, "the cycle is for others"},
		{"a manager that decides otherwise", other, http.StatusOK, "of version v9 decided 7, and this program"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := asked(t, tc.cycle, tc.status)
			if e.Counterfactuals != nil || !strings.Contains(e.Unanswered, tc.want) || !strings.Contains(e.report(c.Now), tc.want) {
				t.Errorf("%+v; %q, want %q", e.Counterfactuals, e.Unanswered, tc.want)
			}
		})
	}
}

func TestDecideSaysWhyOfEveryVariant(t *testing.T) {
	file := filepath.Join("testdata", "samples", "growing.json")
	out, _, err := executed(t, newDecideCommand(), "", "-f", file, "--why")
	if err != nil || strings.Count(out, "\n  Why not fewer\n") != 2 || strings.Count(out, "\n  What would change it\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	out, _, err = executed(t, newDecideCommand(), "", "-f", file, "--why", "-o", "json")
	var got struct {
		Plan            scaling.Plan             `json:"plan"`
		Counterfactuals []counterfactual.Answers `json:"counterfactuals"`
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Plan.Decisions) != 2 || len(got.Counterfactuals) != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
