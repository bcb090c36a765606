package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// celBudget is the cost that the API server allows for the rules of one object.
const celBudget = 10_000_000

// objectSchema treats a VariantAutoscaling as the API server does: it drops unknown fields, fills
// in defaults and validates.
type objectSchema struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func newSchema() (objectSchema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.VariantAutoscalings(), &definition); err != nil {
		return objectSchema{}, fmt.Errorf("reading the definition of %s: %w", v1alpha1.Kind, err)
	}
	var props apiextensions.JSONSchemaProps
	v1 := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, &props, nil); err != nil {
		return objectSchema{}, fmt.Errorf("converting the schema of %s: %w", v1alpha1.Kind, err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return objectSchema{}, fmt.Errorf("reading the schema of %s: %w", v1alpha1.Kind, err)
	}
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return objectSchema{}, fmt.Errorf("compiling the schema of %s: %w", v1alpha1.Kind, err)
	}
	return objectSchema{structural, validator, cel.NewValidator(structural, true, celBudget)}, nil
}

// admit changes object as the API server would. It returns the fields that it drops, and the
// errors.
func (s objectSchema) admit(ctx context.Context, object map[string]any) (dropped []string, refused field.ErrorList) {
	dropped = pruning.PruneWithOptions(object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(object, s.structural)
	refused = validation.ValidateCustomResource(nil, object, s.validator)
	if len(refused) > 0 {
		return dropped, refused // the rules need an object that fits the schema
	}
	refused, _ = s.rules.Validate(ctx, nil, s.structural, object, nil, celBudget)
	return dropped, refused
}

// variantCheck checks VariantAutoscalings, also against ConfigMaps.
type variantCheck struct {
	schema    objectSchema
	snapshot  *config.Snapshot
	given     map[config.Kind]bool // the ConfigMaps that exist
	known     map[config.Finding]bool
	namespace string // of objects without one
}

// findings returns the faults of one object.
func (c variantCheck) findings(ctx context.Context, m manifest) []checkFinding {
	metadata, _ := m.object["metadata"].(map[string]any)
	base := checkFinding{Kind: v1alpha1.Kind, Namespace: c.namespace}
	base.Name, _ = metadata["name"].(string)
	if namespace, ok := metadata["namespace"].(string); ok && namespace != "" {
		base.Namespace = namespace
	}
	var out []checkFinding
	add := func(severity config.Severity, field, message string) {
		f := base
		f.Severity, f.Field, f.Message = severity, field, message
		out = append(out, f)
	}
	if base.Name == "" {
		base.File, base.Kind = m.file, ""
		add(config.Refused, "metadata.name", "is missing")
		return out
	}
	dropped, refused := c.schema.admit(ctx, m.object)
	for _, path := range dropped {
		add(config.Refused, path, "is not a field of the definition; the API server drops it, kubectl refuses it")
	}
	for _, err := range refused {
		add(config.Refused, err.Field, err.ErrorBody())
	}
	if len(refused) > 0 {
		return out
	}
	var va v1alpha1.VariantAutoscaling
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.object, &va); err != nil {
		add(config.Refused, "", oneLine(err))
		return out
	}
	va.Namespace = base.Namespace
	checkAnnotations(&va, add)
	if target := va.Target(); slices.Contains(unscalable(), target.Kind) {
		add(config.Refused, "spec.scaleTargetRef.kind", fmt.Sprintf("%q has no scale subresource: nothing sets its replicas, and it stays as it is; want a Deployment, a StatefulSet or another kind that has one", target.Kind))
	}
	c.crossCheck(&va, add)
	return out
}

// unscalable returns the kinds of Kubernetes that run pods and have no scale subresource. For other
// kinds only the cluster knows.
func unscalable() []string { return []string{"DaemonSet", "Job", "CronJob", "Pod"} }

// checkAnnotations adds a finding for each annotation whose value is not accepted.
func checkAnnotations(va *v1alpha1.VariantAutoscaling, add func(severity config.Severity, field, message string)) {
	if value, ok := va.Annotations[v1alpha1.AnnotationPaused]; ok && value != "true" && value != "false" {
		add(config.Refused, "metadata.annotations, "+v1alpha1.AnnotationPaused, fmt.Sprintf("%q is not accepted: want \"true\" or \"false\"; in force: false", value))
	}
	if value, ok := va.Annotations[v1alpha1.AnnotationApprove]; ok {
		if _, err := scaling.ParseApproval(value); err != nil {
			add(config.Refused, "metadata.annotations, "+v1alpha1.AnnotationApprove, fmt.Sprintf("%q is not accepted: %v; in force: shrink, without an end", value, err))
		}
	}
	if value, ok := va.Annotations[v1alpha1.AnnotationApproved]; ok {
		if _, err := scaling.ParseGrant(value); err != nil {
			add(config.Refused, "metadata.annotations, "+v1alpha1.AnnotationApproved, fmt.Sprintf("%q is not accepted: %v; in force: no approval", value, err))
		}
	}
	if value := va.Annotations[v1alpha1.AnnotationRole]; value != "" {
		if _, err := scaling.ParseRole(value); err != nil {
			add(config.Refused, "metadata.annotations, "+v1alpha1.AnnotationRole, fmt.Sprintf("%v; in force: the model is held", err))
		}
	}
	if value := va.Annotations[v1alpha1.AnnotationActuation]; value != "" {
		if _, valid := scaling.ActuationOf(value); !valid {
			add(config.Refused, "metadata.annotations, "+v1alpha1.AnnotationActuation, fmt.Sprintf("%q is not accepted: want \"metrics\", \"zero\", \"scale\" or \"advisory\"; in force: metrics", value))
		}
	}
}

// crossCheck compares an object with the existing ConfigMaps.
func (c variantCheck) crossCheck(va *v1alpha1.VariantAutoscaling, add func(severity config.Severity, field, message string)) {
	model := scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}
	if c.given[config.KindServiceClasses] {
		var ref config.ClassRef
		if r := va.Spec.SLOClassRef; r != nil {
			ref = config.ClassRef{Name: r.Name, Key: r.Key}
		}
		objective, err := c.snapshot.Objective(model, ref)
		if objective.Unfollowed != "" {
			add(config.Doubtful, "spec.sloClassRef", objective.Unfollowed)
		}
		if err != nil {
			add(config.Doubtful, "spec.modelID", err.Error())
		}
	}
	accelerator := acceleratorOf(va)
	for _, f := range c.snapshot.FindingsFor(model, accelerator) {
		if !c.known[f] { // it is about this model only
			add(f.Severity, "spec.modelID", f.String())
		}
	}
	_, source, err := c.snapshot.ReplicaCost(va.Namespace, va.Spec.VariantCost, accelerator, 1)
	if err != nil {
		add(config.Refused, "spec.variantCost", err.Error())
	}
	if c.given[config.KindUnitCosts] && accelerator != "" && source == scaling.CostDefault {
		add(config.Doubtful, "spec.accelerator", fmt.Sprintf("%q has no unit cost, and variantCost is not set: a replica costs the default, %g", accelerator, config.DefaultCost))
	}
}

// acceleratorOf returns the accelerator that the object itself names, "" for none.
func acceleratorOf(va *v1alpha1.VariantAutoscaling) string {
	if va.Spec.Accelerator != "" {
		return va.Spec.Accelerator
	}
	if label := va.Labels[v1alpha1.LabelAcceleratorName]; label != "" {
		return label
	}
	if p := va.Spec.ModelProfile; p != nil && len(p.Accelerators) > 0 {
		return p.Accelerators[0].Acc
	}
	return ""
}
