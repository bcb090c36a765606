package lab

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// testProfile has a small KV cache.
func testProfile() serving.Profile { return simtest.Profile(16384) }

// testScenario is one model with one variant under a synthetic workload.
func testScenario(t *testing.T, profile string) Scenario {
	t.Helper()
	m := DefaultModel()
	m.Sized = false
	v := DefaultVariant("default", testProfile())
	v.Replicas = 1
	v.StartUp = sim.StartUp{Mean: 30 * time.Second, Deviation: 5 * time.Second}
	v.Spec.Bounds.Max = 16
	m.Spec.Variants = []sim.Variant{v}
	return Scenario{Name: "test", Workload: testGenerator(t, profile), Models: []Model{m}, Target: 0.95}
}

func testGenerator(t *testing.T, rates string) Source {
	t.Helper()
	return Generator(simtest.Rates(t, rates), simtest.ShareGPT(t))
}

// slowed makes every replica of s so many times as slow and its objectives as wide:
// what it can do is the same with fewer requests.
func slowed(s Scenario, by float64) Scenario {
	for i := range s.Models {
		slo := &s.Models[i].Spec.SLO
		slo.TTFT, slo.ITL = slo.TTFT*by, slo.ITL*by
		for j := range s.Models[i].Spec.Variants {
			p := &s.Models[i].Spec.Variants[j].Profile
			*p = simtest.Slower(*p, by)
		}
	}
	return s
}

func testChoices(t *testing.T, texts ...string) []Choice {
	t.Helper()
	choices, err := ReadChoices(texts)
	if err != nil {
		t.Fatal(err)
	}
	return choices
}

// collect reads a pass over a workload.
func collect(t *testing.T, requests iter.Seq2[workload.Request, error]) []workload.Request {
	t.Helper()
	var all []workload.Request
	for request, err := range requests {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, request)
	}
	return all
}

// testFile writes a file and returns its name.
func testFile(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// testTrace is a log with requests at a constant pace.
func testTrace(t *testing.T, requests int, perSecond float64) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	for i := range requests {
		fmt.Fprintf(&b, "%.3f,%d,%d\n", float64(i)/perSecond, 50+i%200, 10+i%40)
	}
	return testFile(t, "trace.csv", b.String())
}

// threeModels share one workload and a stock of six accelerators.
func threeModels(t *testing.T) Scenario {
	t.Helper()
	s := testScenario(t, "constant(9,10m)")
	s.Models = nil
	for i, id := range []string{"a", "b", "c"} {
		m := DefaultModel()
		m.Sized = false
		m.Spec.Key, m.Share = scaling.ModelKey{Namespace: "default", ID: id}, float64(i+1)
		v := DefaultVariant("default", testProfile())
		v.Spec.Key.Name, v.Replicas = id, 1
		m.Spec.Variants = []sim.Variant{v}
		s.Models = append(s.Models, m)
	}
	s.Fleet.Nodes = []sim.Nodes{{Accelerator: "L40S", Count: 3, GPUs: 2}}
	return s
}
