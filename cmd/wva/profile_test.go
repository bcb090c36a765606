package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// profileOutput runs wva profile on the recorded cycle and returns what it wrote.
func profileOutput(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := executed(t, newProfileCommand(), "", append([]string{"--record", learnedFile}, args...)...)
	if err != nil || stderr != "" {
		t.Fatalf("%q: %v, %q", args, err, stderr)
	}
	return stdout
}

func TestProfileShowsWhatWasLearned(t *testing.T) {
	for name, args := range map[string][]string{
		"list":                 {"-n", "demo"},
		"learned after like":   {"llama-l40s"},
		"learned after stated": {"va/llama-h100"},
		"like another":         {"llama-a100"},
		"nothing":              {"qwen"},
		"yaml":                 {"llama-l40s", "-o", "yaml"},
		"plan":                 {"llama-l40s", "-o", "plan"},
		"simulate":             {"llama-l40s", "-o", "simulate"},
		"queue":                {"llama-l40s", "-o", "queue"},
		"json":                 {"llama-l40s", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "profile", strings.ReplaceAll(name, " ", "-")+".txt")
			goldentest.Generated(t, file, []byte(profileOutput(t, args...)), *update)
		})
	}
}

// TestProfileIsWhatTheOthersTake gives what was exported to what reads it.
func TestProfileIsWhatTheOthersTake(t *testing.T) {
	t.Run("a VariantAutoscaling", func(t *testing.T) {
		spec := "  " + strings.ReplaceAll(strings.TrimSpace(profileOutput(t, "llama-l40s", "-o", "yaml")), "\n", "\n  ")
		manifest := "apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nmetadata: {name: llama-l40s, namespace: demo}\nspec:\n" +
			"  modelID: meta/llama-3.1-8b\n  scaleTargetRef: {kind: Deployment, name: llama-l40s}\n" + spec + "\n"
		objects, err := newSchema()
		if err != nil {
			t.Fatal(err)
		}
		read, err := readManifests([]string{"-"}, strings.NewReader(manifest))
		if err != nil {
			t.Fatal(err)
		}
		report, err := configCheckFlags{namespace: "demo", systemNamespace: "wva"}.check(t.Context(), read, objects)
		if err != nil || report.VariantAutoscalings != 1 || len(report.Findings) > 0 {
			t.Errorf("%+v, %v of\n%s", report, err, manifest)
		}
	})
	t.Run("wva queue", func(t *testing.T) {
		args := append(strings.Fields(profileOutput(t, "llama-l40s", "-o", "queue")), "--itl", "25", "-o", "json")
		stdout, _, err := executed(t, newQueueCommand(), "", args...)
		var answer queueAnswer
		if err := errors.Join(err, json.Unmarshal([]byte(stdout), &answer)); err != nil || answer.Size == nil || !(answer.Size.Rate > 1) {
			t.Errorf("%v: %s", err, stdout)
		}
	})
	t.Run("wva plan", func(t *testing.T) {
		entry := strings.ReplaceAll(profileOutput(t, "llama-l40s", "-o", "plan"), "\n", "\n      ")
		system := "system:\n  acceleratorData:\n    accelerators: [{name: L40S, type: L40S, multiplicity: 1, cost: 10}]\n  modelData:\n    models:\n      " + entry + `
  serviceClassData:
    serviceClasses: [{name: Premium, priority: 1, modelTargets: [{model: meta/llama-3.1-8b, slo-itl: 25}]}]
  serverData:
    servers: [{name: chat, class: Premium, model: meta/llama-3.1-8b, minNumReplicas: 1, currentAlloc: {load: {arrivalRate: 60, avgInTokens: 412, avgOutTokens: 159}}}]
  optimizerData: {optimizer: {unlimited: true}}
`
		if _, err := config.Parse([]byte(system)); err != nil {
			t.Errorf("%v of\n%s", err, system)
		}
	})
	t.Run("wva simulate", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "profile.yaml")
		if err := os.WriteFile(file, []byte(profileOutput(t, "llama-l40s", "-o", "simulate")), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := lab.ReadProfiles(file)
		if err != nil || len(read) != 1 || read[0].Name != "llama-l40s" || read[0].KVCacheTokens != 40960 {
			t.Errorf("%+v, %v", read, err)
		}
	})
}

func TestProfileDrawsAPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.svg")
	profileOutput(t, "llama-h100", "--svg", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"<svg", ">stated<", ">fit<", ">90 %<", ">measured<", "llama-h100, requests of 412 tokens"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the picture has no %s", part)
		}
	}
	if got := strings.Count(string(text), "<circle"); got != 8 {
		t.Errorf("the picture has %d measured points, want 4 bands of ITL and of TTFT", got)
	}
}

func TestProfileSaysWhyThereIsNone(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // of the error
		code int
	}{
		{"--record testdata/learned.jsonl lama-l40s", "the cycle has no VariantAutoscaling lama-l40s; did you mean llama-l40s?", 1},
		{"--record testdata/learned.jsonl x -n other", "the cycle has no VariantAutoscaling x in namespace other", 1},
		{"--record testdata/learned.jsonl qwen -o yaml", "there is no profile of demo/qwen: the lengths of its requests are not known", 1},
		{"--record testdata/learned.jsonl qwen --svg x.svg", "there is no picture of demo/qwen: the lengths of its requests are not known", 1},
		{"--record testdata/learned.jsonl --cycle x", `reading testdata/learned.jsonl: there is no cycle "x"`, 1},
		{"--record testdata/absent.jsonl", "reading testdata/absent.jsonl: open testdata/absent.jsonl: no such file or directory", 1},
		{"--record - qwen", "reading -: there is no cycle", 1},
		{"hpa/x", `usage: profile "hpa/x": want the name of a VariantAutoscaling, NAME or va/NAME`, 2},
		{"a b", `usage: profile takes the name of one VariantAutoscaling, or none for all, have ["a" "b"]`, 2},
		{"-o xml", `usage: --output "xml": want table, json, yaml, queue, plan or simulate`, 2},
		{"-o yaml", "usage: --output yaml is of one VariantAutoscaling: want its name", 2},
		{"--svg x.svg", "usage: --svg is of one VariantAutoscaling: want its name", 2},
		{"x --svg=", "usage: --svg is empty: want a file", 2},
		{"x -A", "usage: --all-namespaces lists all: want neither a name nor --namespace with it", 2},
		{"-A -n x", "usage: --all-namespaces lists all: want neither a name nor --namespace with it", 2},
		{"--cycle x", "usage: --cycle needs --record", 2},
	} {
		stdout, _, err := executed(t, newProfileCommand(), "", strings.Fields(tt.args)...)
		if err == nil || err.Error() != tt.want || errors.Is(err, errUsage) != (tt.code == 2) || stdout != "" {
			t.Errorf("%s: got %v, want %s; wrote %s", tt.args, err, tt.want, stdout)
		}
	}
}

// TestProfileAsksTheManager gets the decisions of a namespace, and shows the same as of the record.
func TestProfileAsksTheManager(t *testing.T) {
	text, err := os.ReadFile(learnedFile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	verdict := replay.Decide(c)
	var all []explain.Explanation
	for _, s := range c.Snapshots {
		for _, v := range s.Variants {
			all = append(all, replay.Explanation(c, verdict, s, v))
		}
	}
	var asked []string
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		_ = json.NewEncoder(w).Encode(all)
	}))
	defer manager.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n" +
		"contexts: [{name: c, context: {cluster: c, namespace: demo}}]\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) string {
		t.Helper()
		stdout, _, err := executed(t, newProfileCommand(), "", append([]string{"--kubeconfig", kubeconfig, "--manager", manager.URL}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return stdout
	}
	if diff := cmp.Diff(profileOutput(t, "llama-l40s", "-o", "json"), ask("llama-l40s", "-o", "json")); diff != "" {
		t.Errorf("of the manager and of the record (-record +manager):\n%s", diff)
	}
	var list []profiled
	if err := json.Unmarshal([]byte(ask("-A", "-o", "json")), &list); err != nil || len(list) != 4 || list[2].From != profile.LearnedAfterLike {
		t.Errorf("all namespaces: %v, %+v", err, list)
	}
	all = nil
	if got, want := ask(), "there is no VariantAutoscaling that was decided on in namespace demo\n"; got != want {
		t.Errorf("of none: got %q, want %q", got, want)
	}
	if want := []string{"/debug/decisions/demo", "/debug/decisions", "/debug/decisions/demo"}; !slices.Equal(asked, want) {
		t.Errorf("the manager was asked for %q, want %q", asked, want)
	}
}

// TestWhereASharedProfileComesFromIsSaid without the names of other namespaces.
func TestWhereASharedProfileComesFromIsSaid(t *testing.T) {
	for want, s := range map[string]profile.Shown{
		"what replicas like its own showed in another namespace; of its own nothing was seen": {From: profile.IsShared, Namespaces: 1},

		"learned from 4.0 windows of its replicas, beginning with what replicas like its own showed in the median of 3 other namespaces": {
			From: profile.LearnedAfterShared, Namespaces: 3, Samples: 4,
		},
	} {
		if got := (profiled{Shown: s}).about(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
