package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// kserve runs wva migrate kserve.
func kserve(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newMigrateCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(append([]string{"kserve"}, args...))
	command.SetOut(&out)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestTheWayOfAnLLMInferenceServiceIsPrinted(t *testing.T) {
	for _, name := range []string{"keda", "hpa", "none"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "kserve", name)
			out, err := kserve(t, "-f", path+".yaml")
			if name == "none" && err != nil || name != "none" && !errors.Is(err, errFinding) {
				t.Errorf("got %v", err)
			}
			goldentest.Generated(t, path+".txt", []byte(out), *update)
		})
	}
}

func TestServicesThatAreNoManifestsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services.yaml")
	for text, want := range map[string]string{
		"a: [":   "document 1: ",
		"a: 1\n": "Object 'Kind' is missing",
		"kind: LLMInferenceService\nspec: {scaling: {wva: {hpa: {}}}}\n---\n-": "document 2: ",
		// What is printed is copied into a shell.
		"kind: LLMInferenceService\nmetadata: {name: 'chat; id'}\n":                                   `document 1: LLMInferenceService: metadata.name "chat; id" is not accepted`,
		"kind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: '$(id)'}}]\n": `document 1: Pod: metadata.namespace "$(id)" is not accepted`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kserve(t, "-f", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want in it %q", text, err, want)
		}
	}
	if _, err := kserve(t, "-f", "testdata/kserve/nowhere.yaml"); err == nil || !strings.Contains(err.Error(), "nowhere.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestNoStepOfTheWayTakesAReplica draws services: whatever their bounds, no step leaves fewer replicas than run.
func TestNoStepOfTheWayTakesAReplica(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	needed := 0
	for range 2000 {
		s := kserveService{hpa: rng.IntN(2) == 0}
		for range 1 + rng.IntN(2) {
			w := kserveWorkload{role: "main", min: 1 + rng.Int64N(3), replicas: new(rng.Int64N(8))}
			w.max = w.min + rng.Int64N(8)
			if !s.hpa && rng.IntN(2) == 0 {
				w.idle = new(int64(0))
			}
			s.workloads = append(s.workloads, w)
		}
		for n, step := range s.steps() {
			for i, w := range s.workloads {
				if got := step.after[i].least(*w.replicas); got < *w.replicas {
					t.Fatalf("step %d of %+v leaves %d of %d replicas", n+1, w, got, *w.replicas)
				}
			}
		}
		for _, w := range s.workloads {
			if s.unheld(w) < *w.replicas {
				needed++
			}
		}
	}
	if needed == 0 {
		t.Error("the first step is never needed: this test sees nothing")
	}
}
