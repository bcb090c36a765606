//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/faults"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestProbe sends a decision the whole way with wva doctor --probe, through the External Metrics API
// of the manager and the HPA controller of Kubernetes. The replicas of the variant never move, and
// nothing is left of a probe, whether it ends or is interrupted.
func TestProbe(t *testing.T) {
	t.Parallel()
	const ns, name = "probed", "llama"
	v := aside(ns, name)
	v.NoHPA = false
	own := aside(ns, "own")
	own.Actuation = "scale"
	deploy(t, v, own)
	reads(t, ns, name, 1)
	eventually(t, time.Minute, func(ctx context.Context) string {
		if _, err := explained(ctx, shared.manager, ns, "own"); err != nil {
			return err.Error()
		}
		return ""
	})
	before := generation(t, v)

	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		out, err := interruptedProbe(t, ns, name, sent)
		if code := exitOf(err); code != 1 || !strings.Contains(out, "the probe was interrupted: what the probe made is removed") {
			t.Errorf("after %s: exit %d, %s", sent, code, out)
		}
		nothingLeft(t, ns)
	}
	found := probeOf(t, ns, name, "--gateway", shared.emulator.Endpoint(ns, v.ModelID))
	want := []string{"allowed passed", "decided passed", "served passed", "read passed", "set passed", "removed passed", "requested passed"}
	if got := found.steps(); !slices.Equal(got, want) {
		t.Errorf("the steps are %q, want %q; it said\n%s", got, want, found.text)
	}
	nothingLeft(t, ns)
	if after := generation(t, v); after != before {
		t.Errorf("the spec of the variant's Deployment has changed: generation %d, before %d", after, before)
	}

	if err := shared.bed.GrantActuation(t.Context()); err != nil {
		t.Fatal(err)
	}
	before = generation(t, own)
	found = probeOf(t, ns, "own")
	if got := found.steps(); !slices.Equal(got, []string{"decided passed", "settable passed", "settable passed"}) || found.codes() != "" {
		t.Errorf("of a variant that the manager scales itself: %q; it said\n%s", got, found.text)
	}
	if after := generation(t, own); after != before {
		t.Errorf("the dry run has changed the target: generation %d, before %d", after, before)
	}
}

// TestProbeNamesWhereTheWayIsBroken has the probe look at three of the plumbing faults.
func TestProbeNamesWhereTheWayIsBroken(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct {
		code    string
		decided int32 // 0 for nothing
	}{
		"excluded-namespace":    {"WVA0903", 0},
		"hpa-other-metric":      {"WVA0904", 1}, // External Metrics do not have it
		"hpa-behavior-disabled": {"WVA0906", 2}, // it is read, and not set
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			if !slices.ContainsFunc(faults.AllPlumbing(), func(p faults.Plumbing) bool { return p.ID == fault }) {
				t.Fatal("there is no such fault")
			}
			ns := "probed-" + fault
			v := aside(ns, plumbed)
			v.NoHPA = false
			inject(t, v, fault)
			if want.decided > 0 {
				reads(t, ns, plumbed, want.decided)
			}
			found := probeOf(t, ns, plumbed)
			if found.codes() != want.code {
				t.Errorf("it names %q, want %s; it said\n%s", found.codes(), want.code, found.text)
			}
			nothingLeft(t, ns)
			t.Logf("%q", found.steps())
		})
	}
}

// inject applies a variant with a plumbing fault.
func inject(t *testing.T, v testbed.Variant, fault string) {
	t.Helper()
	change := variantFaults[fault]
	if change.variant != nil {
		change.variant(&v)
	}
	of := parts{namespace: v.Namespace, variant: v, labels: map[string]string{}, notes: map[string]string{}}
	objects := v.Objects()
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.Deployment:
			of.deployment = o
		case *v1alpha1.VariantAutoscaling:
			of.va = o
		case *autoscalingv2.HorizontalPodAutoscaler:
			o.Spec.Behavior = o.Spec.Behavior.DeepCopy() // both directions share their rules
			of.hpa = o
		}
	}
	change.objects(&of)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.Namespace, Annotations: of.notes}}
	if err := shared.bed.Apply(t.Context(), append([]client.Object{namespace}, objects...)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.bed.Client.Delete(context.Background(), namespace) })
}

// foundByProbe is what a probe said.
type foundByProbe struct {
	text  string
	Probe struct {
		Steps []struct {
			Step, Result string
			Seconds      float64
		}
	}
	Stages []struct {
		Findings []struct{ Code string }
	}
}

func (f foundByProbe) steps() []string {
	var out []string
	for _, s := range f.Probe.Steps {
		out = append(out, s.Step+" "+s.Result)
	}
	return out
}

// codes returns those of the probe's findings.
func (f foundByProbe) codes() string {
	var out []string
	for _, s := range f.Stages {
		for _, finding := range s.Findings {
			if strings.HasPrefix(finding.Code, "WVA09") {
				out = append(out, finding.Code)
			}
		}
	}
	return strings.Join(out, " ")
}

// probeByDecision probes a variant whose scaler is sent the decision itself, by an adapter or KEDA.
func probeByDecision(t *testing.T, namespace, name, served string) {
	t.Helper()
	want := []string{"allowed passed", "decided passed", served, "read passed", "set passed", "removed passed"}
	if found := probeOf(t, namespace, name); !slices.Equal(found.steps(), want) {
		t.Errorf("the steps are %q, want %q; it said\n%s", found.steps(), want, found.text)
	}
	nothingLeft(t, namespace)
}

// probeCommand is wva doctor --probe of a variant of the shared cluster.
func probeCommand(t *testing.T, namespace, name string, args ...string) *exec.Cmd {
	args = append([]string{
		"doctor", "--probe", name, "-n", namespace, "-o", "json", "--kubeconfig", shared.bed.State.Kubeconfig, "--manager", shared.manager.URL,
		"--system-namespace", testbed.SystemNamespace, "--prometheus", shared.bed.State.Prometheus,
	}, args...)
	return exec.CommandContext(t.Context(), filepath.Join(shared.bed.Root, "bin", "wva"), args...)
}

// probeOf probes a variant and returns what was found.
func probeOf(t *testing.T, namespace, name string, args ...string) foundByProbe {
	t.Helper()
	begun := time.Now()
	out, err := probeCommand(t, namespace, name, args...).Output()
	var found foundByProbe
	if jsonErr := json.Unmarshal(out, &found); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	found.text = string(out)
	t.Logf("the probe of %s/%s took %s", namespace, name, time.Since(begun).Round(100*time.Millisecond))
	return found
}

// interruptedProbe sends a signal to a probe once its scaler is there, and returns what it said.
func interruptedProbe(t *testing.T, namespace, name string, sent os.Signal) (string, error) {
	t.Helper()
	probe := probeCommand(t, namespace, name)
	var said strings.Builder
	probe.Stdout, probe.Stderr = &said, &said
	if err := probe.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, func(ctx context.Context) string {
		if left, err := ofProbes(ctx, namespace); err != nil || len(left) < 2 {
			return fmt.Sprintf("the probe has made %v, %v", left, err)
		}
		return ""
	})
	if err := probe.Process.Signal(sent); err != nil {
		t.Fatal(err)
	}
	err := probe.Wait()
	return said.String(), err
}

// exitOf returns the exit status that an error of a command stands for.
func exitOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// ofProbes lists the objects of probes in a namespace.
func ofProbes(ctx context.Context, namespace string) ([]string, error) {
	var out []string
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &autoscalingv2.HorizontalPodAutoscalerList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}} {
		if err := shared.bed.Client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelProbe}); err != nil {
			return nil, err
		}
		switch list := list.(type) {
		case *appsv1.DeploymentList:
			for _, o := range list.Items {
				out = append(out, "Deployment "+o.Name)
			}
		case *autoscalingv2.HorizontalPodAutoscalerList:
			for _, o := range list.Items {
				out = append(out, "HPA "+o.Name)
			}
		case *appsv1.ReplicaSetList:
			for _, o := range list.Items {
				out = append(out, "ReplicaSet "+o.Name)
			}
		case *corev1.PodList:
			for _, o := range list.Items {
				out = append(out, "pod "+o.Name)
			}
		}
	}
	return out, nil
}

func nothingLeft(t *testing.T, namespace string) {
	t.Helper()
	if left, err := ofProbes(t.Context(), namespace); err != nil || len(left) > 0 {
		t.Errorf("the probe has left %v, %v", left, err)
	}
}

// generation returns that of a Deployment, which every change of its spec raises.
func generation(t *testing.T, of testbed.Variant) int64 {
	t.Helper()
	d, err := deployment(t.Context(), of.Namespace, of.Name)
	if err != nil {
		t.Fatal(err)
	}
	return d.Generation
}
