package lab

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// squeeze takes first replicas from Sized models until the nodes have room: one at a time from the
// variant with most, and none below a minimum. If the replicas that a scenario states itself do not
// fit, the run refuses them.
func (f *fitted) squeeze() {
	for _, nodes := range f.Fleet.Nodes {
		for f.taken(nodes.Accelerator) > nodes.GPUs.Times(nodes.Count) {
			v := f.largest(nodes.Accelerator)
			if v == nil {
				break
			}
			v.Replicas--
		}
	}
}

// taken returns the accelerators of one type that the first replicas take.
func (f *fitted) taken(accelerator string) scaling.Accelerators {
	n := scaling.Accelerators(0)
	for _, m := range f.Models {
		for _, v := range m.Spec.Variants {
			if v.Spec.Accelerator == accelerator {
				n += v.Spec.GPUsPerReplica.Of(v.Replicas)
			}
		}
	}
	return n
}

// largest returns the variant of a Sized model on an accelerator with the most replicas, of those
// above their minimum; nil if there is none.
func (f *fitted) largest(accelerator string) *sim.Variant {
	var most *sim.Variant
	for i := range f.Models {
		if !f.Models[i].Sized {
			continue
		}
		for j := range f.Models[i].Spec.Variants {
			v := &f.Models[i].Spec.Variants[j]
			if v.Spec.Accelerator == accelerator && v.Replicas > v.Spec.Bounds.Min && (most == nil || v.Replicas > most.Replicas) {
				most = v
			}
		}
	}
	return most
}
