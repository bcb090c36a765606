package stock

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// fieldNodeName is the only field by which a node affinity can select.
const fieldNodeName = "metadata.name"

// stockPod holds the fields that are read of a pod that takes accelerators, or will.
type stockPod struct {
	node     string // that it is bound to, or for which it is nominated; "" while it waits
	portions []portion
	ends     time.Time // by when it should have ended, zero while it does not terminate
	// Of a pod that waits:
	created time.Time
	place   string // key of where; pods with the same key may run on the same nodes
	where   *where
}

// where says on which nodes a pod may run, by its own spec.
type where struct {
	selector    map[string]string
	affinity    *corev1.NodeSelector
	tolerations []corev1.Toleration
}

// stockPodOf returns the fields that are read of p, and false if it takes no accelerators: it
// requests none, has ended, terminates before it has a node, or has scheduling gates.
func stockPodOf(p *corev1.Pod, of []vendor) (stockPod, bool) {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return stockPod{}, false
	}
	node := p.Spec.NodeName
	if node == "" && (p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0) {
		return stockPod{}, false
	}
	out := stockPod{node: node, portions: portionsOf(&p.Spec, of)}
	if len(out.portions) == 0 {
		return stockPod{}, false
	}
	if p.DeletionTimestamp != nil {
		out.ends = p.DeletionTimestamp.Time
	}
	if out.node == "" {
		out.node = p.Status.NominatedNodeName
	}
	if out.node == "" {
		out.created = p.CreationTimestamp.Time
		out.where = whereOf(&p.Spec)
		out.place = out.where.key()
	}
	return out, true
}

func whereOf(pod *corev1.PodSpec) *where {
	out := &where{selector: pod.NodeSelector, tolerations: pod.Tolerations}
	if a := pod.Affinity; a != nil && a.NodeAffinity != nil {
		out.affinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return out
}

// key returns a text that is equal for equal node constraints.
func (w *where) key() string {
	var terms []corev1.NodeSelectorTerm
	if w.affinity != nil {
		terms = w.affinity.NodeSelectorTerms
	}
	tolerations := make([][]string, len(w.tolerations)) // without the seconds, which do not affect scheduling
	for i, t := range w.tolerations {
		tolerations[i] = []string{t.Key, string(t.Operator), t.Value, string(t.Effect)}
	}
	return fmt.Sprintf("%q %t %q %q", w.selector, w.affinity != nil, terms, tolerations)
}

// admits reports whether the pod may run on a node, by the rules of the
// scheduler for node selectors, required node affinities and taints.
func (w *where) admits(n stockNode) bool {
	for key, value := range w.selector {
		if got, ok := n.labels[key]; !ok || got != value {
			return false
		}
	}
	return w.tolerates(n.taints) && w.attracted(n)
}

func (w *where) tolerates(taints []corev1.Taint) bool {
	for i := range taints {
		tolerated := false
		for j := range w.tolerations {
			tolerated = tolerated || w.tolerations[j].ToleratesTaint(logr.Discard(), &taints[i], true)
		}
		if !tolerated {
			return false
		}
	}
	return true
}

// attracted reports whether one of the terms of the affinity holds. An empty term holds for no
// node.
func (w *where) attracted(n stockNode) bool {
	if w.affinity == nil {
		return true
	}
	for _, term := range w.affinity.NodeSelectorTerms {
		said := len(term.MatchExpressions)+len(term.MatchFields) > 0
		if said && hold(term.MatchExpressions, n.labels) && hold(term.MatchFields, labels.Set{fieldNodeName: n.name}) {
			return true
		}
	}
	return false
}

// operators maps the operators of node affinities to those of label selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// hold reports whether the labels meet all requirements. A requirement that cannot be read is never
// met, as in the scheduler.
func hold(requirements []corev1.NodeSelectorRequirement, of labels.Set) bool {
	for _, e := range requirements {
		r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil || !r.Matches(of) {
			return false
		}
	}
	return true
}
