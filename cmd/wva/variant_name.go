package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// variantName returns the name of the VariantAutoscaling that an argument means:
// NAME, or KIND/NAME as kubectl takes it. Another kind is an error.
func variantName(command, arg string) (string, error) {
	kind, name, typed := strings.Cut(arg, "/")
	if !typed {
		kind, name = "va", arg
	}
	kinds := []string{"va", "variantautoscaling", "variantautoscalings"}
	if !slices.Contains(kinds, strings.ToLower(kind)) || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%w: %s %q: want the name of a VariantAutoscaling, NAME or va/NAME", errUsage, command, arg)
	}
	return name, nil
}

// absent returns the error that there is no such VariantAutoscaling. It suggests which one may have
// been meant: one of a similar name, one of that name in another namespace, or those of the
// namespace.
func absent(ctx context.Context, c client.Reader, key client.ObjectKey) error {
	said := fmt.Sprintf("there is no VariantAutoscaling %s in namespace %s", key.Name, key.Namespace)
	var here, all v1alpha1.VariantAutoscalingList
	var names []string
	if err := c.List(ctx, &here, client.InNamespace(key.Namespace)); err == nil {
		for _, va := range here.Items {
			names = append(names, va.Name)
		}
		if near := spelling.Nearest(key.Name, names); near != "" {
			return fmt.Errorf("%s; did you mean %s?", said, near)
		}
	}
	// A user who may not list other namespaces gets no further hint.
	if err := c.List(ctx, &all); err == nil {
		for _, va := range all.Items {
			if va.Name == key.Name {
				return fmt.Errorf("%s; there is one in %s: -n %[2]s", said, va.Namespace)
			}
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("%s; it has %s", said, scaling.FirstOf(names, namedAtMost, func(name string) string { return name }))
	}
	return errors.New(said)
}
