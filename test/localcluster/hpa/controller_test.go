package hpa

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	autoscalinginformers "k8s.io/client-go/informers/autoscaling/v2"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/scale"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// The controller's own settings, as kube-controller-manager has them.
const (
	syncPeriod    = 15 * time.Second
	stabilization = 5 * time.Minute
	tolerance     = 0.1
)

// TestMain takes away the handlers of errors: what the controller cannot do is
// what the sequences are about, and one of the handlers sleeps.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	m.Run()
}

// answers drives a controller through the sequences from to to, some at a time.
func answers(t *testing.T, from, to, syncs int) []Sequence {
	t.Helper()
	const batch = 200 // a controller drops events when more than a thousand wait
	var out []Sequence
	for ; from < to; from += batch {
		out = append(out, drive(t, from, min(from+batch, to), syncs)...)
	}
	return out
}

// drive runs one controller, with an object for each sequence, all at the same
// time of one bubble.
func drive(t *testing.T, from, to, syncs int) []Sequence {
	t.Helper()
	var out []Sequence
	synctest.Test(t, func(t *testing.T) {
		w := &world{syncs: syncs}
		for i := from; i < to; i++ {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			w.sequences = append(w.sequences, newSequence(rng))
			w.draws = append(w.draws, rng)
		}
		ctx, cancel := context.WithCancel(t.Context())
		hpas := newObjects(w.sequences)
		client := &fake.Clientset{}
		client.AddReactor("*", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Event{}, nil })
		client.AddReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &autoscalingv2.HorizontalPodAutoscaler{}, nil
		})
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
		mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
		controller := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), w, client.AutoscalingV2(), mapper, w,
			hpas, pods{w}, syncPeriod, stabilization, tolerance, 5*time.Minute, 30*time.Second)
		for _, one := range hpas.indexer.List() {
			hpas.handler.OnAdd(one, true)
		}
		done := make(chan struct{})
		go func() {
			controller.Run(ctx, 1)
			close(done)
		}()
		time.Sleep(time.Duration(syncs)*syncPeriod + syncPeriod/2)
		synctest.Wait()
		cancel()
		<-done
		for i, s := range w.sequences {
			if len(s.Syncs) != syncs {
				t.Fatalf("sequence %d was synced %d times, want %d", from+i, len(s.Syncs), syncs)
			}
			out = append(out, *s)
		}
	})
	return out
}

// world is the cluster that the controller reads, one namespace for each
// sequence. It moves on when the controller reads a scale, which is the first
// thing it does in a sync. The controller has one worker, so nothing is shared.
type world struct {
	sequences []*Sequence
	draws     []*rand.Rand
	syncs     int
}

// of returns the sequence of a namespace.
func (w *world) of(namespace string) (int, *Sequence) {
	i, err := strconv.Atoi(namespace)
	if err != nil {
		panic(fmt.Sprintf("hpa: namespace %q: %v", namespace, err))
	}
	return i, w.sequences[i]
}

// now returns what is read at the present sync of a namespace.
func (w *world) now(namespace string) (*Sequence, *Sync) {
	_, s := w.of(namespace)
	return s, &s.Syncs[len(s.Syncs)-1]
}

// Scales implements scale.ScalesGetter.
func (w *world) Scales(namespace string) scale.ScaleInterface { return scales{w, namespace} }

type scales struct {
	world     *world
	namespace string
}

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	i, sequence := s.world.of(s.namespace)
	now := sequence.next(s.world.draws[i])
	now.Want = now.Spec
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "target"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: now.Spec},
		Status:     autoscalingv1.ScaleStatus{Replicas: now.Status, Selector: "app=target"},
	}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, to *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	sequence, now := s.world.now(s.namespace)
	now.Want, sequence.replicas = to.Spec.Replicas, to.Spec.Replicas
	return to, nil
}

func (s scales) Patch(context.Context, schema.GroupVersionResource, string, types.PatchType, []byte, metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	return nil, errors.New("hpa: the controller patched a scale, which it does not do")
}

// errMissing is the answer of a metrics API that has no such metric.
var errMissing = errors.New("no metrics returned")

// GetExternalMetric implements metrics.MetricsClient. A metric is called by its
// place in the spec.
func (w *world) GetExternalMetric(name, namespace string, _ labels.Selector) ([]int64, time.Time, error) {
	_, now := w.now(namespace)
	v := now.Values[place(name)][0]
	if v < 0 {
		return nil, time.Time{}, errMissing
	}
	return []int64{v}, time.Now(), nil
}

// GetRawMetric implements metrics.MetricsClient.
func (w *world) GetRawMetric(name, namespace string, _, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	_, now := w.now(namespace)
	info := metrics.PodMetricsInfo{}
	for i, v := range now.Values[place(name)] {
		if v >= 0 {
			info[podName(i)] = metrics.PodMetric{Timestamp: time.Now(), Window: time.Minute, Value: v}
		}
	}
	if len(info) == 0 {
		return nil, time.Time{}, errMissing
	}
	return info, time.Now(), nil
}

// GetResourceMetric implements metrics.MetricsClient.
func (w *world) GetResourceMetric(context.Context, corev1.ResourceName, string, labels.Selector, string) (metrics.PodMetricsInfo, time.Time, error) {
	return nil, time.Time{}, errMissing
}

// GetObjectMetric implements metrics.MetricsClient.
func (w *world) GetObjectMetric(string, string, *autoscalingv2.CrossVersionObjectReference, labels.Selector) (int64, time.Time, error) {
	return 0, time.Time{}, errMissing
}

func place(metric string) int { return int(metric[0] - '0') }

func podName(i int) string { return "pod-" + strconv.Itoa(i) }

// pods lists the pods of the present sync.
type pods struct{ world *world }

func (p pods) Informer() cache.SharedIndexInformer { return &informer{} }
func (p pods) Lister() corelisters.PodLister       { return p }

func (p pods) List(labels.Selector) ([]*corev1.Pod, error) {
	return nil, errors.New("hpa: the controller listed the pods of all namespaces, which it does not do")
}

func (p pods) Pods(namespace string) corelisters.PodNamespaceLister {
	_, now := p.world.now(namespace)
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for i, state := range now.Pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName(i), Labels: map[string]string{"app": "target"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
		ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
		switch state {
		case 'p':
			pod.Status.Phase = corev1.PodPending
		case 'r':
			ready.Status = corev1.ConditionTrue
		}
		pod.Status.Conditions = []corev1.PodCondition{ready}
		if err := indexer.Add(pod); err != nil {
			panic(err) // a namespace index of objects with metadata
		}
	}
	return corelisters.NewPodLister(indexer).Pods(namespace)
}

var _ coreinformers.PodInformer = pods{}

// objects are the HorizontalPodAutoscalers.
type objects struct {
	informer
	indexer cache.Indexer
}

var _ autoscalinginformers.HorizontalPodAutoscalerInformer = (*objects)(nil)

func (o *objects) Informer() cache.SharedIndexInformer { return &o.informer }

func (o *objects) Lister() autoscalinglisters.HorizontalPodAutoscalerLister {
	return autoscalinglisters.NewHorizontalPodAutoscalerLister(o.indexer)
}

// informer is always in sync and remembers its handler.
type informer struct {
	cache.SharedIndexInformer // nothing else of it is used
	handler                   cache.ResourceEventHandler
}

func (i *informer) HasSynced() bool { return true }

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = h
	return nil, nil //nolint:nilnil // the controller drops the registration
}

// newObjects makes the objects of the sequences.
func newObjects(sequences []*Sequence) *objects {
	o := &objects{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	for i, s := range sequences {
		hpa := &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: strconv.Itoa(i), Name: "hpa"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "target"},
				MinReplicas:    &s.Min, MaxReplicas: s.Max,
			},
		}
		if s.Up != nil {
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: s.Up.spec(), ScaleDown: s.Down.spec()}
		}
		for j, m := range s.Metrics {
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, m.spec(strconv.Itoa(j)))
		}
		if err := o.indexer.Add(hpa); err != nil {
			panic(err) // as above
		}
	}
	return o
}

func (r *Rules) spec() *autoscalingv2.HPAScalingRules {
	policy := autoscalingv2.ScalingPolicySelect(r.Select)
	out := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &r.Window, SelectPolicy: &policy}
	if r.Tolerance >= 0 {
		out.Tolerance = resource.NewMilliQuantity(r.Tolerance, resource.DecimalSI)
	}
	for _, p := range r.Policies {
		kind := autoscalingv2.PodsScalingPolicy
		if p.Percent {
			kind = autoscalingv2.PercentScalingPolicy
		}
		out.Policies = append(out.Policies, autoscalingv2.HPAScalingPolicy{Type: kind, Value: p.Value, PeriodSeconds: p.Period})
	}
	return out
}

func (m Metric) spec(name string) autoscalingv2.MetricSpec {
	target := resource.NewMilliQuantity(m.Target, resource.DecimalSI)
	id := autoscalingv2.MetricIdentifier{Name: name}
	switch m.Kind {
	case "Pods":
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: id, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: target},
		}}
	case "Value":
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: id, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: target},
		}}
	default:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: id, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: target},
		}}
	}
}
