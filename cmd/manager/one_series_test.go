package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// TestEachVariantHasOneSeriesAtEveryScrape draws histories of a cluster with two managers of an
// instance each, and looks at what all processes together export once a process leads: a ScaledObject
// of KServe takes a missing series for 0 replicas, and two for an error.
func TestEachVariantHasOneSeriesAtEveryScrape(t *testing.T) {
	const histories, steps = 40, 40
	for seed := range uint64(histories) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), by: map[string]client.Object{}, stored: map[string]*corev1.ConfigMap{}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for _, instance := range instances {
				w.leads = append(w.leads, w.lead(ctx, instance))
			}
			for range steps {
				before := w.expected()
				did := w.step(ctx, before)
				for _, p := range w.leads {
					p.cycle(ctx)
				}
				w.check("after the cycle that followed: "+did, w.expected())
				time.Sleep(2 * time.Second) // what was decided is stored by then
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// instances are the managers that share the cluster.
var instances = []string{"blue", "green"}

// world is a cluster: its objects, what managers store in it, and the processes that lead.
type world struct {
	client.Reader // what is not needed here panics
	t             *testing.T
	rng           *rand.Rand
	by            map[string]client.Object // by kind and name
	storing       sync.Mutex
	stored        map[string]*corev1.ConfigMap
	leads         []*process
	made          int
}

// step changes something and says what.
func (w *world) step(ctx context.Context, before map[string]bool) string {
	targets := slices.Sorted(maps.Keys(w.of("Deployment")))
	pick := func() string { return targets[w.rng.IntN(len(targets))] }
	does := w.rng.IntN(10)
	if len(targets) == 0 {
		does = 0
	}
	switch does {
	case 0, 1:
		w.made++
		name := fmt.Sprintf("t-%d", w.made)
		w.by["Deployment "+name] = deploymentOf("ns", name)
		if w.rng.IntN(2) == 0 {
			w.object(name)
			return "a VariantAutoscaling of " + name
		}
		w.scaler(name, w.label(nil))
		return "an annotated scaler of " + name
	case 2: // it has another name, and asks for that
		name := pick()
		for key, o := range w.scalersOf(name) {
			delete(w.by, key)
			w.scaler(name, o.GetLabels())
		}
		return "another name for the scaler of " + name
	case 3:
		name := pick()
		for _, o := range w.scalersOf(name) {
			o.GetLabels()[v1alpha1.LabelAcceleratorName] = []string{"L40S", "H100", "unknown"}[w.rng.IntN(3)]
		}
		return "another accelerator for " + name
	case 4: // it is another manager's
		name := pick()
		instance := instances[w.rng.IntN(len(instances))]
		for _, o := range w.about(name) {
			o.GetLabels()[v1alpha1.LabelControllerInstance] = instance
		}
		return name + " is for " + instance
	case 5: // beside what there is
		name := pick()
		if va := w.by["VariantAutoscaling "+name+"-va"]; va != nil && len(w.scalersOf(name)) > 0 {
			delete(w.by, "VariantAutoscaling "+name+"-va")
			return "no VariantAutoscaling of " + name
		}
		if len(w.scalersOf(name)) < 2 {
			w.object(name)
		}
		return "a VariantAutoscaling beside the scaler of " + name
	case 9: // two claim one target, each by its name
		name := pick()
		for _, o := range w.scalersOf(name) {
			if len(w.about(name)) == 1 {
				w.scaler(name, w.label(o.GetLabels()))
			}
		}
		return "a second scaler for " + name
	case 6:
		name := pick()
		delete(w.by, "Deployment "+name)
		for key := range w.about(name) {
			delete(w.by, key)
		}
		return name + " is gone"
	case 7: // a process ends before another begins
		i := w.rng.IntN(len(w.leads))
		w.leads[i].end()
		w.leads[i] = w.lead(ctx, w.leads[i].instance)
		w.check("after a restart, before its first cycle", before)
		return "a restart"
	default: // the next one is there before the lease is its own
		i := w.rng.IntN(len(w.leads))
		old := w.leads[i]
		next := w.process(old.instance)
		old.end()
		w.leads[i] = next
		next.start(ctx)
		w.check("after a fail-over, before its first cycle", before)
		return "a fail-over"
	}
}

// object makes a VariantAutoscaling of a target, of the instance of its scaler.
func (w *world) object(target string) {
	labels := w.label(nil)
	for _, o := range w.scalersOf(target) {
		labels = w.label(o.GetLabels())
	}
	w.by["VariantAutoscaling "+target+"-va"] = &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: target + "-va", UID: types.UID(target), Labels: labels},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "m-" + target, ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: target}},
	}
}

// scaler makes an annotated HPA or ScaledObject of a target, which asks for its own name.
func (w *world) scaler(target string, labels map[string]string) {
	w.made++
	name := fmt.Sprintf("%s-s%d", target, w.made)
	of := metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), Labels: labels,
		Annotations: map[string]string{v1alpha1.AnnotationManaged: "true", v1alpha1.AnnotationModelID: "m-" + target},
	}
	if w.rng.IntN(2) == 0 {
		h := followerOf(name)
		h.ObjectMeta = of
		h.Spec.ScaleTargetRef.Name = target
		if w.rng.IntN(2) == 0 { // as KServe has it
			h.Spec.Metrics[0].External.Target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: resource.NewQuantity(1, resource.DecimalSI)}
		}
		w.by["HorizontalPodAutoscaler "+name] = h
		return
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"scaleTargetRef": map[string]any{"name": target}, "minReplicaCount": int64(1), "maxReplicaCount": int64(8),
		"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
			"query": `wva_desired_replicas{variant_name="` + name + `",exported_namespace="ns"}`, "threshold": "1",
		}}},
	}}}
	u.SetAPIVersion("keda.sh/v1alpha1")
	u.SetKind("ScaledObject")
	u.SetNamespace(of.Namespace)
	u.SetName(of.Name)
	u.SetUID(of.UID)
	u.SetAnnotations(of.Annotations)
	w.by["ScaledObject "+name] = &labelled{u, of.Labels}
}

// labelled is an object whose labels are changed in place.
type labelled struct {
	*unstructured.Unstructured
	labels map[string]string
}

func (l *labelled) GetLabels() map[string]string { return l.labels }

// label returns labels of an object, of an instance.
func (w *world) label(from map[string]string) map[string]string {
	out := maps.Clone(from)
	if out == nil {
		out = map[string]string{v1alpha1.LabelControllerInstance: instances[w.rng.IntN(len(instances))]}
	}
	return out
}

// of returns the objects of some kinds, by name.
func (w *world) of(kind string) map[string]client.Object {
	out := map[string]client.Object{}
	for key, o := range w.by {
		if strings.HasPrefix(key, kind+" ") {
			out[o.GetName()] = o
		}
	}
	return out
}

// about returns what is of a target, by its key.
func (w *world) about(target string) map[string]client.Object {
	out := w.scalersOf(target)
	if va := w.by["VariantAutoscaling "+target+"-va"]; va != nil {
		out["VariantAutoscaling "+target+"-va"] = va
	}
	return out
}

// scalersOf returns the annotated scalers of a target, by their keys.
func (w *world) scalersOf(target string) map[string]client.Object {
	out := map[string]client.Object{}
	for key, o := range w.by {
		if _, name, _ := strings.Cut(key, " "); strings.HasPrefix(name, target+"-s") {
			out[key] = o
		}
	}
	return out
}

// expected returns the names by which decisions are asked for: each has one series.
func (w *world) expected() map[string]bool {
	out := map[string]bool{}
	for key, o := range w.by {
		if !strings.HasPrefix(key, "Deployment ") {
			out[o.GetName()] = true
		}
	}
	return out
}

// check holds what all processes export to the names that are asked for.
func (w *world) check(when string, want map[string]bool) {
	w.t.Helper()
	got := map[string]int{}
	for _, p := range w.leads {
		families, err := p.registry.Gather()
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if f.GetName() == metrics.DesiredReplicas && l.GetName() == metrics.LabelVariant {
						got[l.GetValue()]++
					}
				}
			}
		}
	}
	for name := range want {
		if got[name] != 1 {
			w.t.Errorf("%s: %s has %d series, want one", when, name, got[name])
		}
		delete(got, name)
	}
	for name, n := range got {
		w.t.Errorf("%s: %s has %d series and does not exist", when, name, n)
	}
}

// List lists objects.
func (w *world) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, key := range slices.Sorted(maps.Keys(w.by)) {
		switch o := w.by[key].(type) {
		case *v1alpha1.VariantAutoscaling:
			if l, ok := list.(*v1alpha1.VariantAutoscalingList); ok {
				l.Items = append(l.Items, *o.DeepCopy())
			}
		case *appsv1.Deployment:
			if l, ok := list.(*appsv1.DeploymentList); ok {
				l.Items = append(l.Items, *o)
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			if l, ok := list.(*autoscalingv2.HorizontalPodAutoscalerList); ok {
				l.Items = append(l.Items, *scalers.Strip(o))
			}
		case *labelled:
			if l, ok := list.(*unstructured.UnstructuredList); ok {
				u := o.DeepCopy()
				u.SetLabels(o.labels)
				l.Items = append(l.Items, *u)
			}
		}
	}
	return nil
}

// GetInformer says that every kind is listed.
func (w *world) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return listedAlready{}, nil
}

type listedAlready struct{ cache.Informer }

func (listedAlready) HasSynced() bool { return true }

// Get, Create and Update are those of the ConfigMaps of the store.
func (w *world) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	w.storing.Lock()
	defer w.storing.Unlock()
	held := w.stored[key.String()]
	if held == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	held.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

// Create stores a ConfigMap.
func (w *world) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	return w.Update(ctx, o)
}

// Update stores a ConfigMap.
func (w *world) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.storing.Lock()
	defer w.storing.Unlock()
	w.stored[client.ObjectKeyFromObject(o).String()] = o.(*corev1.ConfigMap).DeepCopy()
	return nil
}

// process is what of a manager publishes decisions.
type process struct {
	world    *world
	instance string
	registry *prometheus.Registry
	loop     *loop
	served   discovery.Served
	end      func()
}

// ofInstance is what the cache of a manager with an instance holds.
type ofInstance struct {
	*world
	instance string
}

func (o ofInstance) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.world.List(ctx, list, opts...); err != nil {
		return err
	}
	if l, ok := list.(*v1alpha1.VariantAutoscalingList); ok {
		l.Items = slices.DeleteFunc(l.Items, func(va v1alpha1.VariantAutoscaling) bool {
			return va.Labels[v1alpha1.LabelControllerInstance] != o.instance
		})
	}
	return nil
}

// lead starts a process that leads.
func (w *world) lead(ctx context.Context, instance string) *process {
	p := w.process(instance)
	p.start(ctx)
	return p
}

// process builds one as assemble does.
func (w *world) process(instance string) *process {
	clk, registry, book := clock.RealClock{}, prometheus.NewRegistry(), ledger.New()
	by := scalers.New(w, clk)
	by.ServesMetrics = true
	decisions := store.NewDecisions(store.Options{
		Namespace: instance, Objects: w, Events: &events.FakeRecorder{}, Log: logr.Discard(), Clock: clk, Lost: func() { w.t.Error("the store fails") },
	}, true)
	served := discovery.Served{Reader: ofInstance{w, instance}, Annotated: &scalers.Annotated{
		Reader: by, On: func() bool { return true }, Instance: instance, Statuses: decisions,
	}}
	fleet := discovery.New(served, nil)
	fleet.By = by
	instruments := metrics.New(registry, clk, metrics.Options{ControllerInstance: instance})
	act := actuator.New(actuator.Options{Metrics: instruments, Store: &external.Store{}, Memory: book})
	return &process{world: w, instance: instance, registry: registry, served: served, loop: &loop{
		log: logr.Discard(), instruments: instruments, actuator: act, reader: served, memory: book, decisions: decisions, fleet: fleet,
		cycle: &cycle.Cycle{Process: "p", Clock: clk, Cluster: fleet, Collector: blind{}, Recorder: book, Actuator: act},
	}}
}

// start does what the loop does before its first cycle.
func (p *process) start(ctx context.Context) {
	p.world.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	p.end = func() {
		cancel()
		synctest.Wait()
		p.loop.actuator.Clear()
	}
	p.loop.decisions.Lead(ctx)
	if err := errors.Join(controller.Restore(ctx, p.served, p.loop.memory), p.loop.publishLast(ctx)); err != nil {
		p.world.t.Fatal(err)
	}
	go func() { _ = p.loop.decisions.Run(ctx) }()
}

// cycle decides once, and writes the status of each variant.
func (p *process) cycle(ctx context.Context) {
	p.world.t.Helper()
	if err := p.loop.cycle.Run(ctx, time.Minute); err != nil {
		p.world.t.Fatal(err)
	}
	var list v1alpha1.VariantAutoscalingList
	if err := p.served.List(ctx, &list); err != nil {
		p.world.t.Fatal(err)
	}
	history, alive := p.loop.memory.History(), []client.ObjectKey{}
	for i := range list.Items {
		va := &list.Items[i]
		at := metav1.NewTime(clock.RealClock{}.Now())
		va.Status.DesiredOptimizedAlloc = &v1alpha1.OptimizedAlloc{
			NumReplicas: int32(history[scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}].Desired),
			Accelerator: va.Labels[v1alpha1.LabelAcceleratorName], LastUpdate: &v1alpha1.LastUpdate{UpdateTime: &at},
		}
		alive = append(alive, client.ObjectKeyFromObject(va))
		if va.FromScaler() {
			p.loop.decisions.Write(va)
		} else {
			p.world.by["VariantAutoscaling "+va.Name].(*v1alpha1.VariantAutoscaling).Status = va.Status
		}
	}
	p.loop.decisions.Keep(alive)
}

// blind measures nothing.
type blind struct{}

func (blind) Collect(_ context.Context, fleet scaling.Fleet) []scaling.Snapshot {
	by := map[scaling.ModelKey][]scaling.Variant{}
	for _, v := range fleet.Variants {
		by[v.Model] = append(by[v.Model], v)
	}
	var out []scaling.Snapshot
	for _, m := range slices.SortedFunc(maps.Keys(by), scaling.ModelKey.Compare) {
		out = append(out, scaling.Snapshot{Model: m, At: fleet.At, Window: time.Minute, Variants: by[m], Fault: "nothing is measured"})
	}
	return out
}
