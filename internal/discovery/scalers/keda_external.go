package scalers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The metadata by which a trigger of our external scaler names a decision. scalerKeys adds the
// other metadata of such a trigger.
const (
	keyVariantName = "variantName"
	keyNamespace   = "namespace"
)

var scalerKeys = []string{keyVariantName, keyNamespace, "modelID", "variantCost", "scalerAddress", "enableTLS", "unsafeSsl"}

// asksUs reports whether a trigger asks our external scaler. Its address does not tell. It does if
// it names a variant, or has no metadata but ours.
func (t kedaTrigger) asksUs() bool {
	if t.Type != "external" && t.Type != "external-push" {
		return false
	}
	if t.Metadata[keyVariantName] != "" {
		return true
	}
	for key := range t.Metadata {
		if !slices.Contains(scalerKeys, key) {
			return false
		}
	}
	return true
}

// TriggerReads reports whether a trigger of a ScaledObject, of the type kind, reads a decision:
// from the manager as its external scaler, or by a query.
func TriggerReads(kind string, metadata map[string]string) (fromManager, byQuery bool) {
	t := kedaTrigger{Type: kind, Metadata: metadata}
	for _, text := range metadata {
		byQuery = byQuery || metricIn(text) != ""
	}
	return t.asksUs(), byQuery
}

// misasks says why a trigger of our external scaler does not read the decision with the labels own,
// "" where it does. A trigger without a variant name reads the decision on its target.
func (t kedaTrigger) misasks(own series) string {
	if name := t.Metadata[keyVariantName]; name != "" && name != own[labelVariant] {
		return fmt.Sprintf("its trigger of type %s asks for variant %s", t.Type, name)
	}
	if ns := t.Metadata[keyNamespace]; ns != "" && ns != own[labelExportedNamespace] {
		return fmt.Sprintf("its trigger of type %s asks for namespace %s, and is answered about its own alone", t.Type, ns)
	}
	if t.MetricType != "" && t.MetricType != "AverageValue" {
		return fmt.Sprintf("the metricType of its trigger of type %s is %s, and must be AverageValue", t.Type, t.MetricType)
	}
	return ""
}

// ScaledObjectTarget returns the kind and the name of the target of a ScaledObject, and false where
// they are unknown.
func (r *Reader) ScaledObjectTarget(ctx context.Context, namespace, name string) (kind, target string, ok bool) {
	if has, why := r.hasKEDA(ctx); !has || why != "" {
		return "", "", false
	}
	u := newScaledObject()
	if err := r.watches.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u, client.UnsafeDisableDeepCopy); err != nil {
		return "", "", false
	}
	s, err := readScaledObject(u)
	if err != nil {
		return "", "", false
	}
	ref := s.Spec.ScaleTargetRef
	return cmp.Or(ref.Kind, kindDeployment), ref.Name, ref.Name != ""
}
