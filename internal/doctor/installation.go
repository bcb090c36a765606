package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// clocksApart is how far clocks may differ without a finding: NTP keeps them within a second, and
// an answer may take some seconds.
const clocksApart = time.Minute

// mostNamed is how many names the evidence lists at most.
const mostNamed = 5

func installationChecks() []check {
	return []check{
		{"API server", []Code{"WVA0101"}, nil, true, serverAnswers},
		{"rights to install", []Code{"WVA0102"}, []Read{ReadOwnRights}, true, mayInstall},
		{"CustomResourceDefinition", []Code{"WVA0103", "WVA0104"}, []Read{ReadDefinition}, true, definitionCurrent},
		{"leader", []Code{"WVA0105", "WVA0106"}, []Read{ReadLease}, false, managerLeads},
		{"rights of the manager", []Code{"WVA0107", "WVA0108"}, []Read{ReadRights}, false, managerMay},
		{"pods of the manager", []Code{"WVA0109"}, []Read{ReadManagerPods}, false, managersReady},
	}
}

func serverAnswers(c *Case, say *result) {
	if c.Server != "" {
		say.saw("the API server answers: Kubernetes %s", c.Server)
		return
	}
	why := "no cluster is named"
	if m, ok := c.Missed[ReadServer]; ok {
		why = m.Why
	}
	say.finds("WVA0101", nil, why)
}

func mayInstall(c *Case, say *result) {
	if !c.Pre {
		return
	}
	if len(c.Denied) == 0 {
		say.saw("you may create what an installation consists of")
		return
	}
	for _, r := range c.Denied {
		say.finds("WVA0102", names{"VERB": r.Verb, "RESOURCE": r.plural()}, fmt.Sprintf("you may not %s, which an installation does", r))
	}
}

func definitionCurrent(c *Case, say *result) {
	switch {
	case c.Definition.Absent && c.Pre:
		say.saw("VariantAutoscalings are not installed yet")
	case c.Definition.Absent:
		say.finds("WVA0103", nil, "CustomResourceDefinition variantautoscalings.llmd.ai not found")
	case c.Definition.Older != "":
		say.finds("WVA0104", nil, "CustomResourceDefinition variantautoscalings.llmd.ai is "+c.Definition.Older)
	default:
		say.saw("CustomResourceDefinition variantautoscalings.llmd.ai has every field of this version")
	}
}

func managerLeads(c *Case, say *result) {
	l, n := c.Lease, names{"SYSTEM": c.System, "LEASE": leaseName(c.Lease.Name)}
	why := "no manager was asked"
	if c.Answer.Why != "" {
		why = c.Answer.Why
	}
	ended := l.Present && l.Holder != "" && l.Lasts > 0 && c.Now.Sub(l.Renewed) > l.Lasts+clocksApart/4
	switch {
	case c.Answer.Reached:
		say.saw("a manager decides: %s knows %s", c.Answer.From, count(len(c.Answer.Known), "variant"))
	case !l.Present:
		say.finds("WVA0105", n, fmt.Sprintf("there is no Lease %s", l.Name), why)
	case l.Holder == "":
		say.finds("WVA0105", n, fmt.Sprintf("Lease %s has no holder", l.Name), why)
	case !l.Pod && !ended:
		say.finds("WVA0106", n, fmt.Sprintf("Lease %s is held by %s, renewed %s ago, and no pod of that name is in namespace %s", l.Name, l.Holder, age(c.Now.Sub(l.Renewed)), c.System), why)
	case ended:
		say.finds("WVA0105", n, fmt.Sprintf("Lease %s of %s ran out: it was renewed %s ago, for %s", l.Name, l.Holder, age(c.Now.Sub(l.Renewed)), l.Lasts), why)
	default:
		say.saw("%s holds Lease %s, renewed %s ago", l.Holder, l.Name, age(c.Now.Sub(l.Renewed)))
	}
}

// leaseName returns the name of a lease without its namespace.
func leaseName(full string) string {
	if _, name, ok := strings.Cut(full, "/"); ok {
		return name
	}
	return full
}

func managerMay(c *Case, say *result) {
	if c.Account == "" {
		return
	}
	var reads, writes []string
	for _, r := range c.Lacks {
		if r.Resource == "variantautoscalings/status" {
			writes = append(writes, r.String())
		} else {
			reads = append(reads, r.String())
		}
	}
	account := "ServiceAccount " + c.Account
	if len(reads) > 0 {
		say.finds("WVA0107", nil, account+" may not: "+scaling.FirstOf(reads, mostNamed, same))
	}
	if len(writes) > 0 {
		say.finds("WVA0108", nil, account+" may not: "+strings.Join(writes, ", "))
	}
	if len(c.Lacks) == 0 {
		say.saw("%s may read what the manager needs, and write status", account)
	}
}

func managersReady(c *Case, say *result) {
	ready := 0
	for i := range c.Pods {
		p := &c.Pods[i]
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if isReady(p) {
			ready++
			continue
		}
		say.finds("WVA0109", names{"POD": p.Name, "SYSTEM": p.Namespace}, fmt.Sprintf("pod %s/%s: %s", p.Namespace, p.Name, stateOf(p)))
	}
	if ready > 0 {
		say.saw("%s of the manager Ready", count(ready, "pod"))
	}
}

// isReady reports whether the condition Ready of a pod is True.
func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// stateOf says why a pod is not Ready.
func stateOf(p *corev1.Pod) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "":
			return fmt.Sprintf("container %s waits: %s", s.Name, said(s.State.Waiting.Reason, s.State.Waiting.Message))
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			return fmt.Sprintf("container %s ended with exit code %d: %s", s.Name, s.State.Terminated.ExitCode, said(s.State.Terminated.Reason, s.State.Terminated.Message))
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "not scheduled: " + said(c.Reason, c.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
			return "not Ready: " + said(cmp.Or(c.Reason, "without a reason"), c.Message)
		}
	}
	return "phase " + string(p.Status.Phase)
}

// said joins a reason and a message, and cuts them to longest.
func said(reason, message string) string {
	text := reason
	if message != "" {
		text += ": " + message
	}
	return cut(text)
}

// longest is how many runes of a message are shown.
const longest = 400

func cut(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return text
}

// String returns the right as kubectl auth can-i takes it.
func (r Right) String() string {
	text := r.Verb + " " + r.plural()
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// plural returns the resource with its group.
func (r Right) plural() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

func same(text string) string { return text }

// age shows how long something is ago, in whole seconds.
func age(d time.Duration) string { return spelling.Duration(max(0, d).Round(time.Second)) }

// count returns a number of things as text.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
