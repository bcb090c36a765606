package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// findingState is the state of a finding.
type findingState string

// The states of a finding.
const (
	stateFound   findingState = "found"   // --apply would remove it
	stateRemoved findingState = "removed" // --apply has removed it
	stateByHand  findingState = "by hand" // an owner or tool keeps it, so the user must change it
	stateFailed  findingState = "failed"  // it could not be removed
)

// finding is one thing that an older version left.
type finding struct {
	State     findingState `json:"state"`
	Namespace string       `json:"namespace,omitempty"` // "" for objects of the cluster
	Kind      string       `json:"kind"`
	Name      string       `json:"name"`
	Found     string       `json:"found"`
	Remedy    string       `json:"remedy"`
	Error     string       `json:"error,omitempty"` // with stateFailed
}

// leftover is a finding and the function that removes it, nil where the user must.
type leftover struct {
	finding
	remove func(context.Context) error
}

// survey returns everything that older versions left. The definition is first, because old fields
// can only be removed under the new one.
func survey(ctx context.Context, c client.Client, systemNamespace string) ([]leftover, error) {
	out, err := surveyDefinition(ctx, c)
	if err != nil {
		return nil, err
	}
	vas, err := listVariantAutoscalings(ctx, c)
	if err != nil {
		return nil, err
	}
	namespaces := map[string]bool{systemNamespace: true}
	for i := range vas {
		namespaces[vas[i].GetNamespace()] = true
		out = append(out, surveyVariantAutoscaling(c, &vas[i])...)
	}
	scopes, err := managerScopes(ctx, c)
	if err != nil {
		return nil, err
	}
	out = append(out, surveyServed(scopes, vas)...)
	labels, err := surveyNamespaces(ctx, c)
	if err != nil {
		return nil, err
	}
	out = append(out, labels...)
	maps, err := surveyConfigMaps(ctx, c, systemNamespace, namespaces)
	if err != nil {
		return nil, err
	}
	return append(out, maps...), nil
}

// listVariantAutoscalings returns every object as stored, not converted to this version's types, by
// namespace and name. It returns none where the kind is not installed.
func listVariantAutoscalings(ctx context.Context, c client.Client) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind + "List"))
	switch err := c.List(ctx, list); {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing VariantAutoscalings: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return list.Items, nil
}

// surveyVariantAutoscaling returns what older versions left on an object.
func surveyVariantAutoscaling(c client.Client, va *unstructured.Unstructured) []leftover {
	var out []leftover
	for _, l := range []struct {
		found  func(*unstructured.Unstructured) string
		remedy string
		drop   func(*unstructured.Unstructured)
	}{
		{staleStatus, "write it without them", forgetStaleStatus},
		{legacyOwners, "remove the reference", dropLegacyOwners},
		{modelNameLabel, "remove the label", dropModelNameLabel},
	} {
		if found := l.found(va); found != "" {
			out = append(out, leftover{
				finding{State: stateFound, Namespace: va.GetNamespace(), Kind: va.GetKind(), Name: va.GetName(), Found: found, Remedy: l.remedy},
				func(ctx context.Context) error { return change(ctx, c, va, l.drop) },
			})
		}
	}
	return out
}

// change reads an object again, edits it and writes the difference. It repeats that after a
// conflict.
func change(ctx context.Context, c client.Client, of *unstructured.Unstructured, edit func(*unstructured.Unstructured)) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(of.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(of), now); err != nil {
			return err
		}
		before := now.DeepCopy()
		edit(now)
		return c.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("changing %s %s: %w", of.GetKind(), client.ObjectKeyFromObject(of), err)
	}
	return nil
}

// surveyNamespaces returns the namespaces with a label that is no longer read.
func surveyNamespaces(ctx context.Context, c client.Client) ([]leftover, error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.HasLabels{v1alpha1.LegacyLabelConfigEnabled}); err != nil {
		return nil, fmt.Errorf("listing Namespaces: %w", err)
	}
	var out []leftover
	for _, ns := range list.Items {
		of := &unstructured.Unstructured{}
		of.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		of.SetName(ns.Name)
		out = append(out, leftover{
			finding{
				State: stateFound, Kind: "Namespace", Name: ns.Name,
				Found: "label " + v1alpha1.LegacyLabelConfigEnabled + ", without which ConfigMaps are read too", Remedy: "remove the label",
			},
			func(ctx context.Context) error {
				return change(ctx, c, of, func(o *unstructured.Unstructured) { dropLabel(o, v1alpha1.LegacyLabelConfigEnabled) })
			},
		})
	}
	return out, nil
}
