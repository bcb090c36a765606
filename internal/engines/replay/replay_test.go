package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// growing returns a recorded cycle with its plan.
func growing(t *testing.T) record.Cycle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "wva", "testdata", "samples", "growing.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	plan := Decide(c).Plan
	c.Plan, c.Build = &plan, record.Build()
	return c
}

// withAnother returns c with a second model, a copy of the first under another name.
func withAnother(c record.Cycle) record.Cycle {
	s := c.Snapshots[0]
	s.Model = scaling.ModelKey{Namespace: "other", ID: s.Model.ID}
	s.Variants, s.Replicas = append([]scaling.Variant{}, s.Variants...), nil
	for i := range s.Variants {
		s.Variants[i].Key.Namespace, s.Variants[i].Model = "other", s.Model
	}
	c.Snapshots = append(append([]scaling.Snapshot{}, c.Snapshots...), s)
	plan := Decide(c).Plan
	c.Plan = &plan
	return c
}

func TestAPartIsDecidedAsTheWhole(t *testing.T) {
	c := withAnother(growing(t))
	model := c.Snapshots[0].Model
	part := Part(c, model)
	if len(part.Snapshots) != 1 || part.Cycle != c.Cycle || part.Build != c.Build {
		t.Errorf("the part has %d models of cycle %s by %s, want 1 of %s by %s", len(part.Snapshots), part.Cycle, part.Build, c.Cycle, c.Build)
	}
	if got := Decide(part).Plan; !record.SamePlan(got, *part.Plan) {
		t.Errorf("the part is decided to %s, its plan is %s", record.AppendPlan(nil, got), record.AppendPlan(nil, *part.Plan))
	}
	c.Plan = nil
	if Part(c, model).Plan != nil {
		t.Error("the part of a cycle without a plan has one")
	}
}

func TestAnExplanationIsThatOfTheDecision(t *testing.T) {
	c := withAnother(growing(t))
	verdict := Decide(c)
	for _, d := range verdict.Plan.Decisions {
		s, v, ok := Find(c, d.Variant)
		if !ok {
			t.Fatalf("there is no variant %s", d.Variant)
		}
		e := Explanation(c, verdict, s, v)
		if !e.Decided || e.Decision.Variant != d.Variant || e.Analysis.Model != d.Model || e.Snapshot.Model != d.Model {
			t.Errorf("%s: the explanation is of %s, with the analysis of %s", d.Variant, e.Decision.Variant, e.Analysis.Model)
		}
	}
	if _, _, ok := Find(c, scaling.VariantKey{Namespace: "demo", Name: "absent"}); ok {
		t.Error("a variant is found that is not there")
	}
}

func TestAnswersAreRefusedWhereThisProgramDecidesOtherwise(t *testing.T) {
	c := growing(t)
	key := c.Plan.Decisions[0].Variant
	a, err := Answers(c, key)
	if err != nil || a.Cycle != c.Cycle || a.Decided != c.Plan.Decisions[0].Target() {
		t.Errorf("the answers are of cycle %s, which decided %d: %v", a.Cycle, a.Decided, err)
	}
	decisions := append([]scaling.Decision{}, c.Plan.Decisions...)
	decisions[0] = decisions[0].Then(scaling.StageBounds, 17, scaling.ReasonBelowMin, "")
	c.Plan = &scaling.Plan{At: c.Plan.At, Decisions: decisions}
	if _, err := Answers(c, key); err == nil || !strings.Contains(err.Error(), "decided 17, and this program") {
		t.Errorf("got %v", err)
	}
}
