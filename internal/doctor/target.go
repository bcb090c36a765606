package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// slowStart is how long a pod may run without being Ready, where the manager reports nothing:
	// the progress deadline of a Deployment.
	slowStart = 10 * time.Minute
	// restarts is how many restarts of a container count as repeated crashes.
	restarts = 3

	deletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

func targetChecks() []check {
	return []check{
		{"pods", []Code{"WVA0701", "WVA0703", "WVA0704"}, []Read{ReadVariants, ReadWorkloads, ReadPods}, false, podsStart},
		{"pods refused", []Code{"WVA0702"}, []Read{ReadVariants, ReadWorkloads}, false, podsAllowed},
		{"deletion costs", []Code{"WVA0705"}, []Read{ReadVariants, ReadWorkloads, ReadPods}, false, deletionCostsOurs},
		{"replicas", []Code{"WVA0706"}, []Read{ReadVariants}, false, targetsMove},
	}
}

// waiting are the reasons with which a container waits for its image.
var waiting = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"}

func podsStart(c *Case, say *result) {
	before, pods := len(say.found), 0
	for i := range c.Variants {
		v := &c.Variants[i]
		_, slow := v.says(v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonPodsNotReady)
		named := map[Code]bool{}
		for j := range v.Pods {
			p := &v.Pods[j]
			if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			pods++
			code, why := troubleOf(p, c.Now, slow)
			if code == "" || named[code] {
				continue
			}
			named[code] = true
			say.findsOf(code, c, v, names{"POD": p.Name}, fmt.Sprintf("pod %s: %s", p.Name, why))
		}
		if v.Failure.Reason == scaling.ImageNotPulled && !named["WVA0703"] {
			say.findsOf("WVA0703", c, v, nil, explain.ImageNotPulled(v.Resolved.Target, v.Failure))
		}
		if message, ok := v.says(v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonPodsUnschedulable); ok && !named["WVA0701"] && len(v.Pods) == 0 {
			say.findsOf("WVA0701", c, v, nil, message)
		}
	}
	if len(say.found) == before && pods > 0 {
		say.saw("%s of the targets run or start", count(pods, "pod"))
	}
}

// troubleOf returns what keeps a pod from serving, "" where nothing is known. slow says that the
// manager reports that pods take unusually long.
func troubleOf(p *corev1.Pod, now time.Time, slow bool) (code Code, why string) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return "WVA0701", said(c.Reason, c.Message)
		}
	}
	if code, why := troubleOfContainers(p); code != "" {
		return code, why
	}
	if isReady(p) || p.Spec.NodeName == "" {
		return "", ""
	}
	if slow || now.Sub(p.CreationTimestamp.Time) > slowStart {
		return "WVA0704", fmt.Sprintf("%s; created %s ago", stateOf(p), age(now.Sub(p.CreationTimestamp.Time)))
	}
	return "", ""
}

// troubleOfContainers returns why a container of a pod does not start, "" where all do.
func troubleOfContainers(p *corev1.Pod) (code Code, why string) {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		w := s.State.Waiting
		switch {
		case w != nil && slices.Contains(waiting, w.Reason):
			return "WVA0703", fmt.Sprintf("image %s: %s", s.Image, said(w.Reason, w.Message))
		case w != nil && w.Reason == "CrashLoopBackOff" || !s.Ready && s.RestartCount >= restarts:
			return "WVA0704", stateOf(p)
		}
	}
	return "", ""
}

func podsAllowed(c *Case, say *result) {
	c.each(say, "no pod of theirs is refused", func(v *Variant) {
		message, _ := v.says(v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonTargetNotMoving)
		switch {
		case v.Failure.Reason != "" && v.Failure.Reason != scaling.ImageNotPulled:
			say.findsOf("WVA0702", c, v, nil, said(v.Failure.Reason, v.Failure.Message))
		case strings.Contains(message, "cannot create pods"):
			say.findsOf("WVA0702", c, v, nil, message)
		}
	})
}

func deletionCostsOurs(c *Case, say *result) {
	c.each(say, "pod-deletion-cost has one writer", func(v *Variant) {
		if v.Scalers.InForce() != scaling.ActuationScale {
			return
		}
		for _, p := range v.Pods {
			cost, has := p.Annotations[deletionCost]
			if _, marked := p.Annotations[v1alpha1.AnnotationMarked]; has && !marked {
				evidence := fmt.Sprintf("pod %s has %s: %q and not %s", p.Name, deletionCost, cost, v1alpha1.AnnotationMarked)
				if by := writerOf(&p); by != "" {
					evidence += "; it is written by " + by
				}
				say.findsOf("WVA0705", c, v, names{"POD": p.Name}, evidence)
				return
			}
		}
	})
}

// writerOf returns the field manager that wrote the deletion cost, "" where it is unknown.
func writerOf(p *corev1.Pod) string {
	for _, f := range p.ManagedFields {
		if f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), "pod-deletion-cost") {
			return f.Manager
		}
	}
	return ""
}

func targetsMove(c *Case, say *result) {
	c.each(say, "the targets have the replicas decided on, or are on the way", func(v *Variant) {
		if message, ok := v.says(v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonTargetNotMoving); ok {
			say.findsOf("WVA0706", c, v, nil, message)
		}
	})
}
