package tenants

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// hostile fills the hostile namespace of a cluster.
type hostile struct {
	*cluster

	of        Case
	random    *rand.Rand // for the present move
	made      int        // number of objects, for unique names
	variants  int
	pods      int
	requested int  // accelerators that pods request
	full      bool // only the manager limits it
}

// addHostile makes the moves of a case. It returns how many accelerators the pods of the hostile
// namespace request and how many VariantAutoscalings it has. With any move there is an ordinary
// variant too, since ConfigMaps count only in namespaces with one.
func (c *cluster) addHostile(of Case) (requested, variants int) {
	if len(of.Moves) == 0 && of.Full == "" {
		return 0, 0
	}
	h := &hostile{cluster: c, of: of, full: of.Full != "", random: rand.New(rand.NewPCG(0, 0))}
	c.full = h.full
	h.addNamespace(evil, nil)
	h.variant("ordinary", 1, nil)
	for _, m := range of.Moves {
		h.random = rand.New(rand.NewPCG(m.Seed, uint64(m.Size)))
		moves()[m.Kind].make(h, m.Size)
	}
	if of.Full != "" {
		fills()[of.Full](h)
	}
	return h.requested, h.variants
}

// product returns the accelerator of the namespace's variants.
func (h *hostile) product() string {
	if h.of.Stock == StockApart {
		return otherProduct
	}
	return gpuProduct
}

// name returns a name that no other object has.
func (h *hostile) name(prefix string) string {
	h.made++
	return fmt.Sprintf("%s-%d", prefix, h.made)
}

// variant adds a variant of a model of its own, with Deployment, pods and HPA, unless the namespace
// has the most that it may. Pods beyond its ResourceQuota are refused.
func (h *hostile) variant(prefix string, replicas int, change func(*v1alpha1.VariantAutoscaling)) {
	name := h.name(prefix)
	h.rawVariant(variantSpec{
		namespace: evil, name: name, model: "evil/" + name, product: h.product(), gpus: 1, replicas: replicas, change: change,
		load: load{running: h.random.IntN(64), waiting: h.random.IntN(40), usage: h.random.Float64(), rate: 2},
	})
}

func (h *hostile) rawVariant(s variantSpec) {
	if h.variants >= mostVariants && !h.full {
		return
	}
	h.variants++
	pods := s.replicas
	if !h.full {
		pods = min(pods, mostPods-h.pods)
	}
	if s.gpus > 0 && h.of.shares() {
		pods = min(pods, (evilQuota-h.requested)/s.gpus)
	}
	pods = max(0, pods)
	asked := s.replicas
	s.replicas = pods
	change := s.change
	s.change = func(va *v1alpha1.VariantAutoscaling) {
		if change != nil {
			change(va)
		}
		if !valid(va) {
			va.Spec = v1alpha1.VariantAutoscalingSpec{ModelID: "refused-by-the-api-server"}
		}
	}
	h.pods += pods
	h.requested += pods * s.gpus
	h.addVariant(s)
	if asked == pods {
		return
	}
	if d, ok := h.object(kindDeployment, evil, s.name).(*appsv1.Deployment); ok {
		d.Spec.Replicas = new(int32(asked))
	}
}

// pod adds a pod without a controller, unless the namespace has the most that it may. It requests
// no accelerators.
func (h *hostile) pod(served page, change func(*corev1.Pod)) {
	if h.pods >= mostPods {
		return
	}
	h.pods++
	host := fmt.Sprintf("10.200.%d.%d", h.pods>>8, h.pods&255)
	name := h.name("pod")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: name, UID: types.UID("p-" + name), CreationTimestamp: born(), Labels: map[string]string{"app": evil}}}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: born()}}}
	if change != nil {
		change(p)
	}
	h.pages[host] = served
	h.add(p)
}

// Patterns of the CRD.
var (
	costPattern = regexp.MustCompile(`^\d+(\.\d+)?$`)
	idPattern   = regexp.MustCompile(`^.+-[A-Za-z0-9_-]+-[1-9][0-9]*$`)
)

// valid reports whether the API server accepts an object, by the rules of the CRD.
func valid(va *v1alpha1.VariantAutoscaling) bool {
	s := &va.Spec
	counts := []*int32{s.MaxReplicas, s.AcceleratorCount}
	names := []string{s.ModelID}
	if s.ScaleTargetRef != nil {
		names = append(names, s.ScaleTargetRef.Kind, s.ScaleTargetRef.Name)
	}
	if s.SLOClassRef != nil {
		names = append(names, s.SLOClassRef.Name, s.SLOClassRef.Key)
	}
	if s.VariantProfile != nil {
		counts = append(counts, s.VariantProfile.MaxBatchSize)
	}
	if s.ModelProfile != nil {
		for _, a := range s.ModelProfile.Accelerators {
			counts, names = append(counts, a.AccCount, a.MaxBatchSize), append(names, a.Acc)
		}
	}
	return !slices.Contains(names, "") && !slices.ContainsFunc(counts, func(n *int32) bool { return n != nil && *n < 1 }) &&
		s.MinReplicas >= 0 && (s.MaxReplicas == nil || *s.MaxReplicas >= s.MinReplicas) && (s.ModelProfile == nil || len(s.ModelProfile.Accelerators) > 0) &&
		costPattern.MatchString(cmp.Or(s.VariantCost, "0")) && idPattern.MatchString(cmp.Or(s.VariantID, "m-a-1"))
}

// pick returns one of the values at random.
func pick[T any](h *hostile, of ...T) T { return of[h.random.IntN(len(of))] }

// number returns a number as text, mostly one that an honest namespace would not write.
func (h *hostile) number() string {
	return pick(h, "0", "1", "-1", "0.8", "5", "NaN", ".nan", ".inf", "-.Inf", "+Inf", "1e300", "1e-300", "1e12", "1.7976931348623157e308", "5e-324", "2147483647", "2147483648",
		"9223372036854775807", "-9223372036854775808", "1e19", "0x10", "0o17", "1_000", "100%", "10m", "8760h", "-1s", "true", "null", "~", "''", "[]", "{}")
}

// text returns a text of about size bytes.
func (h *hostile) text(size int) string {
	unit := pick(h, "a", "ab", "-", "é", "\x00", "\x1b[2J", "\u202e", "\"", "\\", "'", "\n", "{{", "%s%n", "${A}", "$(A)", ",", "= ", ".", "/", "org/model-000", evil, "default/default", "\xff\xfe")
	return strings.Repeat(unit, max(1, size/len(unit)))
}

// stranger returns a name that belongs to an honest namespace, or to the platform.
func (h *hostile) stranger() string {
	n := h.random.IntN(h.of.Honest)
	return pick(h, fmt.Sprintf("org/model-%03d", n), fmt.Sprintf("variant-%03d", n), honestNamespace(n/perNamespace), "premium", "Premium", "default/default", "default", "__defaults__",
		"service-classes-config", system, gpuProduct, "H100", "")
}

// mutate returns an honest text with a few bytes changed.
func (h *hostile) mutate(honest []byte) []byte {
	out := append([]byte(nil), honest...)
	for range 1 + h.random.IntN(6) {
		if len(out) == 0 {
			return out
		}
		from := h.random.IntN(len(out))
		to := min(len(out), from+1+h.random.IntN(24))
		var in string
		switch h.random.IntN(6) {
		case 0: // another byte
			in, to = string([]byte{byte(h.random.IntN(256))}), from+1
		case 1: // a part is missing
		case 2: // a part is repeated
			in = strings.Repeat(string(out[from:to]), 2+h.random.IntN(40))
		case 3:
			in = h.number()
		case 4:
			in = h.text(1 + h.random.IntN(300))
		case 5:
			in = h.stranger()
		}
		out = append(out[:from:from], append([]byte(in), out[to:]...)...)
	}
	return out
}
