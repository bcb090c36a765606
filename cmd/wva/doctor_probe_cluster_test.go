package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// TestProbeOnAPIServer probes with the HPA controller of Kubernetes and an External Metrics API of the
// test. No manager runs: the status of each object has the decision.
func TestProbeOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	c.system(t)
	c.externalMetrics(t)
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystemNamespace, Name: managerAccount}})
	for _, tt := range []struct {
		name    string
		variant string
		change  func(t *testing.T, v *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler)
		args    []string
		steps   string
		codes   string
		says    string
	}{
		{
			name: "a number of the probe arrives", variant: "tagged",
			steps: "allowed decided served read set removed", says: "has set the target of the probe from 1 to 2",
		},
		{
			name: "an adapter hands on the decision", variant: "adapter",
			steps: "allowed decided served read set removed", says: "has set the target of the probe from 1 to 3",
		},
		{
			name: "a decision of one replica arrives as a reduction", variant: "adapter-one",
			steps: "allowed decided served read set removed", says: "has set the target of the probe from 2 to 1",
		},
		{
			name: "a selector of two variants", variant: "twice", change: motionless,
			steps: "allowed decided served!", codes: "WVA0904", says: "has 2 items of wva_desired_replicas, which an HPA adds up to 6",
		},
		{
			name: "an old number", variant: "stale", change: motionless,
			steps: "allowed decided served!", codes: "WVA0904", says: "the answer is 9, and 3 is decided",
		},
		{
			name: "no number", variant: "silent",
			steps: "allowed decided served!", codes: "WVA0904", says: "no item of wva_desired_replicas for the selector variant_name=silent",
		},
		{
			name: "a metric that is not served", variant: "unserved",
			steps: "allowed decided served!", codes: "WVA0904", says: "there is no such metric here",
		},
		{
			name: "an HPA that multiplies", variant: "by-value",
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler) {
				motionless(t, v, h)
				h.Spec.Behavior.ScaleUp = nil
				target := &h.Spec.Metrics[0].External.Target
				*target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: target.AverageValue}
			},
			steps: "allowed decided served read set removed", says: "by AverageValue in place of Value",
		},
		{
			name: "no decision", variant: "undecided",
			change: func(_ *testing.T, v *v1alpha1.VariantAutoscaling, _ *autoscalingv2.HorizontalPodAutoscaler) {
				v.Status.DesiredOptimizedAlloc = nil
			},
			steps: "allowed decided!", codes: "WVA0903", says: "its status has no decision",
		},
		{
			name: "no external metric", variant: "by-cpu",
			change: func(_ *testing.T, _ *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
				}}}
			},
			steps: "prepared!", codes: "WVA0901", says: "HorizontalPodAutoscaler by-cpu reads no external metric",
		},
		{
			name: "the manager scales it and may not", variant: "own",
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.ScaleTargetRef.Name = "another"
				status := v.Status
				v.Annotations = map[string]string{v1alpha1.AnnotationActuation: string(scaling.ActuationScale)}
				if err := c.Client.Update(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				v.Status = status
			},
			steps: "decided settable settable!", codes: "WVA0908", says: managerAccount + ", may not get deployments.apps/scale",
		},
		{
			name: "advice", variant: "advised",
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, _ *autoscalingv2.HorizontalPodAutoscaler) {
				status := v.Status
				v.Annotations = map[string]string{v1alpha1.AnnotationActuation: string(scaling.ActuationAdvisory)}
				if err := c.Client.Update(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				v.Status = status
			},
			steps: "prepared!", codes: "WVA0901", says: "decisions on it are advice",
		},
		{
			name: "no scaler", variant: "unscaled",
			change: func(_ *testing.T, _ *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler) {
				h.Spec.ScaleTargetRef.Name = "another"
			},
			steps: "prepared!", codes: "WVA0901", says: "No HorizontalPodAutoscaler and no ScaledObject scales Deployment unscaled",
		},
		{
			name: "another probe runs", variant: "busy",
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, _ *autoscalingv2.HorizontalPodAutoscaler) {
				c.left(t, v.Namespace, v.Name, time.Now().Add(time.Minute))
			},
			steps: "prepared!", codes: "WVA0901", says: "another probe of busy runs, until 20",
		},
		{
			name: "an earlier probe was killed", variant: "tagged-again",
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, _ *autoscalingv2.HorizontalPodAutoscaler) {
				c.left(t, v.Namespace, v.Name, time.Now().Add(-time.Hour))
				report := c.doctor(t, "-n", v.Namespace, "--only", "WVA0907")
				if got := found(report); len(got) != 1 || got[0] != "WVA0907" {
					t.Errorf("without a probe it names %v, want WVA0907", got)
				}
			},
			steps: "prepared allowed decided served read set removed", says: "removed what an earlier probe left: Deployment probe-tagged-again/wva-probe-",
		},
		{
			name: "a gateway that answers", variant: "tagged-gateway", args: []string{"--gateway", completions(t, http.StatusOK), "--model", "small"},
			steps: "allowed decided served read set removed requested", says: "a request to small was answered, with a TTFT of",
		},
		{
			name: "a gateway that does not", variant: "tagged-error", args: []string{"--gateway", completions(t, http.StatusBadGateway)},
			steps: "allowed decided served read set removed requested!", codes: "WVA0909", says: "502",
		},
		{
			name: "a model without a replica", variant: "tagged-zero", args: []string{"--gateway", completions(t, http.StatusOK)},
			change: func(t *testing.T, v *v1alpha1.VariantAutoscaling, _ *autoscalingv2.HorizontalPodAutoscaler) {
				c.scaleTo(t, v.Namespace, v.Name, 0)
			},
			steps: "allowed decided served read set removed requested-", says: "a request might start one",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := c.probed(t, tt.variant, tt.change)
			t.Parallel()
			before := c.generation(t, ns, tt.variant)
			report := c.doctor(t, append([]string{"--probe", tt.variant, "-n", ns}, tt.args...)...)
			text, err := json.MarshalIndent(report, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if got := stepsOf(report.Probe); got != tt.steps {
				t.Errorf("the steps are %q, want %q", got, tt.steps)
			}
			if got := probeCodes(report); got != tt.codes {
				t.Errorf("it names %q, want %q", got, tt.codes)
			}
			if !strings.Contains(string(text), tt.says) {
				t.Errorf("%q is not in its report", tt.says)
			}
			if tt.variant != "busy" {
				c.nothingLeft(t, ns)
			}
			if after := c.generation(t, ns, tt.variant); after != before {
				t.Errorf("the variant's target was changed: generation %d, before %d", after, before)
			}
			if t.Failed() {
				t.Logf("%s", text)
			}
		})
	}
	t.Run("an interrupted probe leaves nothing", c.interrupted)
	t.Run("the rights that are missing are named", c.probedWithFewRights)
	t.Run("bad usage", c.probedBadly)
}

// probed creates a variant in a namespace of its own, which has the replicas that are decided, and its HPA.
func (c cluster) probed(t *testing.T, name string, change func(*testing.T, *v1alpha1.VariantAutoscaling, *autoscalingv2.HorizontalPodAutoscaler)) (namespace string) {
	t.Helper()
	namespace = "probe-" + name
	if err := c.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	va, target, hpa := patient(name), bed(name), hearing(name, "wva_desired_replicas")
	va.Namespace, target.Namespace, hpa.Namespace = namespace, namespace, namespace
	n := int32(3)
	if strings.HasSuffix(name, "-one") {
		n = 1
	}
	target.Spec.Replicas = &n
	c.create(t, target, va)
	va.Status.DesiredOptimizedAlloc = &v1alpha1.OptimizedAlloc{Accelerator: "L40S", NumReplicas: n, LastUpdate: &v1alpha1.LastUpdate{UpdateTime: new(metav1.Now()), Reason: "Saturated"}}
	if change != nil {
		change(t, va, hpa)
	}
	if err := c.Client.Status().Update(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	c.create(t, hpa)
	return namespace
}

// motionless keeps the variant's own HPA from acting on what it reads.
func motionless(_ *testing.T, _ *v1alpha1.VariantAutoscaling, h *autoscalingv2.HorizontalPodAutoscaler) {
	never := autoscalingv2.DisabledPolicySelect
	h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: &autoscalingv2.HPAScalingRules{SelectPolicy: &never}, ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: &never},
	}
}

// left creates the target of a probe that lasts until a time.
func (c cluster) left(t *testing.T, namespace, of string, until time.Time) {
	t.Helper()
	name := probeName(scaling.VariantKey{Namespace: namespace, Name: of})
	target := probeTarget(metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.LabelProbe: name},
		Annotations: map[string]string{v1alpha1.AnnotationProbeOf: of, v1alpha1.AnnotationProbeUntil: until.UTC().Format(time.RFC3339)},
	})
	c.create(t, target)
}

func (c cluster) scaleTo(t *testing.T, namespace, name string, n int32) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))); err != nil {
		t.Fatal(err)
	}
}

// generation returns that of a Deployment, which every change of its spec raises.
func (c cluster) generation(t *testing.T, namespace, name string) int64 {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, d); err != nil {
		t.Fatal(err)
	}
	return d.Generation
}

// ofProbes lists the Deployments and HPAs of probes in a namespace.
func (c cluster) ofProbes(ctx context.Context, namespace string) (names []string, err error) {
	var deployments appsv1.DeploymentList
	var hpas autoscalingv2.HorizontalPodAutoscalerList
	options := []client.ListOption{client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelProbe}}
	if err := errors.Join(c.Client.List(ctx, &deployments, options...), c.Client.List(ctx, &hpas, options...)); err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		names = append(names, "Deployment "+d.Name)
	}
	for _, h := range hpas.Items {
		names = append(names, "HPA "+h.Name)
	}
	return names, nil
}

func (c cluster) nothingLeft(t *testing.T, namespace string) {
	t.Helper()
	if left, err := c.ofProbes(t.Context(), namespace); err != nil || len(left) > 0 {
		t.Errorf("the probe has left %v, %v", left, err)
	}
}

// stepsOf writes the steps of a probe: ! marks one that failed, - one that was skipped.
func stepsOf(p *doctor.Probe) string {
	if p == nil {
		return "none"
	}
	marks := map[doctor.ProbeResult]string{doctor.ProbePassed: "", doctor.ProbeFailed: "!", doctor.ProbeSkipped: "-"}
	var out []string
	for _, s := range p.Steps {
		out = append(out, string(s.Step)+marks[s.Result])
	}
	return strings.Join(out, " ")
}

// probeCodes returns the codes of the findings of a probe.
func probeCodes(r doctor.Report) string {
	var out []string
	for _, f := range found(r) {
		if code, _, _ := strings.Cut(f, " "); strings.HasPrefix(code, "WVA09") {
			out = append(out, code)
		}
	}
	return strings.Join(out, " ")
}

func (c cluster) interrupted(t *testing.T) {
	t.Parallel()
	ns := c.probed(t, "tagged-interrupted", nil)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for ctx.Err() == nil {
			if made, err := c.ofProbes(ctx, ns); err == nil && len(made) == 2 {
				interrupt()
			}
		}
	}()
	var out, progress bytes.Buffer
	command := newRootCommand()
	command.SetOut(&out)
	command.SetErr(&progress)
	command.SetArgs([]string{"doctor", "--kubeconfig", c.State.Kubeconfig, "--probe", "tagged-interrupted", "-n", ns})
	err := command.ExecuteContext(ctx)
	if err == nil || err.Error() != "the probe was interrupted: what the probe made is removed" || exitCode(err) != 1 || out.Len() > 0 {
		t.Errorf("got %v; it wrote %s%s", err, progress.String(), out.String())
	}
	c.nothingLeft(t, ns)
}

func (c cluster) probedWithFewRights(t *testing.T) {
	t.Parallel()
	ns := c.probed(t, "tagged-rights", nil)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create"}},
	}}
	c.create(t, role, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "intern"}},
	})
	report := c.doctor(t, "--probe", "tagged-rights", "-n", ns, "--kubeconfig", c.as(t, "intern"))
	text := fmt.Sprintf("%+v", report)
	if stepsOf(report.Probe) != "allowed!" || probeCodes(report) != "WVA0902" {
		t.Errorf("the steps are %q and it names %q", stepsOf(report.Probe), probeCodes(report))
	}
	for _, want := range []string{
		"create horizontalpodautoscalers.autoscaling, delete deployments.apps, delete horizontalpodautoscalers.autoscaling",
		"kubectl create role wva-probe -n " + ns + " --verb=create,get,delete --resource=deployments.apps,horizontalpodautoscalers.autoscaling",
		"--user=intern",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	c.nothingLeft(t, ns)
}

func (c cluster) probedBadly(t *testing.T) {
	t.Parallel()
	ns := c.probed(t, "tagged-badly", nil)
	for _, tt := range []struct {
		args []string
		want string
		exit int
	}{
		{[]string{"tagged-baldy", "-n", ns}, "there is no VariantAutoscaling tagged-baldy in namespace " + ns + "; did you mean tagged-badly?", 1},
		{nil, "usage: --probe: want the name of one VariantAutoscaling, --probe NAME", 2},
		{[]string{"a", "b"}, `usage: doctor takes the name of one VariantAutoscaling at most, have ["a" "b"]`, 2},
		{[]string{"-A"}, "usage: --probe: want the name of one VariantAutoscaling, --probe NAME", 2},
		{[]string{"--pre"}, "usage: --probe: want the name of one VariantAutoscaling, --probe NAME", 2},
		{[]string{"tagged-badly", "-f", "va.yaml"}, "usage: --probe -f: a probe is of what is in the cluster, not of manifests", 2},
		{[]string{"tagged-badly", "--model", "m"}, "usage: --model is for --gateway", 2},
		{[]string{"tagged-badly", "--gateway", "localhost"}, `usage: --gateway "localhost": `, 2},
	} {
		out, _, err := c.run(t, "doctor", append([]string{"--probe"}, tt.args...)...)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || exitCode(err) != tt.exit || out != "" {
			t.Errorf("%v: got %v (exit %d), want %s; wrote %s", tt.args, err, exitCode(err), tt.want, out)
		}
	}
	if _, _, err := c.run(t, "doctor", "tagged-badly", "-n", ns, "--gateway", "http://127.0.0.1:1"); err == nil || err.Error() != "usage: --gateway is for --probe" {
		t.Errorf("a gateway without a probe: %v", err)
	}
	c.nothingLeft(t, ns)
}

// completions is a gateway that answers every request with a token, or with an error.
func completions(t *testing.T, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// externalMetrics has the API server ask the test for External Metrics.
func (c cluster) externalMetrics(t *testing.T) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(answerMetrics))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(at.Port(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystemNamespace, Name: "external-metrics"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	api := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": externalMetricsAPI},
		"spec": map[string]any{
			"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": defaultSystemNamespace, "name": "external-metrics", "port": port},
		},
	}}
	api.SetGroupVersionKind(apiServiceKind)
	c.create(t, api)
	t.Cleanup(func() { _ = c.Client.Delete(context.Background(), api) })
	for end := time.Now().Add(30 * time.Second); ; {
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(api), api); err != nil {
			t.Fatal(err)
		}
		if conditions, _, _ := unstructured.NestedSlice(api.Object, "status", "conditions"); strings.Contains(fmt.Sprint(conditions), "status:True") {
			return
		} else if time.Now().After(end) {
			t.Fatalf("the API service is not available: %v", conditions)
		}
	}
}

// answerMetrics answers by the name of the variant that is asked for.
func answerMetrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	write := func(status int, body any) {
		w.WriteHeader(status)
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(text)
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/external.metrics.k8s.io/v1beta1"), "/")
	if len(parts) < 4 {
		write(http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []any{}})
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		write(http.StatusBadRequest, nil)
		return
	}
	name, _ := selector.RequiresExactMatch("variant_name")
	number, probe := selector.RequiresExactMatch("wva_probe")
	values := []string{"3"}
	if probe {
		values = []string{number}
	}
	switch {
	case name == "adapter-one" && !probe:
		values = []string{"1"}
	case slices.Contains([]string{"adapter", "adapter-one", "stale"}, name) && probe, name == "silent":
		values = nil
	case name == "stale":
		values = []string{"9"}
	case name == "twice":
		values = append(values, values...)
	case name == "unserved":
		write(http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Message: "there is no such metric here", Reason: metav1.StatusReasonNotFound, Code: 404})
		return
	}
	items := []any{}
	for _, v := range values {
		items = append(items, map[string]any{"metricName": parts[3], "metricLabels": map[string]string{"variant_name": name}, "timestamp": time.Now().UTC().Format(time.RFC3339), "value": v})
	}
	write(http.StatusOK, map[string]any{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items})
}
