package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// TestDoctorOnAPIServer looks at a cluster without a manager.
func TestDoctorOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	c.system(t)
	c.clinic(t)
	t.Run("what is wrong is named", c.diagnosed)
	t.Run("a manifest is looked at as if it were applied", c.diagnosedUnapplied)
	t.Run("a user with few rights", c.diagnosedWithFewRights)
	t.Run("a hundred variants", c.diagnosedHundred)
	t.Run("before an installation", c.diagnosedBefore)
}

const clinic = "clinic"

// clinic creates a variant whose HPA reads another metric, one without a target, and one that nothing
// scales.
func (c cluster) clinic(t *testing.T) {
	t.Helper()
	if err := c.Namespace(t.Context(), clinic); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deaf", "orphan"} {
		c.create(t, patient(name), bed(name))
	}
	c.create(t, patient("gone"), hearing("deaf", "another_metric"))
}

func patient(name string) *v1alpha1.VariantAutoscaling {
	return &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: clinic, Name: name, Labels: map[string]string{v1alpha1.LabelAcceleratorName: "L40S"}},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "org/" + name},
	}
}

// bed is a Deployment without pods.
func bed(name string) *appsv1.Deployment {
	app := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: clinic, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm"}}}},
		},
	}
}

// hearing is an HPA that reads an external metric of a variant.
func hearing(name, metric string) *autoscalingv2.HorizontalPodAutoscaler {
	one := resource.MustParse("1")
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: clinic, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}, MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: metric, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"variant_name": name}}},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &one},
			}}},
		},
	}
}

func (c cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// doctor runs the command and returns its report, which has findings where it exits with 1.
func (c cluster) doctor(t *testing.T, args ...string) doctor.Report {
	t.Helper()
	out, progress, err := c.run(t, "doctor", append(args, "-o", "json")...)
	var report doctor.Report
	if jsonErr := json.Unmarshal([]byte(out), &report); jsonErr != nil {
		t.Fatalf("%v, %v: %s%s", err, jsonErr, out, progress)
	}
	if found := errors.Is(err, errFinding); found != (report.Found > 0) || err != nil && !found {
		t.Errorf("got %v with %d findings", err, report.Found)
	}
	if !strings.Contains(progress, " s\n") {
		t.Errorf("progress is not shown: %q", progress)
	}
	return report
}

// found lists code and object of each finding.
func found(r doctor.Report) []string {
	out := []string{}
	for _, s := range r.Stages {
		for _, f := range s.Findings {
			out = append(out, strings.TrimSpace(string(f.Code)+" "+strings.TrimPrefix(f.Object, "VariantAutoscaling clinic/")))
		}
	}
	return out
}

func (c cluster) diagnosed(t *testing.T) {
	want := []string{"WVA0105", "WVA0201 gone", "WVA0601 orphan", "WVA0602 deaf"}
	if diff := cmp.Diff(found(c.doctor(t, "-n", clinic)), want); diff != "" {
		t.Errorf("findings (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(found(c.doctor(t, "-A", "--only", "wva0201,WVA0602")), []string{"WVA0201 gone", "WVA0602 deaf"}); diff != "" {
		t.Errorf("only two (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(found(c.doctor(t, "va/orphan", "-n", clinic, "--skip", "WVA0105")), []string{"WVA0601 orphan"}); diff != "" {
		t.Errorf("of one (-got +want):\n%s", diff)
	}
	c.held(t, "laptop_1", time.Second)
	if diff := cmp.Diff(found(c.doctor(t, "orphan", "-n", clinic)), []string{"WVA0106", "WVA0601 orphan"}); diff != "" {
		t.Errorf("a lease of another (-got +want):\n%s", diff)
	}

	out, _, err := c.run(t, "doctor", "deaf", "-n", clinic)
	if !errors.Is(err, errFinding) {
		t.Errorf("got %v, want a finding", err)
	}
	for _, want := range []string{
		"√ the API server answers: Kubernetes v1.", "× WVA0602 VariantAutoscaling clinic/deaf: The scaler does not read the decision of this variant\n",
		"none of its metrics is wva_desired_replicas", "$ kubectl edit horizontalpodautoscaler deaf -n clinic\n", "findings.md#wva0602\n", "namespace clinic: 2 findings. Variants looked at: 1.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
		exit int
	}{
		{[]string{"daef", "-n", clinic}, "there is no VariantAutoscaling daef in namespace clinic; did you mean deaf?", 1},
		{[]string{"deaf", "-n", "default"}, "there is no VariantAutoscaling deaf in namespace default; there is one in clinic: -n clinic", 1},
		{[]string{"--only", "WVA9999"}, `usage: --only "WVA9999": want codes of findings, such as WVA0601; all are in docs/reference/findings.md`, 2},
		{[]string{"deaf", "-A"}, "usage: doctor deaf -A: want one VariantAutoscaling, or all namespaces", 2},
		{[]string{"-n", clinic, "-A"}, "usage: -n clinic -A: want one namespace, or all", 2},
		{[]string{"--pre", "deaf"}, "usage: --pre looks at no VariantAutoscaling: want neither a name nor -f", 2},
		{[]string{"-o", "yaml"}, `usage: --output "yaml": want text or json`, 2},
		{[]string{"a", "b"}, `usage: doctor takes the name of one VariantAutoscaling at most, have ["a" "b"]`, 2},
	} {
		out, _, err := c.run(t, "doctor", tt.args...)
		if err == nil || err.Error() != tt.want || exitCode(err) != tt.exit || out != "" {
			t.Errorf("%v: got %v (exit %d), want %s; wrote %s", tt.args, err, exitCode(err), tt.want, out)
		}
	}
}

func (c cluster) diagnosedUnapplied(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hpa := write("hpa.yaml", `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: orphan, namespace: clinic}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: orphan}
  maxReplicas: 5
  metrics:
  - type: External
    external:
      metric: {name: wva_desired_replicas, selector: {matchLabels: {variant_name: orphan}}}
      target: {type: AverageValue, averageValue: "1"}
`)
	if got := found(c.doctor(t, "orphan", "-n", clinic, "-f", hpa, "--skip", "WVA0105,WVA0106")); len(got) > 0 {
		t.Errorf("with an HPA that is not applied yet: %v, want nothing", got)
	}
	va := write("va.yaml", `apiVersion: llmd.ai/v1alpha1
kind: VariantAutoscaling
metadata: {name: second}
spec: {modelID: org/second, accelerator: L40S, scaleTargetRef: {kind: Deployment, name: orphan}}
`)
	if diff := cmp.Diff(found(c.doctor(t, "second", "-n", clinic, "-f", va, "--skip", "WVA0105,WVA0106")), []string{"WVA0207 second"}); diff != "" {
		t.Errorf("a second variant of a target (-got +want):\n%s", diff)
	}
	bad := write("bad.yaml", "apiVersion: llmd.ai/v1alpha1\nkind: VariantAutoscaling\nmetadata: {name: bad}\nspec: {modelID: m, maxReplica: 3}\n")
	_, _, err := c.run(t, "doctor", "-n", clinic, "-f", bad)
	if exitCode(err) != 2 || !strings.Contains(err.Error(), "maxReplica") {
		t.Errorf("got %v, want bad usage that names the field", err)
	}
}

// diagnosedWithFewRights asks as an account that may read VariantAutoscalings and Deployments alone.
func (c cluster) diagnosedWithFewRights(t *testing.T) {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: clinic, Name: "few"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"llmd.ai"}, Resources: []string{"variantautoscalings"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "replicasets"}, Verbs: []string{"list"}},
	}}
	c.create(t, role, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "few"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "intern"}},
	})
	report := c.doctor(t, "-n", clinic, "--kubeconfig", c.as(t, "intern"))
	got := found(report)
	if !slices.Contains(got, "WVA0201 gone") {
		t.Errorf("what could be looked at is not named: %v", got)
	}
	if slices.Contains(got, "WVA0601 orphan") {
		t.Errorf("scalers that could not be listed count as none: %v", got)
	}
	var rights []string
	for _, s := range report.Stages {
		for _, f := range s.Findings {
			if f.Code == "WVA0102" {
				rights = append(rights, f.Evidence[len(f.Evidence)-1])
			}
		}
	}
	for _, want := range []string{"list horizontalpodautoscalers.autoscaling", "list pods", "list networkpolicies.networking.k8s.io"} {
		if !slices.Contains(rights, "the right that is missing: "+want) {
			t.Errorf("the right to %s is not named in %q", want, rights)
		}
	}
}

// diagnosedHundred looks at a hundred variants within its time.
func (c cluster) diagnosedHundred(t *testing.T) {
	for i := range 100 {
		name := "many-" + string(rune('a'+i/10)) + string(rune('a'+i%10))
		c.create(t, patient(name), bed(name))
	}
	begun := time.Now()
	report := c.doctor(t, "-A")
	if took := time.Since(begun); took > doctorWithin {
		t.Errorf("took %s, want %s at most", took, doctorWithin)
	} else {
		t.Logf("103 variants took %s", took)
	}
	if report.Variants < 103 {
		t.Errorf("looked at %d variants, want 103", report.Variants)
	}
	if n := len(found(report)); n < 103 {
		t.Errorf("%d findings, want one of each variant that nothing scales: %v", n, found(report))
	}
}

func (c cluster) diagnosedBefore(t *testing.T) {
	if got := found(c.doctor(t, "--pre")); len(got) > 0 {
		t.Errorf("an administrator may install, and doctor found %v", got)
	}
}
