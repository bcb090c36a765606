package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// surveyDefinition returns the definition of VariantAutoscaling if it is older: it lacks a field of
// this version, or has a field that only older versions have. It returns none for a newer one, or
// for a cluster without one.
func surveyDefinition(ctx context.Context, c client.Client) ([]leftover, error) {
	ours, theirs, err := definitions(ctx, c)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	found := olderDefinition(ours, theirs)
	if found == "" {
		return nil, nil
	}
	return []leftover{{
		finding{State: stateFound, Kind: "CustomResourceDefinition", Name: ours.Name, Found: found, Remedy: "replace it by this version's"},
		func(ctx context.Context) error { return replaceDefinition(ctx, c, ours) },
	}}, nil
}

// definitions returns the definition of VariantAutoscaling of this version, and that of the
// cluster. The error is a NotFound of the API server where the cluster has none.
func definitions(ctx context.Context, c client.Reader) (ours, theirs *apiextensionsv1.CustomResourceDefinition, err error) {
	ours, theirs = &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.VariantAutoscalings(), ours); err != nil {
		return nil, nil, fmt.Errorf("reading the definition of this version: %w", err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(ours), theirs); err != nil {
		return nil, nil, fmt.Errorf("reading the definition %s: %w", ours.Name, err)
	}
	return ours, theirs, nil
}

// olderDefinition returns why theirs is older than ours, "" if it is not.
func olderDefinition(ours, theirs *apiextensionsv1.CustomResourceDefinition) string {
	wanted, have := fields(ours), fields(theirs)
	for _, stale := range staleFields {
		if path := "status.currentAlloc." + stale; have[path] {
			return "of an older version: it has " + path
		}
	}
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(wanted)) {
		// Fields within a missing one are not named.
		if !have[path] && !slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(path, m+".") }) {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "of an older version: it lacks " + scaling.FirstOf(missing, 3, func(m string) string { return m })
}

// fields returns the paths of all fields in the stored version of a definition.
func fields(def *apiextensionsv1.CustomResourceDefinition) map[string]bool {
	out := map[string]bool{}
	for _, v := range def.Spec.Versions {
		if v.Storage && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			for _, top := range []string{"spec", "status"} {
				addFields(out, top, v.Schema.OpenAPIV3Schema.Properties[top])
			}
		}
	}
	return out
}

func addFields(out map[string]bool, path string, schema apiextensionsv1.JSONSchemaProps) {
	out[path] = true
	if schema.Items != nil && schema.Items.Schema != nil {
		schema = *schema.Items.Schema
	}
	for name, property := range schema.Properties {
		addFields(out, path+"."+name, property)
	}
}

// replaceDefinition installs this version's schema and columns. It waits until the API server
// applies them, so that later writes follow them.
func replaceDefinition(ctx context.Context, c client.Client, ours *apiextensionsv1.CustomResourceDefinition) error {
	var theirs apiextensionsv1.CustomResourceDefinition
	if err := c.Get(ctx, client.ObjectKeyFromObject(ours), &theirs); err != nil {
		return fmt.Errorf("reading the definition %s: %w", ours.Name, err)
	}
	theirs.Spec.Names, theirs.Spec.Versions = ours.Spec.Names, ours.Spec.Versions
	if err := c.Update(ctx, &theirs); err != nil {
		return fmt.Errorf("replacing the definition %s: %w", ours.Name, err)
	}
	const patience, period = 15 * time.Second, 100 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, period, patience, true, func(ctx context.Context) (bool, error) {
		return goesByThisVersion(ctx, c)
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("replacing the definition %s: the API server still goes by the older one after %s; try again", ours.Name, patience)
	}
	return err
}

// goesByThisVersion reports whether the API server fills in the defaults of this version's
// definition and hides the fields that it does not have. Without an object nothing can be seen, and
// nothing depends on it.
func goesByThisVersion(ctx context.Context, c client.Client) (bool, error) {
	vas, err := listVariantAutoscalings(ctx, c)
	if err != nil {
		return false, err
	}
	for i := range vas {
		_, filled, _ := unstructured.NestedFieldNoCopy(vas[i].Object, "spec", "minReplicas")
		alloc, _, _ := unstructured.NestedMap(vas[i].Object, "status", "currentAlloc")
		stale := slices.ContainsFunc(staleFields, func(field string) bool { _, ok := alloc[field]; return ok })
		if !filled || stale {
			return false, nil
		}
	}
	return true, nil
}
