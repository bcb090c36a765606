package stock

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// groupLabels are the node labels that name the group of a node, most specific first.
var groupLabels = []string{
	"karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"kubernetes.azure.com/agentpool", "ibm-cloud.kubernetes.io/worker-pool-name", "doks.digitalocean.com/node-pool",
	"kops.k8s.io/instancegroup", "hypershift.openshift.io/nodePool",
}

// leaving are the taints, or prefixes of their keys where they end in a slash, with which the
// manager of a node says that it takes no new pods for now. Any other taint reserves a node for
// pods that tolerate it, as on most nodes with accelerators.
var leaving = []string{
	"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/uninitialized",
	"karpenter.sh/disrupted", "karpenter.sh/disruption", "karpenter.sh/unregistered",
	"ToBeDeletedByClusterAutoscaler",
}

// stockNode holds the fields that are read of a node with accelerators.
type stockNode struct {
	name       string
	group      string
	open       bool // takes new pods
	labels     map[string]string
	taints     []corev1.Taint // with the effect NoSchedule or NoExecute
	capacities []nodeCapacity
}

// stockNodeOf returns the fields that are read of n, and false if it has no accelerators.
func stockNodeOf(n *corev1.Node, of []vendor) (stockNode, bool) {
	out := stockNode{name: n.Name, labels: n.Labels, capacities: nodeCapacities(n, of), open: n.DeletionTimestamp == nil && !n.Spec.Unschedulable && ready(n)}
	if len(out.capacities) == 0 {
		return stockNode{}, false
	}
	for _, label := range groupLabels {
		if out.group = n.Labels[label]; out.group != "" {
			break
		}
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectNoSchedule && t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		out.taints = append(out.taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		out.open = out.open && !isLeaving(t.Key)
	}
	return out, true
}

// ready reports whether the condition Ready of the node is True.
func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func isLeaving(taint string) bool {
	return slices.ContainsFunc(leaving, func(key string) bool {
		return taint == key || strings.HasSuffix(key, "/") && strings.HasPrefix(taint, key)
	})
}
