package doctor

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func networkChecks() []check {
	return []check{
		{"policies on pods", []Code{"WVA0801"}, []Read{ReadVariants, ReadWorkloads, ReadPods, ReadPolicies}, false, policiesOnPods},
		{"policies on the manager", []Code{"WVA0802"}, []Read{ReadManagerPods, ReadPolicies}, false, policiesOnManager},
	}
}

// prometheusPort is the annotation by which a pod names the port of its metrics.
const prometheusPort = "prometheus.io/port"

func policiesOnPods(c *Case, say *result) {
	before := len(say.found)
	for i := range c.Variants {
		v := &c.Variants[i]
		if len(v.Pods) == 0 {
			continue
		}
		p := &v.Pods[0]
		source := c.Prometheus
		if e, ok := c.Answer.Known[v.key()]; ok && e.Snapshot.Backend == scaling.BackendPods {
			source = Source{Namespace: c.System, Pods: c.Pods}
		}
		if policies := c.blocking(p, networkingv1.PolicyTypeIngress, metricsPortOf(p), source); len(policies) > 0 {
			say.findsOf("WVA0801", c, v, names{"POLICY": policies[0].Name}, verdict(policies, p, metricsPortOf(p), source)+c.enforced(v))
		}
	}
	if len(say.found) == before && len(c.Variants) > 0 {
		say.saw("no NetworkPolicy keeps Prometheus from the pods of the targets")
	}
}

// enforced says that metrics come although a policy forbids it; "" where none come.
func (c *Case) enforced(v *Variant) string {
	if reason, _ := v.metrics(c); reason != "" && !v.silent(c) {
		return ". Metrics of the model do come: the cluster does not enforce the policy, or they come another way"
	}
	return ""
}

// port is a port of a pod; the zero value means unknown.
type port struct {
	number int32
	name   string
}

// metricsPortOf returns the metrics port of a pod: that of its annotation, else the port named
// metrics, http-metrics or http, else its only port.
func metricsPortOf(p *corev1.Pod) port {
	var all []corev1.ContainerPort
	for _, c := range p.Spec.Containers {
		all = append(all, c.Ports...)
	}
	if n, err := strconv.ParseInt(p.Annotations[prometheusPort], 10, 32); err == nil {
		for _, has := range all {
			if has.ContainerPort == int32(n) {
				return port{has.ContainerPort, has.Name}
			}
		}
		return port{number: int32(n)}
	}
	for _, name := range []string{"metrics", "http-metrics", "http"} {
		for _, has := range all {
			if has.Name == name {
				return port{has.ContainerPort, has.Name}
			}
		}
	}
	if len(all) == 1 {
		return port{all[0].ContainerPort, all[0].Name}
	}
	return port{}
}

func policiesOnManager(c *Case, say *result) {
	i := slices.IndexFunc(c.Pods, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil })
	if i < 0 {
		return
	}
	p := &c.Pods[i]
	before := len(say.found)
	look := func(direction networkingv1.PolicyType, at port, with Source) {
		if policies := c.blocking(p, direction, at, with); len(policies) > 0 && len(say.found) == before {
			text := verdict(policies, p, at, with)
			if direction == networkingv1.PolicyTypeEgress {
				text = fmt.Sprintf("%s, which select pod %s, allow no traffic to namespace %s of Prometheus", policyNames(policies), p.Name, with.Namespace)
			}
			say.finds("WVA0802", names{"POLICY": policies[0].Name, "SYSTEM": c.System}, text)
		}
	}
	for _, container := range p.Spec.Containers {
		for _, has := range container.Ports {
			if has.Name == "metrics" || has.Name == "https" || has.Name == "external" || has.Name == "ext-metrics" {
				look(networkingv1.PolicyTypeIngress, port{has.ContainerPort, has.Name}, Source{})
			}
		}
	}
	if c.Prometheus.Namespace != "" {
		look(networkingv1.PolicyTypeEgress, port{}, c.Prometheus)
	}
	if len(say.found) == before {
		say.saw("no NetworkPolicy is in the way of the manager")
	}
}

// blocking returns the policies that select a pod, if none of them allows traffic in a direction,
// at a port of the pod, with a source (or a destination); none where one does. Unknown traffic
// counts as allowed.
func (c *Case) blocking(p *corev1.Pod, direction networkingv1.PolicyType, at port, with Source) []networkingv1.NetworkPolicy {
	var selecting []networkingv1.NetworkPolicy
	for _, policy := range c.Policies {
		if policy.Namespace != p.Namespace || !slices.Contains(typesOf(policy), direction) || !selects(&policy.Spec.PodSelector, p.Labels) {
			continue
		}
		selecting = append(selecting, policy)
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range policy.Spec.Ingress {
				if admitsPort(rule.Ports, at) && c.admitsPeer(rule.From, policy.Namespace, with) {
					return nil
				}
			}
			continue
		}
		for _, rule := range policy.Spec.Egress { // the port of the destination is unknown
			if c.admitsPeer(rule.To, policy.Namespace, with) && !onlyNameServers(rule.Ports) {
				return nil
			}
		}
	}
	return selecting
}

// onlyNameServers reports whether all ports are ports of name servers or API servers.
func onlyNameServers(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) > 0 && !slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		return p.Port == nil || !slices.Contains([]int32{53, 5353, 443, 6443}, p.Port.IntVal)
	})
}

// typesOf returns the directions of a policy, with the default of the API.
func typesOf(p networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	if len(p.Spec.PolicyTypes) > 0 {
		return p.Spec.PolicyTypes
	}
	out := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		out = append(out, networkingv1.PolicyTypeEgress)
	}
	return out
}

func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}

func admitsPort(ports []networkingv1.NetworkPolicyPort, at port) bool {
	if len(ports) == 0 || at == (port{}) {
		return true
	}
	return slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return p.Port.StrVal == at.name
		case p.EndPort != nil:
			return at.number >= p.Port.IntVal && at.number <= *p.EndPort
		}
		return p.Port.IntVal == at.number
	})
}

// admitsPeer reports whether peers of a policy in namespace own may include the source.
func (c *Case) admitsPeer(peers []networkingv1.NetworkPolicyPeer, own string, source Source) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(peer networkingv1.NetworkPolicyPeer) bool {
		if peer.IPBlock != nil {
			return true
		}
		if peer.NamespaceSelector == nil { // pods of the policy's own namespace
			return (source.Namespace == "" || source.Namespace == own) && admitsPods(peer.PodSelector, source)
		}
		if source.Namespace != "" {
			ns, known := c.Namespaces[source.Namespace]
			return (!known || selects(peer.NamespaceSelector, ns.Labels)) && admitsPods(peer.PodSelector, source)
		}
		if c.Namespaces == nil {
			return true
		}
		for _, ns := range c.Namespaces {
			if selects(peer.NamespaceSelector, ns.Labels) {
				return true
			}
		}
		return false
	})
}

// admitsPods reports whether a selector matches a pod of the source; true where the pods are
// unknown.
func admitsPods(selector *metav1.LabelSelector, source Source) bool {
	return selector == nil || len(source.Pods) == 0 || slices.ContainsFunc(source.Pods, func(p corev1.Pod) bool { return selects(selector, p.Labels) })
}

func policyNames(policies []networkingv1.NetworkPolicy) string {
	return "NetworkPolicies " + scaling.FirstOf(policies, mostNamed, func(p networkingv1.NetworkPolicy) string { return p.Namespace + "/" + p.Name })
}

// verdict says which traffic policies do not allow.
func verdict(policies []networkingv1.NetworkPolicy, p *corev1.Pod, at port, source Source) string {
	text := fmt.Sprintf("%s, which select pod %s, allow no traffic to it", policyNames(policies), p.Name)
	if at.number != 0 {
		text = fmt.Sprintf("%s, which select pod %s, allow no traffic to its port %d", policyNames(policies), p.Name, at.number)
	}
	if source.Namespace != "" {
		text += " from namespace " + source.Namespace
	}
	return text
}
