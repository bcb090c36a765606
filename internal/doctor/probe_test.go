package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// probeReport returns the stage of the probe of a case.
func probeReport(c Case) StageReport {
	c.Now = noon
	stages := Diagnose(c, Filter{}).Stages
	return stages[len(stages)-1]
}

func TestAProbeSaysHowFarItCame(t *testing.T) {
	got := probeReport(Case{Probe: &Probe{
		Variant: scaling.VariantKey{Namespace: "prod", Name: "llama"}, TTFT: 750, Objective: 500,
		Steps: []Probed{
			{Step: ProbeDecided, Result: ProbePassed, Seconds: 0.25, Says: []string{"3 replicas are decided"}},
			{Step: ProbeServed, Result: ProbeSkipped, Says: []string{"the answer of External Metrics"}},
			Failing(ProbeRead, map[string]string{"SCALERKIND": "horizontalpodautoscaler", "SCALER": "it's"}, "it reads nothing"),
		},
	}})
	if diff := cmp.Diff([]string{"3 replicas are decided (0.2 s)", "not probed: the answer of External Metrics"}, got.Seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if len(got.Findings) != 2 || got.Findings[0].Code != "WVA0905" || got.Findings[1].Code != "WVA0910" {
		t.Fatalf("got %+v, want WVA0905 and WVA0910", got.Findings)
	}
	read := got.Findings[0]
	if want := `kubectl describe horizontalpodautoscaler 'it'\''s' -n prod`; read.Mend != want || read.Object != "VariantAutoscaling prod/llama" || !slices.Equal(read.Evidence, []string{"it reads nothing"}) {
		t.Errorf("got %+v, want the command %s", read, want)
	}
	if want := "its TTFT was 750 ms, and the objective is 500 ms"; got.Findings[1].Evidence[0] != want {
		t.Errorf("got %q, want %q", got.Findings[1].Evidence[0], want)
	}
}

func TestARequestWithinItsObjectiveOrWithoutOneIsNoFinding(t *testing.T) {
	for _, p := range []Probe{{TTFT: 400, Objective: 500}, {TTFT: 400}, {Objective: 500}} {
		if got := probeReport(Case{Probe: &p}); len(got.Findings) > 0 {
			t.Errorf("%+v: got %+v", p, got.Findings)
		}
	}
}

// TestEveryStepThatMayFailHasAFinding: a step without one would stop the program.
func TestEveryStepThatMayFailHasAFinding(t *testing.T) {
	for step, code := range probeFindings {
		got := probeReport(Case{Probe: &Probe{Steps: []Probed{Failing(step, nil, "why")}}})
		if len(got.Findings) != 1 || got.Findings[0].Code != code {
			t.Errorf("%s: got %+v, want %s", step, got.Findings, code)
		}
	}
}

func TestWhatAProbeLeftIsNamedOnceItsTimeIsOver(t *testing.T) {
	left := func(until time.Time) Leftover {
		return Leftover{Kind: "Deployment", Namespace: "prod", Name: "wva-probe-1", Of: "llama", Until: until}
	}
	for _, tt := range []struct {
		name  string
		left  Leftover
		ahead time.Duration // of the API server's clock
		want  string
	}{
		{"it runs", left(noon.Add(time.Minute)), 0, ""},
		{"it is being removed", left(noon.Add(-10 * time.Second)), 0, ""},
		{"it was killed", left(noon.Add(-time.Minute)), 0, "Deployment prod/wva-probe-1, of a probe of llama: its probe was to end at 2026-11-25T11:59:00Z"},
		{"it does not say until when", left(time.Time{}), 0, "it does not say until when its probe was to last"},
		{"the clock of the API server counts", left(noon.Add(-time.Minute)), -2 * time.Minute, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Case{Left: []Leftover{tt.left}}
			c.Clocks.Server = Offset{By: tt.ahead, Known: true}
			got := probeReport(c).Findings
			switch {
			case tt.want == "" && len(got) == 0:
			case tt.want == "" || len(got) != 1 || got[0].Code != "WVA0907" || !strings.Contains(got[0].Evidence[0], tt.want):
				t.Errorf("got %+v, want %q", got, tt.want)
			case !strings.Contains(got[0].Mend, "-n prod -l wva.llmd.ai/probe"):
				t.Errorf("the command is %s", got[0].Mend)
			}
		})
	}
}
