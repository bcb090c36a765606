package doctor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

func objectChecks() []check {
	return []check{
		{"targets", []Code{"WVA0201"}, []Read{ReadVariants, ReadWorkloads}, false, targetsExist},
		{"controller instances", []Code{"WVA0202"}, []Read{ReadVariants, ReadManagers}, false, instancesServed},
		{"namespaces", []Code{"WVA0203"}, []Read{ReadVariants, ReadManagers, ReadNamespaces}, false, namespacesServed},
		{"accelerators", []Code{"WVA0204"}, []Read{ReadVariants, ReadWorkloads}, false, acceleratorsKnown},
		{"service classes", []Code{"WVA0205"}, []Read{ReadVariants, ReadConfig}, false, classesNameModels},
		{"profiles", []Code{"WVA0206"}, []Read{ReadVariants}, false, profilesFit},
		{"one variant a target", []Code{"WVA0207"}, []Read{ReadVariants}, false, oneVariantEach},
		{"configuration", []Code{"WVA0208"}, []Read{ReadVariants, ReadConfig}, false, configurationAccepted},
		{"costs", []Code{"WVA0209"}, []Read{ReadVariants}, false, costsAreNumbers},
		{"model IDs", []Code{"WVA0210"}, []Read{ReadVariants}, false, modelsNamed},
	}
}

// each calls look for every variant, and notes fine where none adds a finding.
func (c *Case) each(say *result, fine string, look func(v *Variant)) {
	before := len(say.found)
	for i := range c.Variants {
		look(&c.Variants[i])
	}
	if len(say.found) == before && len(c.Variants) > 0 {
		say.saw("%s: %s", count(len(c.Variants), "variant"), fine)
	}
}

// condition returns a condition of the object of the variant, the zero value where it has none.
func (v *Variant) condition(kind v1alpha1.ConditionType) metav1.Condition {
	if c := meta.FindStatusCondition(v.Object.Status.Conditions, string(kind)); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// says returns the message of a condition, and whether the condition has one of the reasons.
func (v *Variant) says(kind v1alpha1.ConditionType, reasons ...v1alpha1.ConditionReason) (string, bool) {
	c := v.condition(kind)
	return cut(c.Message), slices.Contains(reasons, v1alpha1.ConditionReason(c.Reason))
}

// won reports whether no other variant has taken the target.
func (v *Variant) won() bool { return v.Resolved.Key.Name != "" }

func targetsExist(c *Case, say *result) {
	c.each(say, "their targets exist", func(v *Variant) {
		if v.won() && v.Resolved.Gone {
			say.findsOf("WVA0201", c, v, nil, v.Resolved.Missing)
		} else if message, ok := v.says(v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound); ok && !v.won() {
			say.findsOf("WVA0201", c, v, nil, message)
		}
	})
}

// servedBy reports whether the manager serves a namespace and an instance.
func (m Manager) servedBy(namespace, instance string) bool {
	return (m.Namespace == "" || m.Namespace == namespace) && (m.Instance == "" || m.Instance == instance)
}

func instancesServed(c *Case, say *result) {
	c.each(say, "a manager serves their controller instance", func(v *Variant) {
		instance := v.Object.Labels[v1alpha1.LabelControllerInstance]
		var here []Manager
		for _, m := range c.Managers {
			if m.Namespace == "" || m.Namespace == v.Object.Namespace {
				here = append(here, m)
			}
		}
		switch {
		case len(here) > 0 && !slices.ContainsFunc(here, func(m Manager) bool { return m.servedBy(v.Object.Namespace, instance) }):
			say.findsOf("WVA0202", c, v, names{"INSTANCE": here[0].Instance},
				fmt.Sprintf("its label %s is %q", v1alpha1.LabelControllerInstance, instance), scaling.FirstOf(here, mostNamed, func(m Manager) string { return m.Serves }))
		case len(c.Managers) == 0 && instance != "" && v.unserved(c) && !c.excluded(v.Object.Namespace):
			say.findsOf("WVA0202", c, v, nil, fmt.Sprintf("its label %s is %q, and %s does not know the variant", v1alpha1.LabelControllerInstance, instance, c.Answer.From))
		}
	})
}

// unserved reports whether the manager that answers does not know the variant.
func (v *Variant) unserved(c *Case) bool {
	_, known := c.Answer.Known[v.key()]
	return c.Answer.Reached && !known && v.File == "" && v.Rivals == nil
}

// excluded reports whether a namespace has the annotation that excludes it.
func (c *Case) excluded(namespace string) bool {
	return c.Namespaces[namespace].Annotations[v1alpha1.AnnotationExclude] == "true"
}

func namespacesServed(c *Case, say *result) {
	c.each(say, "their namespaces are served", func(v *Variant) {
		ns := v.Object.Namespace
		switch {
		case c.excluded(ns):
			say.findsOf("WVA0203", c, v, nil, fmt.Sprintf("namespace %s has the annotation %s: \"true\"", ns, v1alpha1.AnnotationExclude))
		case len(c.Managers) > 0 && !slices.ContainsFunc(c.Managers, func(m Manager) bool { return m.Namespace == "" || m.Namespace == ns }):
			say.findsOf("WVA0203", c, v, nil, scaling.FirstOf(c.Managers, mostNamed, func(m Manager) string { return m.Serves }))
			say.found[len(say.found)-1].Mend = "helm upgrade workload-variant-autoscaler charts/workload-variant-autoscaler -n " + c.System + " --reuse-values --set watchNamespace=" + ns
		}
	})
}

func acceleratorsKnown(c *Case, say *result) {
	c.each(say, "their accelerators are known", func(v *Variant) {
		if v.won() && v.Resolved.Accelerator == "" && !v.Resolved.Gone {
			say.findsOf("WVA0204", c, v, nil, "spec.accelerator, the label "+v1alpha1.LabelAcceleratorName+", the profile and the node selector of the target name none")
		}
	})
}

func classesNameModels(c *Case, say *result) {
	c.each(say, "no service class is missing", func(v *Variant) {
		model := scaling.ModelKey{Namespace: v.Object.Namespace, ID: v.Object.Spec.ModelID}
		if message, ok := v.says(v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonServiceClassMissing); ok {
			evidence := []string{message}
			if near := spelling.Nearest(model.ID, c.Config.ClassModels); near != "" && near != model.ID {
				evidence = append(evidence, fmt.Sprintf("a service class names %s", near))
			}
			say.findsOf("WVA0205", c, v, nil, evidence...)
			return
		}
		if c.Config.Policy == nil || len(c.Config.ClassModels) == 0 {
			return
		}
		var refs []config.ClassRef
		if ref := v.Object.Spec.SLOClassRef; ref != nil {
			refs = append(refs, config.ClassRef{Name: ref.Name, Key: ref.Key})
		}
		policy := c.Config.Policy(model, refs...)
		if policy.Objective.Class != "" {
			return
		}
		near := spelling.Nearest(model.ID, c.Config.ClassModels)
		switch {
		case near != "":
			say.findsOf("WVA0205", c, v, nil, fmt.Sprintf("no service class names %s, and one names %s", model.ID, near))
		case policy.SizesToObjectives():
			say.findsOf("WVA0205", c, v, nil, fmt.Sprintf("no service class names %s; the classes name %s", model.ID, scaling.FirstOf(c.Config.ClassModels, mostNamed, same)))
		}
	})
}

func profilesFit(c *Case, say *result) {
	c.each(say, "no profile is missing", func(v *Variant) {
		if p := v.Object.Spec.ModelProfile; p != nil && v.won() && v.Object.Spec.VariantProfile == nil && len(p.Accelerators) > 0 {
			var have []string
			for _, a := range p.Accelerators {
				have = append(have, a.Acc)
			}
			if acc := v.Resolved.Accelerator; acc != "" && !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, acc) }) && v.Resolved.Profile.Source == "" {
				say.findsOf("WVA0206", c, v, nil, fmt.Sprintf("the variant runs on %s, and spec.modelProfile has %s", acc, strings.Join(have, ", ")))
				return
			}
		}
		if message, ok := v.says(v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonProfileMissing); ok {
			say.findsOf("WVA0206", c, v, nil, message)
		}
	})
}

func oneVariantEach(c *Case, say *result) {
	c.each(say, "each has its target to itself", func(v *Variant) {
		if len(v.Rivals) < 2 || v.Rivals[0] == v.key() {
			return
		}
		ref := v.Object.Target()
		say.findsOf("WVA0207", c, v, nil, fmt.Sprintf("%s %s is the target of %s; %s is the oldest and is decided", ref.Kind, ref.Name,
			scaling.FirstOf(v.Rivals, mostNamed, func(k scaling.VariantKey) string { return k.Name }), v.Rivals[0].Name))
	})
}

func configurationAccepted(c *Case, say *result) {
	for _, f := range c.Config.Refused {
		say.finds("WVA0208", names{"CONFIG": "configmap " + f.ConfigMap + " -n " + f.Namespace}, cut(f.String()))
	}
	named := len(c.Config.Refused) > 0
	c.each(say, "their configuration is accepted", func(v *Variant) {
		message, ok := v.says(v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration)
		if ok && (!named || !strings.HasPrefix(message, "ConfigMap ")) {
			say.findsOf("WVA0208", c, v, names{"CONFIG": kindOf(v) + " " + v.Object.Name + " -n " + v.Object.Namespace}, message)
		}
	})
}

func costsAreNumbers(c *Case, say *result) {
	c.each(say, "their costs are numbers", func(v *Variant) {
		cost := v.Object.Spec.VariantCost
		switch {
		case strings.Contains(v.Problem, v1alpha1.AnnotationVariantCost):
			say.findsOf("WVA0209", c, v, nil, v.Problem)
		case cost != "" && !isCost(cost):
			say.findsOf("WVA0209", c, v, nil, fmt.Sprintf("spec.variantCost is %.40q: want a decimal number of 0 or more", cost))
			say.found[len(say.found)-1].Mend = fmt.Sprintf("kubectl patch va %s -n %s --type=merge -p '{\"spec\":{\"variantCost\":\"10\"}}'", v.Object.Name, v.Object.Namespace)
		}
	})
}

// isCost reports whether text is a cost: finite and not negative.
func isCost(text string) bool {
	cost, err := strconv.ParseFloat(text, 64)
	return err == nil && cost >= 0 && !math.IsInf(cost, 0)
}

func modelsNamed(c *Case, say *result) {
	c.each(say, "their models are named", func(v *Variant) {
		if strings.TrimSpace(v.Object.Spec.ModelID) != "" {
			return
		}
		evidence := "spec.modelID is empty"
		if v.Problem != "" {
			evidence = v.Problem
		}
		say.findsOf("WVA0210", c, v, nil, evidence)
	})
}
