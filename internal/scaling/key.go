package scaling

import (
	"cmp"
	"errors"
	"strings"
)

// ModelKey identifies a served model. The ID alone is never a key: two
// namespaces that serve the same ID are two models.
type ModelKey struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"` // as exported in the engine's label model_name
}

// String returns "namespace/id".
func (k ModelKey) String() string { return k.Namespace + "/" + k.ID }

// Compare orders keys by namespace, then ID.
func (k ModelKey) Compare(o ModelKey) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.ID, o.ID))
}

// VariantKey identifies a variant by its VariantAutoscaling object, not by the
// workload that the object scales.
type VariantKey struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns "namespace/name".
func (k VariantKey) String() string { return k.Namespace + "/" + k.Name }

// Compare orders keys by namespace, then name.
func (k VariantKey) Compare(o VariantKey) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name))
}

// TargetRef names the workload that a variant scales, in the variant's namespace.
type TargetRef struct {
	APIVersion string `json:"apiVersion"` // group/version, "apps/v1" for a Deployment
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// ErrClusterScoped is the error for a target whose kind has no namespace. Permission to write a
// VariantAutoscaling in one namespace must not extend to objects of the whole cluster.
var ErrClusterScoped = errors.New("it belongs to no namespace; a VariantAutoscaling scales targets of its own namespace only")

// String returns "Kind/name".
func (r TargetRef) String() string { return r.Kind + "/" + r.Name }

// CycleID names a cycle, unlike every other cycle of any process: "k7hw2cxd-12" is the twelfth of
// its process. Log lines, events, records and explanations of the cycle show it. Compare it for
// equality only.
type CycleID string
