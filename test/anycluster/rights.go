package anycluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// right is a verb on a resource that a run needs in every namespace, as RBAC names it.
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// rightsFor returns the rights that a run needs. The account that installs the chart must also have
// the rights that its roles grant; the API server reports missing ones then.
func rightsFor(f Facts) []right {
	const roles = "rbac.authorization.k8s.io"
	needed := []right{
		{"create", "", "namespaces"},
		{"delete", "", "namespaces"},
		{"create", "apps", "deployments"},
		{"create", "batch", "jobs"},
		{"delete", "batch", "jobs"},
		{"create", "", "services"},
		{"create", "", "serviceaccounts"},
		{"create", "", "configmaps"},
		{"create", "", "secrets"},
		{"list", "", "events"},
		{"get", "", "pods/log"},
		{"create", roles, "clusterroles"},
		{"delete", roles, "clusterroles"},
		{"create", roles, "clusterrolebindings"},
		{"delete", roles, "clusterrolebindings"},
		{"create", "networking.k8s.io", "networkpolicies"},
		{"create", "policy", "poddisruptionbudgets"},
		{"create", "llmd.ai", "variantautoscalings"},
		{"patch", "llmd.ai", "variantautoscalings"},
	}
	if !f.Definition {
		needed = append(needed, right{"create", definitionKind.Group, "customresourcedefinitions"}, right{"delete", definitionKind.Group, "customresourcedefinitions"})
	}
	if f.ExternalMetrics == "" {
		needed = append(needed, right{"create", apiServiceKind.Group, "apiservices"}, right{"delete", apiServiceKind.Group, "apiservices"},
			right{"create", "autoscaling", "horizontalpodautoscalers"})
	}
	return needed
}

// checkRights returns an error that names every missing right.
func checkRights(ctx context.Context, clients kubernetes.Interface, f Facts) error {
	var missing []string
	for _, r := range rightsFor(f) {
		resource, subresource, _ := strings.Cut(r.resource, "/")
		review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("asking whether the user of the kubeconfig may %s: %w", r, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, r.String())
		}
	}
	if len(missing) > 0 {
		return errors.New("the user of the kubeconfig may not, in every namespace: " + strings.Join(missing, ", "))
	}
	return nil
}
