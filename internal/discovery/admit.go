package discovery

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// admit returns the objects within the budget of their namespace, and notes in c.Left which are
// left out. Objects that are being deleted cost nothing.
func (c *Cluster) admit(vas []v1alpha1.VariantAutoscaling) []v1alpha1.VariantAutoscaling {
	objects := make([]budget.Object, 0, len(vas))
	for i := range vas {
		if va := &vas[i]; va.DeletionTimestamp.IsZero() {
			objects = append(objects, budget.Object{
				Namespace: va.Namespace, Name: va.Name, Created: va.CreationTimestamp.Time, Bytes: textOf(va), Batch: batchOf(va.Spec),
			})
		}
	}
	left := c.Limits.Admit(objects)
	c.left.Store(&left)
	for w, counts := range budget.Counts(left) {
		c.Left.Note(w, counts)
	}
	if len(left) == 0 {
		return vas
	}
	admitted := make([]v1alpha1.VariantAutoscaling, 0, len(vas)-len(left))
	for _, va := range vas {
		if _, out := left[budget.Key{Namespace: va.Namespace, Name: va.Name}]; !out {
			admitted = append(admitted, va)
		}
	}
	return admitted
}

// LeftOut returns the limit of its namespace for which the last Fleet left an object out, and false
// for an object that it did not leave out.
func (c *Cluster) LeftOut(key scaling.VariantKey) (budget.What, bool) {
	left := c.left.Load()
	if left == nil {
		return "", false
	}
	w, out := (*left)[budget.Key(key)]
	return w, out
}

// textOf returns the bytes of the fields of an object that may have any length.
func textOf(va *v1alpha1.VariantAutoscaling) int {
	s := &va.Spec
	n := len(va.Namespace) + len(va.Name) + len(s.ModelID) + len(s.VariantID) + len(s.Accelerator) + len(s.VariantCost)
	for _, texts := range []map[string]string{va.Labels, va.Annotations} {
		n += lengths(texts)
	}
	if ref := s.ScaleTargetRef; ref != nil {
		n += len(ref.APIVersion) + len(ref.Kind) + len(ref.Name)
	}
	if ref := s.SLOClassRef; ref != nil {
		n += len(ref.Name) + len(ref.Key)
	}
	if s.VariantProfile != nil {
		n += parmsOf(s.VariantProfile.PerfParms)
	}
	if s.ModelProfile != nil {
		for _, e := range s.ModelProfile.Accelerators {
			n += entryBytes + len(e.Acc) + parmsOf(e.PerfParms)
		}
	}
	for _, c := range va.Status.Conditions {
		n += entryBytes + len(c.Type) + len(c.Reason) + len(c.Message)
	}
	for _, f := range va.Finalizers {
		n += len(f)
	}
	for _, o := range va.OwnerReferences {
		n += entryBytes + len(o.Name) + len(o.Kind) + len(o.APIVersion)
	}
	return n
}

// entryBytes is the size of a list entry without its text.
const entryBytes = 64

func parmsOf(p *v1alpha1.PerfParms) int {
	if p == nil {
		return 0
	}
	return lengths(p.DecodeParms) + lengths(p.PrefillParms)
}

// lengths returns the bytes of all keys and values.
func lengths(texts map[string]string) int {
	n := 0
	for key, value := range texts {
		n += len(key) + len(value)
	}
	return n
}

// batchOf returns the maximum batch size in an object's profile, 0 without a profile. An older
// profile with several entries counts with its largest.
func batchOf(spec v1alpha1.VariantAutoscalingSpec) int {
	of := func(most *int32) int {
		var p scaling.Profile
		if most != nil {
			p.MaxBatchSize = int(*most)
		}
		return p.Batch()
	}
	if p := spec.VariantProfile; p != nil {
		return of(p.MaxBatchSize)
	}
	largest := 0
	if spec.ModelProfile != nil {
		for _, e := range spec.ModelProfile.Accelerators {
			largest = max(largest, of(e.MaxBatchSize))
		}
	}
	return largest
}
