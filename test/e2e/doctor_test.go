//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/anycluster"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/faults"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

const (
	// mainRelease is the namespace of the manager of most variants, and mainInstance the
	// instance whose objects it serves. The managers with a fault of their own have a
	// namespace each, and serve that alone.
	mainRelease, mainInstance = "wva-main", "main"
	// plumbed is the name of the variant of each fault, its Deployment and its HPA.
	plumbed = "llama"
	// defaultInterval is that of the chart, which the managers have here.
	defaultInterval = time.Minute
	// writtenWithin is how long after its beginning a cycle may be seen in a status here.
	writtenWithin = 10 * time.Second
	// doctorPatience is how long the doctor may take for a variant.
	doctorPatience = 20 * time.Second
)

// TestThePlumbingFaultsAreNamed has a cluster of its own, with the manager of the chart at
// its default interval and two healthy variants, in which wva doctor finds nothing. Then
// come the faults of test/faults: those of a variant and of a manager beside each other,
// those of the cluster one after another. A condition or an event names each within two
// cycles, where the table says so, and wva doctor names each by its code.
func TestThePlumbingFaultsAreNamed(t *testing.T) {
	t.Parallel()
	p := startPlumbing(t)
	t.Run("a healthy cluster has no finding", p.healthy)

	var at []*site
	for _, f := range faults.AllPlumbing() {
		if f.Scope != faults.OfCluster {
			at = append(at, p.inject(t, f))
		}
	}
	p.look(t, at)
	for _, f := range faults.AllPlumbing() {
		if f.Scope == faults.OfCluster {
			p.duringClusterFault(t, f)
		}
	}
	t.Run("healed it has none again", p.healthy)
}

// plumbing is the cluster of the plumbing faults.
type plumbing struct {
	bed      *testbed.Bed
	emulator *testbed.Emulator
	helm     anycluster.Helm
	doctor   chan struct{} // tokens: how many doctors run at once
}

// site is where a fault is.
type site struct {
	faults.Plumbing
	namespace string
	system    string // namespace of the manager that serves the variant
	begun     time.Time
	told      time.Duration // after which it was told, 0 if it was not
	missing   string        // what was seen instead
	diagnosis string        // what the doctor said
	diagnosed time.Duration // how long it took
	named     bool          // by its code
}

func (p *plumbing) healthy(t *testing.T) {
	for _, name := range []string{"by-hpa", "by-manager"} {
		eventually(t, 2*time.Minute, func(ctx context.Context) string {
			va := &v1alpha1.VariantAutoscaling{}
			if err := p.bed.Client.Get(ctx, client.ObjectKey{Namespace: "healthy", Name: name}, va); err != nil {
				return err.Error()
			}
			for _, c := range va.Status.Conditions {
				if c.Type == "Ready" && c.Status == metav1.ConditionTrue {
					return ""
				}
			}
			return fmt.Sprintf("%s is not Ready: %+v", name, va.Status.Conditions)
		})
	}
	out, err := p.examine(t.Context(), mainRelease, "-n", "healthy")
	if err != nil || len(codesOf(out)) > 0 {
		t.Errorf("wva doctor in a healthy cluster: %v\n%s", err, out)
	}
}

// look waits until each fault is told, and asks the doctor of it.
func (p *plumbing) look(t *testing.T, at []*site) {
	t.Helper()
	var done sync.WaitGroup
	for _, s := range at {
		done.Go(func() { p.watch(t.Context(), s) })
	}
	done.Wait()
	for _, s := range at {
		t.Run(s.ID, s.judge)
	}
}

// watch fills in what becomes of a fault.
func (p *plumbing) watch(ctx context.Context, s *site) {
	limit := s.begun.Add(2*defaultInterval + writtenWithin)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !s.Told.None() && time.Now().Before(limit) && ctx.Err() == nil {
		if s.missing = p.untold(ctx, s); s.missing == "" {
			s.told = time.Since(s.begun)
			break
		}
		<-tick.C
	}
	// What is told the doctor knows at once; what is not may take it a moment to be there.
	for end := time.Now().Add(doctorPatience); ; <-tick.C {
		begun := time.Now()
		out, err := p.examine(ctx, s.system, plumbed, "-n", s.namespace)
		s.diagnosed = time.Since(begun)
		s.diagnosis = out
		if err != nil {
			s.diagnosis += "\n" + err.Error()
		}
		if s.named = slices.Contains(codesOf(out), s.Code); s.named || time.Now().After(end) || ctx.Err() != nil {
			return
		}
	}
}

// judge reports what became of a fault.
func (s *site) judge(t *testing.T) {
	switch {
	case s.Told.None():
	case s.told == 0:
		t.Errorf("%+v does not name it within %s: %s", s.Told, 2*defaultInterval+writtenWithin, s.missing)
	default:
		t.Logf("told after %s", s.told.Round(time.Second))
	}
	if !s.named {
		t.Errorf("wva doctor does not name it by %s:\n%s", s.Code, s.diagnosis)
	}
	t.Logf("wva doctor took %s and names %v", s.diagnosed.Round(100*time.Millisecond), codesOf(s.diagnosis))
}

// untold says what is there instead of the condition or the event that names a fault, ""
// where it is there.
func (p *plumbing) untold(ctx context.Context, s *site) string {
	key := client.ObjectKey{Namespace: s.namespace, Name: plumbed}
	if s.Told.Condition == "" {
		return p.withoutEvent(ctx, s)
	}
	var seen []string
	if s.Told.Kind == "HorizontalPodAutoscaler" {
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		if err := p.bed.Client.Get(ctx, key, h); err != nil {
			return err.Error()
		}
		for _, c := range h.Status.Conditions {
			seen = append(seen, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	} else {
		va := &v1alpha1.VariantAutoscaling{}
		if err := p.bed.Client.Get(ctx, key, va); err != nil {
			return err.Error()
		}
		for _, c := range va.Status.Conditions {
			seen = append(seen, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	want := fmt.Sprintf("%s %s %s: ", s.Told.Condition, s.Told.Status, s.Told.Reason)
	if slices.ContainsFunc(seen, func(c string) bool { return strings.HasPrefix(c, want) && strings.Contains(c, s.Told.Says) }) {
		return ""
	}
	return "the conditions are\n" + strings.Join(seen, "\n")
}

func (p *plumbing) withoutEvent(ctx context.Context, s *site) string {
	var events corev1.EventList
	if err := p.bed.Client.List(ctx, &events, client.InNamespace(s.namespace)); err != nil {
		return err.Error()
	}
	var seen []string
	for _, e := range events.Items {
		if e.InvolvedObject.Kind != s.Told.Kind {
			continue
		}
		if e.Reason == s.Told.Reason && strings.Contains(e.Message, s.Told.Says) {
			return ""
		}
		seen = append(seen, e.Reason+": "+e.Message)
	}
	return "the events are\n" + strings.Join(seen, "\n")
}

// code is that of a finding in the doctor's JSON.
var code = regexp.MustCompile(`"code": *"(WVA[0-9]{4})"`)

// codesOf returns the codes in what the doctor said.
func codesOf(out string) []string {
	codes := map[string]bool{}
	for _, c := range code.FindAllStringSubmatch(out, -1) {
		codes[c[1]] = true
	}
	return slices.Sorted(maps.Keys(codes))
}

// examine runs the doctor with the manager of a namespace, and returns what it found. That
// it found something is no error.
func (p *plumbing) examine(ctx context.Context, system string, args ...string) (string, error) {
	p.doctor <- struct{}{}
	defer func() { <-p.doctor }()
	ctx, cancel := context.WithTimeout(ctx, 2*doctorPatience)
	defer cancel()
	args = append([]string{"doctor", "-o", "json", "--kubeconfig", p.bed.State.Kubeconfig, "--system-namespace", system, "--prometheus", p.bed.State.Prometheus}, args...)
	if system == mainRelease {
		args = append(args, "--leader-election-id", mainInstance+".72dd1cf1.llm-d.ai")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.bed.Root, "bin", "wva"), args...)
	out, err := cmd.Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		if exit.ExitCode() == 1 && len(codesOf(string(out))) > 0 {
			return string(out), nil
		}
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

// startPlumbing brings the cluster up, with the emulated fleet, the releases and two
// healthy variants.
func startPlumbing(t *testing.T) *plumbing {
	t.Helper()
	root := shared.bed.Root
	bed := clusterBeside(t, testbed.Options{Root: root, Dir: filepath.Join(root, ".local", "e2e-doctor"), Out: t.Output()})
	helm, err := anycluster.FindHelm(root)
	if err != nil {
		t.Fatal(err)
	}
	p := &plumbing{bed: bed, doctor: make(chan struct{}, 3), helm: anycluster.Helm{
		Program: helm, Kubeconfig: bed.State.Kubeconfig, Chart: filepath.Join(root, "charts", "workload-variant-autoscaler"),
	}}
	for _, file := range []string{"monitoring.coreos.com_servicemonitors.yaml", "keda.sh_scaledobjects.yaml"} {
		def := definition(t, filepath.Join(root, "config", "samples", "testdata", "crd", file))
		if err := bed.Define(t.Context(), def); err != nil {
			t.Fatal(err)
		}
	}
	if err := bed.AddNode(t.Context(), "pool", poolProduct, poolSize); err != nil {
		t.Fatal(err)
	}
	if p.emulator, err = bed.StartEmulator(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.scrape(t)
	p.installAll(t)
	byHPA, byManager := aside("healthy", "by-hpa"), aside("healthy", "by-manager")
	byHPA.NoHPA = false
	byManager.Actuation = "scale"
	// Its start-up is known before its pods no longer become Ready.
	starts := aside(namespaceOf("never-ready"), plumbed)
	starts.ModelID, starts.NoHPA = "meta/never-ready", false
	for _, v := range []testbed.Variant{byHPA, byManager, starts} {
		p.apply(t, v.Namespace, objectsOf(v, mainInstance)...)
	}
	return p
}

// apply applies objects of a namespace, which it makes.
func (p *plumbing) apply(t *testing.T, namespace string, objects ...client.Object) {
	t.Helper()
	if err := errors.Join(p.bed.Namespace(t.Context(), namespace), p.bed.Apply(t.Context(), objects...)); err != nil {
		t.Fatal(err)
	}
}

// objectsOf returns the objects of a variant that the managers of an instance serve.
func objectsOf(v testbed.Variant, instance string) []client.Object {
	objects := v.Objects()
	for _, o := range objects {
		if va, ok := o.(*v1alpha1.VariantAutoscaling); ok && instance != "" {
			va.Labels = map[string]string{v1alpha1.LabelControllerInstance: instance}
		}
	}
	return objects
}

// scrape has Prometheus scrape the emulated pods, with the faults of some namespaces.
func (p *plumbing) scrape(t *testing.T) {
	t.Helper()
	config := fmt.Sprintf(`scrape_configs:
- job_name: vllm
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  http_sd_configs:
  - url: %[2]s/sd
    refresh_interval: 2s
  relabel_configs:
  - {source_labels: [namespace], regex: %[4]s, action: drop}
  - {source_labels: [namespace], regex: %[5]s, target_label: __address__, replacement: "%[3]s"}
  metric_relabel_configs:
  - {source_labels: [namespace], regex: "%[6]s|%[7]s", target_label: pod, replacement: ""}
  - {source_labels: [namespace, __name__], regex: "%[8]s;vllm:(.*)", target_label: __name__, replacement: "acme_vllm_$1"}
`, testbed.ScrapeInterval, p.emulator.URL, silentPort(t),
		namespaceOf("monitor-selects-nothing"), namespaceOf("network-policy"), namespaceOf("missing-pod-label"),
		namespaceOf("scraped-through-service"), namespaceOf("unknown-prefix"))
	if err := os.WriteFile(filepath.Join(p.bed.State.PrometheusConfigDir, "vllm.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.bed.ReloadPrometheus(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// namespaceOf returns the namespace of a fault.
func namespaceOf(id string) string { return "fault-" + id }
