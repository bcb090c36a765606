package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
)

func TestADiagnosisIsABlockForEachStage(t *testing.T) {
	report := doctor.Report{Variants: 12, Found: 1, Stages: []doctor.StageReport{
		{Stage: "installation", Seen: []string{"the API server answers: Kubernetes v1.36.3"}},
		{Stage: "network"},
		{Stage: "scaler", Seen: []string{"12 variants"}, Findings: []doctor.Finding{{
			Code: "WVA0602", Object: "VariantAutoscaling chat/llama", Sentence: "The scaler does not read the decision",
			Evidence: []string{"HorizontalPodAutoscaler h reads another"}, Mend: "kubectl edit hpa h", Advice: "See the page.", Page: "https://example.com#wva0602",
			Others: strings.Split("abcdefghijk", ""),
		}}},
	}}
	var out strings.Builder
	if err := printDiagnosis(&out, console.Paint{}, report, "namespace chat"); err != nil {
		t.Fatal(err)
	}
	want := `installation
------------
√ the API server answers: Kubernetes v1.36.3

scaler
------
√ 12 variants
× WVA0602 VariantAutoscaling chat/llama: The scaler does not read the decision
    HorizontalPodAutoscaler h reads another
    the same of a, b, c, d, e, f, g, h, i, j and 1 more
    See the page.
    $ kubectl edit hpa h
    https://example.com#wva0602

namespace chat: 1 finding. Variants looked at: 12.
`
	if diff := cmp.Diff(out.String(), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestDoctorWithoutACluster(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	command := newRootCommand()
	command.SetOut(&out)
	command.SetErr(&progress)
	command.SetArgs([]string{"doctor", "--kubeconfig", kubeconfig})
	err := command.ExecuteContext(t.Context())
	if exitCode(err) != 1 || !strings.Contains(out.String(), "× WVA0101 The API server does not answer") || !strings.Contains(out.String(), "connection refused") {
		t.Errorf("got %v:\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "WVA0102") {
		t.Errorf("what follows from an API server that does not answer is named, too:\n%s", out.String())
	}
}
