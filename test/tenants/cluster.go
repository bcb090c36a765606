package tenants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// cluster holds objects as the caches of a manager do: indexed by namespace, and stripped as
// discovery.CacheOptions says. It is safe for concurrent use.
type cluster struct {
	client.Client // other methods panic

	strip map[string]toolscache.TransformFunc // by kind

	mu      sync.Mutex
	objects map[string]map[string][]client.Object // by kind and namespace, sorted by name
	nodes   []corev1.Node
	pods    []corev1.Pod // as the API server has them; empty where nothing is limited
	limited bool
	full    bool            // the bytes of objects have no limit
	pages   map[string]page // by host
	bytes   map[string]int  // of objects, by namespace
	scaled  []string        // namespaces of scales that were set

	stripped spent // by stripping objects of the hostile namespace
}

var (
	_ scalers.Watches       = (*cluster)(nil)
	_ discovery.Scales      = (*cluster)(nil)
	_ controller.Informers  = (*cluster)(nil)
	_ controller.Objects    = (*cluster)(nil)
	_ controller.ConfigMaps = (*cluster)(nil)
)

// The kinds of objects that a cluster holds.
const (
	kindVariant      = "VariantAutoscaling"
	kindDeployment   = "Deployment"
	kindStatefulSet  = "StatefulSet"
	kindReplicaSet   = "ReplicaSet"
	kindPod          = "Pod"
	kindHPA          = "HorizontalPodAutoscaler"
	kindScaledObject = "ScaledObject"
	kindNamespace    = "Namespace"
	kindConfigMap    = "ConfigMap"
)

// newCluster returns a cluster without objects.
func newCluster(limited bool) *cluster {
	c := &cluster{
		strip: map[string]toolscache.TransformFunc{}, objects: map[string]map[string][]client.Object{}, pages: map[string]page{},
		bytes: map[string]int{}, limited: limited,
	}
	for object, by := range discovery.CacheOptions(discovery.Needs{Pages: labels.Everything()}).ByObject {
		c.strip[kindOf(object)] = by.Transform
	}
	return c
}

// kindOf returns the kind of an object.
func kindOf(object client.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(object).Elem().Name()
}

// add adds an object, in place of one with the same name, and reports whether the cluster took it:
// a namespace holds at most mostBytes.
func (c *cluster) add(object client.Object) bool {
	kind, namespace := kindOf(object), object.GetNamespace()
	if sized, ok := object.(interface{ Size() int }); ok {
		size := sized.Size()
		if c.bytes[namespace]+size > mostBytes && !c.full {
			return false
		}
		c.bytes[namespace] += size
	}
	if p, ok := object.(*corev1.Pod); ok && c.limited {
		c.pods = append(c.pods, *p.DeepCopy())
	}
	if strip := c.strip[kind]; strip != nil {
		var before spent
		if namespace == evil {
			before = spentSoFar()
		}
		stripped, err := strip(object)
		if err != nil {
			return false
		}
		if namespace == evil {
			after := spentSoFar()
			c.stripped.cpu, c.stripped.allocated = c.stripped.cpu+after.cpu-before.cpu, c.stripped.allocated+after.allocated-before.allocated
		}
		object, _ = stripped.(client.Object)
	}
	c.put(kind, object)
	return true
}

func (c *cluster) put(kind string, object client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.objects[kind]
	if of == nil {
		of = map[string][]client.Object{}
		c.objects[kind] = of
	}
	namespace := object.GetNamespace()
	at, found := slices.BinarySearchFunc(of[namespace], object.GetName(), func(o client.Object, name string) int { return strings.Compare(o.GetName(), name) })
	if found {
		of[namespace][at] = object
		return
	}
	of[namespace] = slices.Insert(of[namespace], at, object)
}

// list returns the objects of a kind in a namespace, "" for all.
func (c *cluster) list(kind, namespace string) []client.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	if namespace != "" {
		return slices.Clone(c.objects[kind][namespace])
	}
	var out []client.Object
	for _, n := range slices.Sorted(maps.Keys(c.objects[kind])) {
		out = append(out, c.objects[kind][n]...)
	}
	return out
}

// object returns an object, nil where there is none.
func (c *cluster) object(kind, namespace, name string) client.Object {
	for _, o := range c.list(kind, namespace) {
		if o.GetName() == name {
			return o
		}
	}
	return nil
}

// List implements client.Reader. The objects are those of the cache.
func (c *cluster) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
	if kind == "PartialObjectMetadata" || kind == "Unstructured" {
		kind = strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
	}
	objects := c.list(kind, o.Namespace)
	if o.LabelSelector != nil {
		objects = slices.DeleteFunc(objects, func(x client.Object) bool { return !o.LabelSelector.Matches(labels.Set(x.GetLabels())) })
	}
	switch l := list.(type) {
	case *v1alpha1.VariantAutoscalingList:
		l.Items = items[v1alpha1.VariantAutoscaling](objects)
	case *appsv1.DeploymentList:
		l.Items = items[appsv1.Deployment](objects)
	case *appsv1.StatefulSetList:
		l.Items = items[appsv1.StatefulSet](objects)
	case *corev1.PodList:
		l.Items = items[corev1.Pod](objects)
	case *autoscalingv2.HorizontalPodAutoscalerList:
		l.Items = items[autoscalingv2.HorizontalPodAutoscaler](objects)
	case *metav1.PartialObjectMetadataList:
		l.Items = items[metav1.PartialObjectMetadata](objects)
	case *unstructured.UnstructuredList:
		l.Items = items[unstructured.Unstructured](objects)
	default:
		return fmt.Errorf("a cluster in memory has no list %T", list)
	}
	return nil
}

// items returns the objects of type T.
func items[T any](objects []client.Object) []T {
	out := make([]T, 0, len(objects))
	for _, o := range objects {
		if x, ok := any(o).(*T); ok {
			out = append(out, *x)
		}
	}
	return out
}

// Get implements client.Reader for VariantAutoscalings.
func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	va, ok := into.(*v1alpha1.VariantAutoscaling)
	if !ok {
		return fmt.Errorf("a cluster in memory reads no %T by name", into)
	}
	found, ok := c.object(kindVariant, key.Namespace, key.Name).(*v1alpha1.VariantAutoscaling)
	if !ok {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("variantautoscalings").GroupResource(), key.Name)
	}
	found.DeepCopyInto(va)
	return nil
}

// Patch implements subresource.Patcher. It does nothing: marks of pods decide nothing here.
func (c *cluster) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// Variant implements controller.Objects.
func (c *cluster) Variant(ctx context.Context, key client.ObjectKey) (*v1alpha1.VariantAutoscaling, error) {
	va := &v1alpha1.VariantAutoscaling{}
	return va, c.Get(ctx, key, va)
}

// Variants implements controller.Objects.
func (c *cluster) Variants(context.Context) ([]client.ObjectKey, error) {
	var keys []client.ObjectKey
	for _, o := range c.list(kindVariant, "") {
		keys = append(keys, client.ObjectKeyFromObject(o))
	}
	return keys, nil
}

// LeftAlone implements controller.Objects. It returns none.
func (c *cluster) LeftAlone(context.Context) ([]v1alpha1.VariantAutoscaling, error) { return nil, nil }

// WriteStatus implements controller.Objects.
func (c *cluster) WriteStatus(_ context.Context, va *v1alpha1.VariantAutoscaling) error {
	c.put(kindVariant, va.DeepCopy())
	return nil
}

// Start implements controller.ConfigMaps. ConfigMaps do not change while a case runs.
func (c *cluster) Start(context.Context, func(controller.ConfigMapChange)) error { return nil }

// Wait implements controller.ConfigMaps.
func (c *cluster) Wait() {}

// All implements controller.ConfigMaps.
func (c *cluster) All(context.Context) ([]corev1.ConfigMap, error) {
	return items[corev1.ConfigMap](c.list(kindConfigMap, "")), nil
}

// informer is the informer of any kind: its objects are listed and do not change.
type informer struct{ cache.Informer }

// HasSynced implements cache.Informer.
func (informer) HasSynced() bool { return true }

// AddEventHandler implements cache.Informer.
func (informer) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return nil, nil //nolint:nilnil // the move has no reader
}

// GetInformer implements scalers.Watches and controller.Informers.
func (c *cluster) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{}, nil
}

// Kinds of targets without an informer.
const (
	kindScalable = "LeaderWorkerSet" // has a scale
	kindHanging  = "Hanging"         // its webhook does not answer
	kindOfAll    = "GlobalThing"     // has no namespace
)

// Scale implements discovery.Scales and subresource.Scales.
func (c *cluster) Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error) {
	switch target.Kind {
	case kindScalable, kindDeployment, kindStatefulSet:
		replicas := int32(1)
		if d, ok := c.object(kindDeployment, namespace, target.Name).(*appsv1.Deployment); ok && d.Spec.Replicas != nil {
			replicas = *d.Spec.Replicas
		}
		return &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: target.Name},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas}, Status: autoscalingv1.ScaleStatus{Selector: "app=" + namespace},
		}, nil
	case kindHanging:
		<-ctx.Done()
		return nil, ctx.Err()
	case kindOfAll:
		return nil, fmt.Errorf("reading the scale of %s: %w", target, scaling.ErrClusterScoped)
	}
	return nil, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: target.Kind}}
}

// SetScale implements subresource.Scales.
func (c *cluster) SetScale(ctx context.Context, target scaling.TargetRef, scale *autoscalingv1.Scale) error {
	if target.Kind == kindHanging {
		<-ctx.Done()
		return ctx.Err()
	}
	if target.Kind == kindOfAll {
		return errors.New("a target without a namespace was scaled")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scaled = append(c.scaled, scale.Namespace)
	return nil
}

// stockClient is the API server for the manager's requests of nodes and pods.
type stockClient struct {
	client.WithWatch // other methods panic

	cluster *cluster
}

// List implements client.Reader.
func (s stockClient) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetResourceVersion("1")
	switch l := list.(type) {
	case *corev1.NodeList:
		l.Items = s.cluster.nodes
	case *corev1.PodList:
		l.Items = slices.Clone(s.cluster.pods)
	default:
		return fmt.Errorf("the stock lists no %T", list)
	}
	return nil
}

// Watch implements client.WithWatch. Nothing changes.
func (stockClient) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewRaceFreeFake(), nil
}

// IsWatchListSemanticsUnSupported makes reflectors list first.
func (stockClient) IsWatchListSemanticsUnSupported() bool { return true }
