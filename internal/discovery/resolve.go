package discovery

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/stock"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// target is what is known of the scale target of a variant.
type target struct {
	missing string            // why the other fields are unknown, "" when they are known
	gone    bool              // the target does not exist
	current scaling.Replicas  // replicas asked for
	pod     *corev1.PodSpec   // of a replica, or of its leader; nil where the kind has no known template
	worker  *corev1.PodSpec   // of the other pods of a replica; nil for none
	workers int               // pods of a replica besides its leader
	labels  map[string]string // of the template of the pods
	pods    []pod             // live pods; only the leaders where a replica is a group
	owned   bool              // the pods were found by their owner, not by a selector
	failure scaling.Trouble   // why its pods are not created, or which image they wait for; zero where neither is known
	resized string            // message about a group whose size differs from the template, "" for none
}

// resolve returns the variant of a VariantAutoscaling and its target, without its start-up.
// unitCost may be nil.
func resolve(va *v1alpha1.VariantAutoscaling, t target, unitCost UnitCost) scaling.Variant {
	role, _ := roleOf(va, t) // holdIncomplete holds the model where the role is wrong
	v := scaling.Variant{
		Key:         keyOf(va),
		Model:       modelOf(va),
		Target:      refOf(va),
		Accelerator: accelerator(va, t),
		Bounds:      bounds(va.Spec),
		Missing:     t.missing,
		Gone:        t.gone,
		Paused:      va.Annotations[v1alpha1.AnnotationPaused] == "true",
		Role:        role,
		Approval:    approval(va),
		Undecidable: cmp.Or(scalers.Problem(va), t.resized),
	}
	if va.FromScaler() {
		v.Origin = va.Kind
	}
	v.GPUsPerReplica = gpusPerReplica(va, t.gpus(), v.Accelerator)
	v.ID = variantID(va.Spec.VariantID, v)
	v.Cost, v.CostSource = unitCost.ofReplica(va.Spec.VariantCost, va.Namespace, v.Accelerator, v.GPUsPerReplica)
	v.Profile = profile(va.Spec, v.Accelerator, v.GPUsPerReplica)
	if t.pod != nil {
		v.GPUsRequested, v.Unaccelerated = max(1, t.gpus()), unaccelerated(t.pod) && (t.worker == nil || unaccelerated(t.worker))
		held := scaling.Accelerators(0)
		for _, p := range t.pods {
			v.GPUsRequested, v.Unaccelerated = max(v.GPUsRequested, p.gpus), v.Unaccelerated && p.gpus == 0
			held += p.gpus
		}
		if each := gpusRequested(t.worker); each > 0 {
			v.Workers, v.GPUsPerWorker = min(t.workers, mostRequested), each
		}
		v.GPUsShort = max(0, v.GPUsRequested.Of(min(t.current, scaling.Replicas(len(t.pods))))-held)
	}
	v.Limits, v.Loaded = engineLimits(t.pod)
	v.Template = startedWith(t.pod)
	if t.missing == "" {
		v.Replicas = count(t.current, t.pods)
	}
	return v
}

// approval returns the approval that the annotations ask for and grant. The status reports an
// invalid value as a problem of the configuration.
func approval(va *v1alpha1.VariantAutoscaling) scaling.Approval {
	asks, ok := va.Annotations[v1alpha1.AnnotationApprove]
	if !ok {
		return scaling.Approval{}
	}
	out, _ := scaling.ParseApproval(asks)
	if grant, ok := va.Annotations[v1alpha1.AnnotationApproved]; ok && out.Required {
		out.Granted, _ = scaling.ParseGrant(grant)
	}
	return out
}

// accelerator returns the type of accelerator of a replica, "" when no source
// names one.
func accelerator(va *v1alpha1.VariantAutoscaling, t target) string {
	if va.Spec.Accelerator != "" {
		return va.Spec.Accelerator
	}
	if name := va.Labels[v1alpha1.LabelAcceleratorName]; name != "" && name != v1alpha1.AcceleratorUnknown {
		return name
	}
	if p := va.Spec.ModelProfile; p != nil && len(p.Accelerators) > 0 {
		return p.Accelerators[0].Acc
	}
	return cmp.Or(stock.ProductAskedFor(t.pod), stock.ProductAskedFor(t.worker))
}

// gpusPerReplica returns the number of accelerators of a replica, at least 1: that of the spec,
// else that which the target's containers request, else that of the older profile for this
// accelerator, else 1.
func gpusPerReplica(va *v1alpha1.VariantAutoscaling, requested scaling.Accelerators, accelerator string) scaling.Accelerators {
	if n := va.Spec.AcceleratorCount; n != nil && *n >= 1 {
		return scaling.Accelerators(*n)
	}
	if requested > 0 {
		return requested
	}
	for _, e := range entriesFor(va.Spec.ModelProfile, accelerator) {
		if e.AccCount != nil && *e.AccCount >= 1 {
			return scaling.Accelerators(*e.AccCount)
		}
	}
	return 1
}

// gpus returns the accelerators that the containers of a replica request, at most mostRequested.
func (t target) gpus() scaling.Accelerators {
	return min(gpusRequested(t.pod)+scaling.Accelerators(t.workers)*gpusRequested(t.worker), mostRequested)
}

// mostRequested limits the accelerators of one pod, and of one replica: no node has a million.
const mostRequested = 1 << 20

// gpusRequested returns the accelerators that the containers of a pod request, at most
// mostRequested.
func gpusRequested(pod *corev1.PodSpec) scaling.Accelerators {
	if pod == nil {
		return 0
	}
	total := int64(0)
	for _, c := range pod.Containers {
		for _, name := range stock.GPUResources {
			total = min(total+max(0, min(stock.Requested(c.Resources, name), mostRequested)), mostRequested)
		}
	}
	return scaling.Accelerators(total)
}

// gpusHeld returns the accelerators that a pod takes by its spec: at least 1 where it requests any
// device. The annotation annotationGPUs holds the number of a stripped pod.
func gpusHeld(p *corev1.Pod) scaling.Accelerators {
	switch {
	case len(p.Spec.Containers) == 0:
		n, err := strconv.Atoi(p.Annotations[annotationGPUs])
		if err != nil {
			return 0
		}
		return scaling.Accelerators(n)
	case unaccelerated(&p.Spec):
		return 0
	}
	return max(1, gpusRequested(&p.Spec))
}

// unaccelerated reports whether a pod requests no device at all: no extended resource, whose names
// have a domain, and no resource claim. Devices of an unknown vendor may be accelerators.
func unaccelerated(pod *corev1.PodSpec) bool {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if len(c.Resources.Claims) > 0 {
			return false
		}
		for _, asked := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for name, q := range asked {
				if strings.Contains(string(name), "/") && q.Sign() > 0 {
					return false
				}
			}
		}
	}
	return true
}

func bounds(spec v1alpha1.VariantAutoscalingSpec) scaling.Bounds {
	b := scaling.Unbounded()
	b.Min = max(0, scaling.Replicas(spec.MinReplicas))
	if spec.MaxReplicas != nil {
		b.Max = scaling.Replicas(*spec.MaxReplicas)
	}
	return b
}
