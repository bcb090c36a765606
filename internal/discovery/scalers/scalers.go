package scalers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// searchAgain is how often a cluster without a kind is asked again whether it has it; each time
// costs requests to the API server. Until then no object of the kind is known.
const searchAgain = time.Minute

// scaledObjectKind is the kind of KEDA's scalers.
var scaledObjectKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: scaling.KindScaledObject}

// Watches is the cache of a manager. Its informers report whether everything is listed.
type Watches interface {
	client.Reader
	// GetInformer returns the informer of a kind and starts it if need be. The
	// error is a NoMatchError of meta where the cluster has no such kind.
	GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Search remembers that the cluster did not have a kind. The zero value has not searched. It is
// safe for concurrent use.
type Search struct {
	mu   sync.Mutex
	next time.Time // when to search again
}

// due reports whether to search at now.
func (k *Search) due(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !now.Before(k.next)
}

// missed records that the cluster did not have the kind at now.
func (k *Search) missed(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = now.Add(searchAgain)
}

// claim is the target of an object, without the API version: one object has several.
type claim struct{ namespace, kind, name string }

// kindDeployment is the target kind of a ScaledObject that names none.
const kindDeployment = "Deployment"

// scalersOf holds the scalers of each target in the namespaces that were read.
type scalersOf struct {
	serves  bool   // Reader.ServesMetrics
	fault   string // why the scalers are unknown, "" when they are known
	byClaim map[claim][]scalerObject
	// averages holds the HPAs that read a decision as an average, by the variant that they name.
	averages map[scaling.VariantKey][]averageReader
	zero     scaling.HPAZero
}

// averageReader is an HPA that reads a decision as an average: its name and its target.
type averageReader struct {
	name  string
	scale claim
}

// scalerObject is a scaler: an HPA, a ScaledObject, or both where KEDA made the HPA for the
// ScaledObject.
type scalerObject struct {
	hpa  *autoscalingv2.HorizontalPodAutoscaler
	keda *scaledObject
}

// meta returns the metadata of the object that a user made.
func (o scalerObject) meta() metav1.ObjectMeta {
	if o.keda != nil {
		return o.keda.ObjectMeta
	}
	return o.hpa.ObjectMeta
}

// older reports whether a was created before b, ties by name.
func older(a, b metav1.ObjectMeta) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// Reader reads scalers. It is safe for concurrent use.
type Reader struct {
	// Release is that of the API server; with nil it stays unknown. Set it before the first use.
	Release *Release
	// ServesMetrics is whether scalers may read decisions from this process by the External Metrics
	// API. Set it before the first use.
	ServesMetrics bool

	watches Watches
	clock   clock.PassiveClock
	keda    Search
}

// New returns a Reader of the objects in w. A nil Reader knows nothing.
func New(w Watches, clk clock.PassiveClock) *Reader { return &Reader{watches: w, clock: clk} }

// Of returns the scalers of the targets of variants, which are sorted by key. It never waits:
// objects that an informer has not listed yet, or has no right to list, are unknown.
func (r *Reader) Of(ctx context.Context, variants []scaling.Variant) map[scaling.VariantKey]scaling.Scalers {
	found := r.scalersOf(ctx, variants)
	out := make(map[scaling.VariantKey]scaling.Scalers, len(variants))
	taken := make(map[scaling.VariantKey]bool, len(variants))
	for _, v := range variants {
		taken[v.Key] = true
	}
	for _, v := range variants {
		out[v.Key] = found.of(v, taken)
	}
	return out
}

func (r *Reader) scalersOf(ctx context.Context, variants []scaling.Variant) scalersOf {
	if r == nil || r.watches == nil {
		return scalersOf{fault: "who scales targets is not read"}
	}
	fault, _ := r.unread(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, scaling.KindHPA) // the fault contains the error
	keda, kedaFault := r.hasKEDA(ctx)
	if fault = cmp.Or(fault, kedaFault); fault != "" {
		return scalersOf{fault: fault}
	}
	out := scalersOf{serves: r.ServesMetrics, byClaim: map[claim][]scalerObject{}, averages: map[scaling.VariantKey][]averageReader{}}
	last := ""
	for _, v := range variants { // sorted by namespace
		if v.Key.Namespace == last {
			continue
		}
		last = v.Key.Namespace
		if err := r.readNamespace(ctx, last, keda, out); err != nil {
			return scalersOf{fault: err.Error()}
		}
	}
	out.zero = scaling.HPAZeroOf(r.Release.known(), out.showsZero())
	return out
}

// showsZero reports whether an HPA shows that HPAs of the cluster may set zero replicas.
func (s scalersOf) showsZero() bool {
	for _, objects := range s.byClaim {
		if slices.ContainsFunc(objects, func(o scalerObject) bool { return o.hpa != nil && showsZero(o.hpa) }) {
			return true
		}
	}
	return false
}

// hasKEDA reports whether the cluster has ScaledObjects, and if so why they cannot be read, "" when
// they can.
func (r *Reader) hasKEDA(ctx context.Context) (has bool, why string) {
	return r.has(ctx, &r.keda, scaledObjectKind)
}

// has reports whether the cluster has a kind, and if so why its objects cannot be read, "" when
// they can. It starts to watch them.
func (r *Reader) has(ctx context.Context, search *Search, kind schema.GroupVersionKind) (has bool, why string) {
	now := r.clock.Now()
	if !search.due(now) {
		return false, ""
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	why, err := r.unread(ctx, object, kind.Kind)
	if meta.IsNoMatchError(err) {
		search.missed(now)
		return false, ""
	}
	return true, why
}

// Optional returns the objects of a namespace of a kind that not every cluster has; none where they
// cannot be read. It never waits. The caller must not modify them.
func (r *Reader) Optional(ctx context.Context, search *Search, kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	if r == nil || r.watches == nil {
		return nil
	}
	if has, why := r.has(ctx, search, kind); !has || why != "" {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if r.watches.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return list.Items
}

// listedWithin is how long Wait waits at most, lookEvery how often it checks.
const listedWithin, lookEvery = 10 * time.Second, 100 * time.Millisecond

// Wait returns once the HorizontalPodAutoscalers are listed, and the ScaledObjects where the
// cluster has KEDA, or after ten seconds: then the manager has no right to list them, or the API
// server does not answer.
func (r *Reader) Wait(ctx context.Context) {
	_ = wait.PollUntilContextTimeout(ctx, lookEvery, listedWithin, true, func(ctx context.Context) (bool, error) { // a timeout counts as no scalers
		why, _ := r.unread(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, scaling.KindHPA)
		_, keda := r.hasKEDA(ctx)
		return why == "" && keda == "", nil
	})
}

// unread says why the objects of a kind cannot be read now, "" when they can, and returns the error
// if there is one. It starts to watch them.
func (r *Reader) unread(ctx context.Context, object client.Object, kind string) (string, error) {
	informer, err := r.watches.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	switch {
	case err != nil:
		return fmt.Sprintf("watching %ss: %v", kind, err), err
	case !informer.HasSynced():
		return fmt.Sprintf("%ss have not been listed yet; the manager's role must allow to list and watch them", kind), nil
	}
	return "", nil
}

// readNamespace adds the scalers of a namespace.
func (r *Reader) readNamespace(ctx context.Context, namespace string, keda bool, into scalersOf) error {
	made := map[string]*scaledObject{} // ScaledObjects by name
	if keda {
		list := newScaledObjectList()
		if err := r.watches.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing ScaledObjects in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			s, err := readScaledObject(&list.Items[i])
			if err != nil {
				return err
			}
			made[s.Name] = s
		}
	}
	var hpas autoscalingv2.HorizontalPodAutoscalerList
	if err := r.watches.List(ctx, &hpas, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing HorizontalPodAutoscalers in namespace %s: %w", namespace, err)
	}
	for i := range hpas.Items {
		h := &hpas.Items[i]
		ref := h.Spec.ScaleTargetRef
		at := claim{namespace, ref.Kind, ref.Name}
		object := scalerObject{hpa: h}
		if owner := metav1.GetControllerOfNoCopy(h); owner != nil && owner.Kind == scaling.KindScaledObject && made[owner.Name] != nil {
			object.keda = made[owner.Name]
			delete(made, owner.Name)
		}
		into.byClaim[at] = append(into.byClaim[at], object)
		for _, variant := range averagesOf(h) {
			key := scaling.VariantKey{Namespace: namespace, Name: variant}
			into.averages[key] = append(into.averages[key], averageReader{h.Name, at})
		}
	}
	for _, s := range made { // those without an HPA
		at := claim{namespace, cmp.Or(s.Spec.ScaleTargetRef.Kind, kindDeployment), s.Spec.ScaleTargetRef.Name}
		into.byClaim[at] = append(into.byClaim[at], scalerObject{keda: s})
	}
	return nil
}

// of returns the known scalers of the target of a variant. taken holds the existing variants: a
// scaler that selects the name of another one reads the decision on that one.
func (s scalersOf) of(v scaling.Variant, taken map[scaling.VariantKey]bool) scaling.Scalers {
	if s.fault != "" {
		return scaling.Scalers{Fault: s.fault}
	}
	out := scaling.Scalers{Known: true, Zero: s.zero}
	at := claim{v.Key.Namespace, v.Target.Kind, v.Target.Name}
	objects := s.byClaim[at]
	var oldest metav1.ObjectMeta // of the scalers that select another name
	for _, object := range objects {
		name := object.readsAs()
		if name == "" || name == v.Key.Name || taken[scaling.VariantKey{Namespace: v.Key.Namespace, Name: name}] {
			continue
		}
		if m := object.meta(); out.ReadAs == "" || older(m, oldest) {
			out.ReadAs, oldest = name, m
		}
	}
	own := seriesOf(v)
	if out.ReadAs != "" {
		own[labelVariant] = out.ReadAs
	}
	for _, object := range objects {
		out.List = append(out.List, object.scaler(own))
	}
	out.ByValue = s.byValue(out.List, s.averageElsewhere(scaling.VariantKey{Namespace: v.Key.Namespace, Name: own[labelVariant]}, at))
	slices.SortFunc(out.List, func(a, b scaling.Scaler) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return out
}

// averageElsewhere returns the name of an HPA of another target that reads the decision on a
// variant as an average, "" for none.
func (s scalersOf) averageElsewhere(variant scaling.VariantKey, at claim) string {
	for _, r := range s.averages[variant] {
		if r.scale != at {
			return r.name
		}
	}
	return ""
}

// byValue reports whether this process answers the scalers of a target by their ready pods: it
// serves metrics, all of them that read the decision multiply it, and no HPA of another target
// reads it as an average. Otherwise it sets Misread of those that multiply. elsewhere is the name
// of such an HPA, "" for none.
func (s scalersOf) byValue(all []scaling.Scaler, elsewhere string) bool {
	multiply, read := 0, 0
	for _, by := range all {
		if by.Misread == "" {
			read++
			if by.Multiplies {
				multiply++
			}
		}
	}
	if multiply > 0 && multiply == read && s.serves && elsewhere == "" {
		return true
	}
	wrong := multiplying + ". Set the type to AverageValue"
	switch {
	case multiply < read:
		wrong += "; another scaler of the target does"
	case elsewhere != "":
		wrong += "; " + scaling.KindHPA + " " + elsewhere + ", which scales another target, reads it as an average"
	case !s.serves:
		wrong += ", or serve it by the manager (--external-metrics-bind-address)"
	}
	for i := range all {
		if all[i].Multiplies && all[i].Misread == "" {
			all[i].Misread = wrong
		}
	}
	return false
}
