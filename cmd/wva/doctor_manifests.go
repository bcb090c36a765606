package main

import (
	"fmt"
	"io"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// unapplied is an object of a manifest that is not applied yet.
type unapplied struct {
	at     string // file and document
	object *unstructured.Unstructured
}

// readUnapplied reads the objects of files. A document that is no object is an error: it cannot be
// examined.
func readUnapplied(files []string, stdin io.Reader) ([]unapplied, error) {
	var out []unapplied
	for _, file := range files {
		err := eachDocument(file, stdin, func(at string, document []byte) error {
			text, err := yaml.YAMLToJSONStrict(document)
			if err != nil {
				return fmt.Errorf("%s is not YAML: %s", at, oneLine(err))
			}
			if string(text) == "null" {
				return nil
			}
			object := &unstructured.Unstructured{}
			if err := json.Unmarshal(text, &object.Object); err != nil || object.GetKind() == "" || object.GetAPIVersion() == "" {
				return fmt.Errorf("%s is no object of Kubernetes: want apiVersion and kind", at)
			}
			if !object.IsList() {
				out = append(out, unapplied{at, object})
				return nil
			}
			return object.EachListItem(func(item runtime.Object) error {
				out = append(out, unapplied{at, item.(*unstructured.Unstructured)})
				return nil
			})
		})
		if err != nil {
			return nil, fmt.Errorf("%w: reading the manifests: %w", errUsage, err)
		}
	}
	return out, nil
}

// apply puts the manifests in place of the held objects: spec and metadata are those of the
// manifest, the status stays. It returns the files of the VariantAutoscalings that are not in the
// cluster.
func (e *examination) apply(all []unapplied) (map[client.ObjectKey]string, error) {
	files := map[client.ObjectKey]string{}
	for _, g := range all {
		if g.object.GetNamespace() == "" {
			g.object.SetNamespace(e.namespace)
		}
		typed, err := e.typed(g.object)
		if err != nil {
			return nil, fmt.Errorf("%w: reading the manifests: %s: %w", errUsage, g.at, err)
		}
		before, there, err := e.held.replace(typed)
		if err != nil {
			return nil, fmt.Errorf("reading the manifests: %s: %w", g.at, err)
		}
		if !there {
			typed.SetCreationTimestamp(metav1.NewTime(e.Now)) // it would be the youngest
		} else { // pods and the objects of KEDA refer to these
			typed.SetUID(before.GetUID())
			typed.SetCreationTimestamp(before.GetCreationTimestamp())
			typed.SetOwnerReferences(before.GetOwnerReferences())
		}
		switch now := typed.(type) {
		case *v1alpha1.VariantAutoscaling:
			if was, ok := before.(*v1alpha1.VariantAutoscaling); ok {
				now.Status = was.Status
			} else {
				files[client.ObjectKeyFromObject(now)] = g.at
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			if was, ok := before.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				now.Status = was.Status
			}
		}
	}
	return files, nil
}

// typed returns an object in the Go type of its kind, or unchanged where the scheme does not know
// the kind.
func (e *examination) typed(u *unstructured.Unstructured) (client.Object, error) {
	kind := u.GroupVersionKind()
	if !e.held.scheme.Recognizes(kind) {
		return u, nil
	}
	object, err := e.held.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, object, true); err != nil {
		return nil, fmt.Errorf("%s %s: %s", kind.Kind, u.GetName(), oneLine(err))
	}
	out, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no object", kind.Kind)
	}
	return out, nil
}
