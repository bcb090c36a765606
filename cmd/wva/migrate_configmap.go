package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// lastApplied is the annotation in which kubectl apply keeps the applied object, its name included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// surveyConfigMaps returns the ConfigMaps of some namespaces that do not have the first name of
// their kind, by namespace.
func surveyConfigMaps(ctx context.Context, c client.Client, systemNamespace string, namespaces map[string]bool) ([]leftover, error) {
	prefixed, err := configMapNames(ctx, c, systemNamespace)
	if err != nil {
		return nil, err
	}
	names := config.PublishedNames().WithPrefixed(prefixed)
	found := map[string][]leftover{}
	for _, kind := range config.Kinds() {
		read := map[string]string{} // the one of this kind that is read, by namespace
		for i, name := range names[kind] {
			// One request per name, for all namespaces.
			var list corev1.ConfigMapList
			if err := c.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
				return nil, fmt.Errorf("listing ConfigMaps named %s: %w", name, err)
			}
			for j := range list.Items {
				cm := &list.Items[j]
				if !namespaces[cm.Namespace] {
					continue
				}
				if i > 0 {
					found[cm.Namespace] = append(found[cm.Namespace], oldConfigMap(c, cm, names[kind][0], read[cm.Namespace]))
				}
				read[cm.Namespace] = cmp.Or(read[cm.Namespace], name)
			}
		}
	}
	var out []leftover
	for _, namespace := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[namespace]...)
	}
	return out, nil
}

// configMapNames returns the names of the ConfigMaps of a namespace. Those of a release begin with
// its name.
func configMapNames(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the names of ConfigMaps of namespace %s: %w", namespace, err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// oldConfigMap returns the remedy for a ConfigMap that does not have the first name of its kind.
// read is the one that is read instead, "" for none.
func oldConfigMap(c client.Client, cm *corev1.ConfigMap, first, read string) leftover {
	l := leftover{finding: finding{State: stateFound, Namespace: cm.Namespace, Kind: "ConfigMap", Name: cm.Name}}
	if read == "" {
		l.Found, l.Remedy = "an older name of "+first, "rename it to "+first
		l.remove = func(ctx context.Context) error { return rename(ctx, c, cm, first) }
	} else {
		l.Found, l.Remedy = fmt.Sprintf("not read, because %s is there", read), "delete it"
		l.remove = func(ctx context.Context) error { return deleteExactly(ctx, c, cm) }
	}
	if keeper := keeperOf(cm); keeper != "" {
		l.State, l.remove = stateByHand, nil
		l.Remedy += " where it is kept: by " + keeper
	}
	return l
}

// rename creates a ConfigMap with another name and the same content, and then deletes the old one,
// so that the content always exists.
func rename(ctx context.Context, c client.Client, cm *corev1.ConfigMap, name string) error {
	annotations := maps.Clone(cm.Annotations)
	delete(annotations, lastApplied)
	renamed := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: name, Labels: cm.Labels, Annotations: annotations},
		Immutable:  cm.Immutable, Data: cm.Data, BinaryData: cm.BinaryData,
	}
	if err := c.Create(ctx, renamed); err != nil {
		return fmt.Errorf("creating ConfigMap %s/%s: %w", cm.Namespace, name, err)
	}
	return deleteExactly(ctx, c, cm)
}

// deleteExactly deletes a ConfigMap unless it has changed since it was read.
func deleteExactly(ctx context.Context, c client.Client, cm *corev1.ConfigMap) error {
	as := client.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}
	if err := c.Delete(ctx, cm, as); err != nil {
		return fmt.Errorf("deleting ConfigMap %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	return nil
}

// keeperOf names the owner or tool that would restore an object, "" if none is known.
func keeperOf(o metav1.Object) string {
	for _, ref := range o.GetOwnerReferences() {
		return ref.Kind + " " + ref.Name
	}
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	switch {
	case annotations["meta.helm.sh/release-name"] != "":
		return "Helm release " + annotations["meta.helm.sh/release-name"]
	case labels["app.kubernetes.io/managed-by"] == "Helm":
		return "Helm"
	case annotations["argocd.argoproj.io/tracking-id"] != "":
		return "Argo CD, " + annotations["argocd.argoproj.io/tracking-id"]
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return "Flux, " + labels["kustomize.toolkit.fluxcd.io/name"]
	}
	return ""
}
