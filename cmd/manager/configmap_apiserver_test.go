package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

const (
	systemNamespace = "workload-variant-autoscaler-system"
	fleetNamespace  = "fleet"
	fleetSize       = 500
	thresholds      = "saturation-scaling-config"
)

// TestOnAPIServer runs a whole manager against a real API server and 500
// VariantAutoscalings.
func TestOnAPIServer(t *testing.T) {
	s := newStage(t)
	s.populate(t)
	s.run(t)
	s.eventually(t, "every status is written", func() bool { return s.decided(t) == fleetSize })
	s.settle(t)
	t.Run("OnePatchWakesOneCycleAndWritesNothing", s.onePatch)
	t.Run("WhatChangesNothingWakesNoModel", s.nothingChanged)
	t.Run("BadContentIsNamedAndMended", s.badContent)
	t.Run("TextThatIsNoYAMLIsNamed", s.wrong("kvCacheThreshold: [", "one: is not read: yaml", "want YAML fields"))
	t.Run("AContradictionIsNamed", s.wrong("model_id: model-007\nkvSpareTrigger: 0.9", "want kvCacheThreshold (0.7) at least kvSpareTrigger (0.9)"))
	t.Run("AKeyThatIsWrittenTwiceIsNamed", s.wrong("model_id: model-007\nengine: queueing\nengine: queueing", `key "engine" already set in map`))
	t.Run("AKeyThatIsNotKnownIsNamedWithTheNearest", s.wrong("model_id: model-007\nkvSpareTriger: 0.2", "did you mean kvSpareTrigger?"))
	t.Run("ADeletedConfigMapLeavesTheDefaults", s.deleted)
	t.Run("UnitCostsAreTheCostsOfReplicas", s.unitCosts)
	t.Run("AnExcludedNamespaceIsLeftAlone", s.excluded)
	t.Run("AConfigMapOf10000KeysIsReadAndItsBadEntryNamed", s.hugeConfigMaps)
	t.Run("DurationsOutOfRangeAreNamed", s.badDurations)
	t.Run("TheSecondOfTwoClassesWithOneModelIsNamed", s.twoClasses)
	t.Run("EachConditionIsShownWithItsReason", s.conditions)
	t.Run("ReplicasAreSetWhereObjectsAskForIt", s.actuation)
	t.Run("AReductionWaitsForApprovalAndAFreezeHolds", s.approvals)
	t.Run("AnnotatedHPAsAreVariants", s.annotated)
	t.Run("AdviceIsPublishedUnderItsOwnNameAndNothingIsWritten", s.advisory)
	t.Run("TheObjectsOfKServeAreServedAsTheyAre", s.kserve)
}

// stage is an API server with a fleet, and what a manager does to it.
type stage struct {
	client client.Client // without a limit
	kube   connection
	log    *lines
	debug  string // base URL of what the manager serves on its metrics port

	mu     sync.Mutex
	writes []string // by the manager
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with returns the lines that contain a text.
func (l *lines) with(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

func newStage(t *testing.T) *stage {
	t.Helper()
	bed := apitest.Start(t)
	t.Setenv("KUBECONFIG", bed.State.Kubeconfig)
	for _, kind := range kindsOfKServe() { // a manager looks for kinds that it did not find once a minute
		if err := bed.Define(t.Context(), kind); err != nil {
			t.Fatal(err)
		}
	}
	s := &stage{log: &lines{}}
	var err error
	if s.kube, err = newConnection(&config.Operator{RESTClientTimeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	s.kube.config.QPS = -1
	if s.client, err = client.New(s.kube.config, client.Options{Scheme: s.kube.scheme}); err != nil {
		t.Fatal(err)
	}
	s.allow(t)
	s.kube.config = rest.CopyConfig(s.kube.config)
	s.kube.config.Impersonate.UserName = account
	if s.kube.reader, err = client.New(s.kube.config, client.Options{Scheme: s.kube.scheme}); err != nil {
		t.Fatal(err)
	}
	s.kube.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				s.mu.Lock()
				s.writes = append(s.writes, r.Method+" "+r.URL.Path)
				s.mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	return s
}

// account is the user that the manager is here.
const account = "manager"

// allow gives the account what the generated role allows, and no more.
func (s *stage) allow(t *testing.T) {
	t.Helper()
	document, err := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ManagerRoles()))).Read()
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(document, &role); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{&role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}, &rbacv1.Role{ // for External Metrics, as the chart has it
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: account},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"extension-apiserver-authentication"}, Verbs: []string{"get"},
		}},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: account}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
	}} {
		if err := s.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// populate creates the fleet: models that run nothing, each with its target.
func (s *stage) populate(t *testing.T) {
	t.Helper()
	for _, name := range []string{systemNamespace, fleetNamespace} {
		if err := s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i := range fleetSize {
		meta := metav1.ObjectMeta{Namespace: fleetNamespace, Name: fmt.Sprintf("v-%03d", i)}
		labels := map[string]string{"app": meta.Name}
		group.Go(func() error {
			return s.client.Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "engine"}}},
				},
			}})
		})
		group.Go(func() error {
			return s.client.Create(t.Context(), &v1alpha1.VariantAutoscaling{ObjectMeta: meta, Spec: v1alpha1.VariantAutoscalingSpec{
				ModelID: fmt.Sprintf("model-%03d", i), Accelerator: "A100",
			}})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// run runs a manager until the test ends, which asks a Prometheus that knows of
// nothing.
func (s *stage) run(t *testing.T) {
	t.Helper()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	t.Cleanup(empty.Close)
	addresses := freeAddresses(t, 2)
	s.debug = "http://" + addresses[0]
	o, err := config.Parse([]string{
		"--prometheus-base-url=" + empty.URL, "--allow-insecure-prometheus", "--pod-namespace=" + systemNamespace,
		"--global-opt-interval=1h", "--prometheus-metrics-cache-fetch-interval=0", "--health-probe-bind-address=0",
		"--metrics-bind-address=" + addresses[0], "--metrics-secure=false", "--external-metrics-bind-address=" + addresses[1],
	}, func(string) (string, bool) { return "", false }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	level, err := logging.NewLevel("info")
	if err != nil {
		t.Fatal(err)
	}
	log := logging.New(s.log, level)
	ctrl.SetLogger(log)
	ctx, cancel := context.WithCancel(t.Context())
	m, err := assemble(ctx, environment{operator: o, kube: s.kube, log: log, level: level})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Start(logr.NewContext(ctx, log)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

// freeAddresses returns addresses of this machine that nothing listens on.
func freeAddresses(t *testing.T, n int) (out []string) {
	t.Helper()
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out
}

// cycles returns how many cycles there have been.
func (s *stage) cycles(t *testing.T) int {
	t.Helper()
	n := 0.0
	for _, m := range family(t, metrics.Cycles) {
		n += m.GetCounter().GetValue()
	}
	return int(n)
}

// family returns the series of a metric of the manager.
func family(t *testing.T, name string) []*dto.Metric {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()
		}
	}
	return nil
}

// written returns what the manager wrote since the last call.
func (s *stage) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes := s.writes
	s.writes = nil
	return writes
}

// decided returns how many objects have a decision and a word on configuration.
func (s *stage) decided(t *testing.T) int {
	t.Helper()
	n := 0
	for _, va := range s.fleet(t) {
		if va.Status.DesiredOptimizedAlloc != nil && conditionOf(&va, v1alpha1.ConditionConfigurationValid) == string(v1alpha1.ReasonConfigurationAccepted) {
			n++
		}
	}
	return n
}

func (s *stage) fleet(t *testing.T) []v1alpha1.VariantAutoscaling {
	t.Helper()
	var list v1alpha1.VariantAutoscalingList
	if err := s.client.List(t.Context(), &list, client.InNamespace(fleetNamespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// conditionOf returns the reason of a condition, "" for none.
func conditionOf(va *v1alpha1.VariantAutoscaling, kind v1alpha1.ConditionType) string {
	i := slices.IndexFunc(va.Status.Conditions, func(c metav1.Condition) bool { return c.Type == string(kind) })
	if i < 0 {
		return ""
	}
	return va.Status.Conditions[i].Reason
}

// quiet is how long nothing must happen to be over: longer than the second that
// cycles wait for each other.
const quiet = 2500 * time.Millisecond

// settle waits until no cycle runs and nothing is written any more.
func (s *stage) settle(t *testing.T) {
	t.Helper()
	s.settleWith(t, func(string) {})
}

// settleWith is settle, and hands on what was written since what was written was asked for last.
func (s *stage) settleWith(t *testing.T, see func(write string)) {
	t.Helper()
	s.eventually(t, "the manager is at rest", func() bool {
		for _, w := range s.written() {
			see(w)
		}
		before := s.cycles(t)
		time.Sleep(quiet)
		return s.cycles(t) == before && len(s.written()) == 0
	})
}

func (s *stage) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	s.eventuallyOr(t, func() string { return what }, holds)
}

// eventuallyOr is eventually for what is said only once it is known to be missing.
func (s *stage) eventuallyOr(t *testing.T, what func() string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so in time: %s; log:\n%s", what(), strings.Join(s.log.with(""), ""))
		}
	}
}

// configure applies the content of a ConfigMap.
func (s *stage) configure(t *testing.T, name string, data map[string]string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}, Data: data}
	err := s.client.Update(t.Context(), m)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = s.client.Create(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const globalReconciliation = "ConfigMap changed, triggering global reconciliation"

func (s *stage) onePatch(t *testing.T) {
	for i, change := range []struct{ trigger, threshold string }{{"created", "0.6"}, {"updated", "0.7"}} {
		before := s.cycles(t)
		s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: " + change.threshold})
		s.eventually(t, "a cycle", func() bool { return s.cycles(t) > before })
		time.Sleep(quiet)
		if got := s.cycles(t) - before; got != 1 {
			t.Errorf("%s: %d cycles, want 1", change.trigger, got)
		}
		if writes := s.written(); len(writes) > 0 {
			t.Errorf("%s: %d writes, want none: %s", change.trigger, len(writes), writes[0])
		}
		said := s.log.with(globalReconciliation)
		if len(said) != i+1 || !strings.Contains(said[i], `"configMap":"`+thresholds+`"`) ||
			!strings.Contains(said[i], fmt.Sprintf(`"totalVAs":%d`, fleetSize)) || !strings.Contains(said[i], `"trigger":"`+change.trigger+`"`) {
			t.Errorf("log: %q", said)
		}
	}
}

func (s *stage) nothingChanged(t *testing.T) {
	before := s.cycles(t)
	s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.70 # the same"})
	s.configure(t, "of-another-manager", map[string]string{"default": "kvCacheThreshold: 0.5"})
	time.Sleep(quiet)
	if got, writes := s.cycles(t)-before, s.written(); got != 0 || len(writes) > 0 {
		t.Errorf("%d cycles and writes %v, want none", got, writes)
	}
}

func (s *stage) badContent(t *testing.T) {
	before := s.cycles(t)
	s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.7", "one": "model_id: model-007\nkvCacheThreshold: 80"})
	concerned := func() *v1alpha1.VariantAutoscaling {
		all := s.fleet(t)
		return &all[slices.IndexFunc(all, func(va v1alpha1.VariantAutoscaling) bool { return va.Spec.ModelID == "model-007" })]
	}
	s.eventually(t, "the variant that the entry is for says so", func() bool {
		return conditionOf(concerned(), v1alpha1.ConditionConfigurationValid) == string(v1alpha1.ReasonInvalidConfiguration)
	})
	if n := s.decided(t); n != fleetSize-1 {
		t.Errorf("%d objects are told that their configuration is accepted, want all but one", n)
	}
	message := ""
	for _, c := range concerned().Status.Conditions {
		if c.Type == string(v1alpha1.ConditionConfigurationValid) {
			message = c.Message
		}
	}
	for _, part := range []string{thresholds, "one, kvCacheThreshold", `"80"`, "a ratio from 0 to 1"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q does not say %q", message, part)
		}
	}
	s.eventually(t, "events of the ConfigMap and of the object", func() bool {
		var list corev1.EventList
		if err := s.client.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == "InvalidConfiguration" {
				of[e.InvolvedObject.Kind+" "+e.InvolvedObject.Name]++
			}
		}
		return of["ConfigMap "+thresholds] == 1 && of["VariantAutoscaling v-007"] == 1
	})
	if got := s.cycles(t) - before; got != 0 {
		t.Errorf("%d cycles, want none: the last good value stays", got)
	}
	s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.7"})
	s.eventually(t, "the entry is mended", func() bool { return s.decided(t) == fleetSize })
	s.settle(t)
}

// wrong returns a test that writes an entry of the thresholds which cannot be in force.
// The others are, and an event of the ConfigMap and the log say each of these texts.
func (s *stage) wrong(entry string, says ...string) func(t *testing.T) {
	return func(t *testing.T) {
		s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.7", "one": entry})
		s.eventually(t, fmt.Sprintf("an event and the log say %q", says), func() bool {
			var list corev1.EventList
			if err := s.client.List(t.Context(), &list, client.InNamespace(systemNamespace)); err != nil {
				t.Fatal(err)
			}
			told := func(message string) bool {
				return !slices.ContainsFunc(says, func(text string) bool { return !strings.Contains(message, text) })
			}
			return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
				return e.InvolvedObject.Name == thresholds && e.Reason == "InvalidConfiguration" && told(e.Message)
			}) && slices.ContainsFunc(s.log.with("configuration is not what was written"), func(line string) bool {
				return told(strings.ReplaceAll(line, `\"`, `"`))
			})
		})
		s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.7"})
		s.eventually(t, "the entry is mended", func() bool { return s.decided(t) == fleetSize })
		s.settle(t)
	}
}

// deleted deletes the thresholds: the defaults are in force with the next cycle, and the
// log says why.
func (s *stage) deleted(t *testing.T) {
	before := s.cycles(t)
	if err := s.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: thresholds}}); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "the log says that the ConfigMap was deleted, and a cycle follows", func() bool {
		said := s.log.with(globalReconciliation)
		return s.cycles(t) > before && len(said) > 0 && strings.Contains(said[len(said)-1], `"trigger":"deleted"`)
	})
	if n := s.decided(t); n != fleetSize {
		t.Errorf("%d objects are told that their configuration is accepted, want all", n)
	}
	s.settle(t)
}

func (s *stage) unitCosts(t *testing.T) {
	cost := func() float64 {
		sum := 0.0
		for _, m := range family(t, metrics.PlanCost) {
			sum += m.GetGauge().GetValue()
		}
		return sum
	}
	byDefault := cost()
	if byDefault == 0 || math.Mod(byDefault, 10) != 0 {
		t.Fatalf("the plan costs %g, want a multiple of the default cost of a replica", byDefault)
	}
	s.configure(t, "accelerator-unit-costs", map[string]string{"A100": `{"device": "NVIDIA-A100", "cost": "7.00"}`})
	s.eventually(t, "replicas cost what the accelerator does", func() bool { return math.Abs(cost()-0.7*byDefault) < 1e-6 })
	if err := s.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "accelerator-unit-costs"}}); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "replicas cost the default", func() bool { return cost() == byDefault })
}

func (s *stage) excluded(t *testing.T) {
	before := s.cycles(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleetNamespace}}
	annotate := func(value string) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationExclude, value)
		if err := s.client.Patch(t.Context(), ns, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Fatal(err)
		}
	}
	series := func() int { return len(family(t, metrics.DesiredReplicas)) }
	annotate("true")
	s.eventually(t, "nothing is published of an excluded namespace", func() bool { return s.cycles(t) > before && series() == 0 })
	s.settle(t)
	annotate("false")
	s.eventually(t, "everything is published again", func() bool { return series() == fleetSize })
}
