package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
)

// Limits of the search for namespaces.
const (
	mostNamespaces = 500 // whose rights are checked
	namedAtMost    = 5   // names that a sentence lists
)

// live returns the leading manager as a source.
func (f *dashboardFlags) live(ctx context.Context) (dashboard.Source, error) {
	named := f.named()
	restConfig, c, err := f.connect() // sets the namespace
	if err != nil {
		return nil, err
	}
	past, err := f.past(ctx, restConfig, c)
	if err != nil {
		return nil, err
	}
	return dashboard.NewLive(dashboard.LiveOptions{
		Named: named, Past: past,
		Reach: func(ctx context.Context) (dashboard.Manager, error) {
			m, err := f.reach(ctx, restConfig, c)
			if err != nil {
				return nil, err
			}
			return dashboardManager{m}, nil
		},
		Namespaces: func(ctx context.Context) (names, refused []string, err error) {
			return readableNamespaces(ctx, c, f.namespace)
		},
	}), nil
}

// dashboardManager adapts a reached manager to the dashboard.
type dashboardManager struct{ m *reached }

func (d dashboardManager) Name() string { return d.m.name }
func (d dashboardManager) Close()       { d.m.close() }
func (d dashboardManager) Get(ctx context.Context, path string, into any) error {
	return d.m.get(ctx, path, into)
}

// readableNamespaces returns the namespaces in which the user may get VariantAutoscalings, and
// sentences about the others. It checks all namespaces where the user may list them, else only own.
func readableNamespaces(ctx context.Context, c client.Client, own string) (names, refused []string, err error) {
	var list corev1.NamespaceList
	all := []string{own}
	if err := c.List(ctx, &list); err != nil {
		refused = append(refused, fmt.Sprintf("only namespace %s is looked at: the list of namespaces cannot be read (%v); name others with -n", own, err))
	} else {
		all = all[:0]
		for _, n := range list.Items {
			all = append(all, n.Name)
		}
	}
	slices.Sort(all)
	if len(all) > mostNamespaces {
		refused = append(refused, fmt.Sprintf("of %d namespaces, the first %d are looked at; name others with -n", len(all), mostNamespaces))
		all = all[:mostNamespaces]
	}
	may := make([]bool, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reviewsAtOnce)
	for i, namespace := range all {
		group.Go(func() (err error) {
			may[i], err = mayGet(ctx, c, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	var without []string
	for i, namespace := range all {
		if may[i] {
			names = append(names, namespace)
		} else {
			without = append(without, namespace)
		}
	}
	if len(without) > 0 {
		refused = append(refused, notReadable(without))
	}
	return names, refused, nil
}

// notReadable returns a sentence that names namespaces that may not be read.
func notReadable(namespaces []string) string {
	text := "namespace " + namespaces[0]
	switch n := len(namespaces); {
	case n > namedAtMost:
		text = fmt.Sprintf("namespaces %s and %d others", strings.Join(namespaces[:namedAtMost], ", "), n-namedAtMost)
	case n > 1:
		text = "namespaces " + strings.Join(namespaces, ", ")
	}
	return text + ": you may not get variantautoscalings.llmd.ai there"
}

// mayGet reports whether the user may get the VariantAutoscalings of a namespace.
func mayGet(ctx context.Context, c client.Client, namespace string) (bool, error) {
	right := doctor.Right{Verb: "get", Group: v1alpha1.GroupVersion.Group, Resource: "variantautoscalings", Namespace: namespace}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right)}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking for the rights in namespace %s: %w", namespace, err)
	}
	return review.Status.Allowed, nil
}
