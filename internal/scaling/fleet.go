package scaling

import (
	"slices"
	"time"
)

// Pod is a serving pod that lives: it is not terminating and has not ended.
type Pod struct {
	Namespace string     `json:"namespace"`
	Name      string     `json:"name"`
	Variant   VariantKey `json:"variant"` // whose target owns the pod
	Ready     bool       `json:"ready"`
	// MetricsURL is the URL of the pod's metrics, "" where this process scrapes no pods.
	MetricsURL string `json:"page,omitempty"`
	// Created is when the pod was created, Scheduled when a node took it, Started when its kubelet
	// did, and ReadyAt when it last became Ready; each is zero before that, and while unknown.
	Created   time.Time `json:"created,omitzero"`
	Scheduled time.Time `json:"scheduled,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	ReadyAt   time.Time `json:"readyAt,omitzero"`
}

// PodName names a pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Fleet is every variant of the cluster and the pods behind them, at one
// instant.
type Fleet struct {
	At       time.Time `json:"at"`
	Variants []Variant `json:"variants"` // sorted by Key
	Pods     []Pod     `json:"pods"`     // sorted by Namespace, Name
	// Ending are the pods of the same namespaces that terminate and have not ended, of any
	// workload.
	Ending []PodName `json:"ending,omitempty"`
	// Conflicts are the targets that several variants name, sorted by the first contender. Only
	// that one is among Variants.
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// In returns the variants and pods of the namespaces that in accepts, without Ending and Conflicts.
func (f Fleet) In(in func(namespace string) bool) Fleet {
	out := Fleet{At: f.At}
	for _, v := range f.Variants {
		if in(v.Key.Namespace) {
			out.Variants = append(out.Variants, v)
		}
	}
	for _, p := range f.Pods {
		if in(p.Variant.Namespace) {
			out.Pods = append(out.Pods, p)
		}
	}
	return out
}

// Conflict is a target that several variants, all of one namespace, name.
type Conflict struct {
	Target     TargetRef    `json:"target"`
	Contenders []VariantKey `json:"contenders"` // by age, two or more; the first scales the target
}

// Models returns the models of the fleet, each with its variants in key order,
// sorted by ModelKey.
func (f Fleet) Models() []ModelVariants {
	byModel := map[ModelKey][]Variant{}
	for _, v := range f.Variants {
		byModel[v.Model] = append(byModel[v.Model], v)
	}
	models := make([]ModelVariants, 0, len(byModel))
	for key, variants := range byModel {
		slices.SortFunc(variants, func(a, b Variant) int { return a.Key.Compare(b.Key) })
		models = append(models, ModelVariants{Model: key, Variants: variants})
	}
	slices.SortFunc(models, func(a, b ModelVariants) int { return a.Model.Compare(b.Model) })
	return models
}

// ModelVariants is one model of a Fleet with its variants.
type ModelVariants struct {
	Model    ModelKey
	Variants []Variant // sorted by Key
}
