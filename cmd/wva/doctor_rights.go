package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
)

// managerAccount is the service account of a manager whose Deployment names none.
const managerAccount = "workload-variant-autoscaler-controller-manager"

// reviewsAtOnce is how many rights are checked at the same time.
const reviewsAtOnce = 8

// readRights checks which rights of its role the manager's account lacks.
func (e *examination) readRights(ctx context.Context) error {
	account, within := client.ObjectKey{Namespace: e.System, Name: managerAccount}, ""
	for i := range e.managers {
		if d := &e.managers[i]; d.Namespace == e.System && d.Spec.Template.Spec.ServiceAccountName != "" {
			account.Name, within = d.Spec.Template.Spec.ServiceAccountName, e.Managers[i].Namespace
		}
	}
	var there corev1.ServiceAccount
	if err := e.client.Get(ctx, account, &there); err != nil {
		return client.IgnoreNotFound(err) // the manager runs elsewhere, with another account
	}
	needed, err := neededRights(rbac.ManagerRoles(), within)
	if err != nil {
		return err
	}
	lacks := make([]bool, len(needed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reviewsAtOnce)
	for i, right := range needed {
		group.Go(func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + account.Namespace + ":" + account.Name,
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
				ResourceAttributes: attributes(right),
			}}
			if err := e.client.Create(ctx, review); err != nil {
				return err
			}
			lacks[i] = !review.Status.Allowed
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	e.Account = account.Namespace + "/" + account.Name
	for i, right := range needed {
		if lacks[i] {
			e.Lacks = append(e.Lacks, right)
		}
	}
	return nil
}

func attributes(r doctor.Right) *authorizationv1.ResourceAttributes {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.ResourceAttributes{Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: sub}
}

// neededRights returns the rights in the ClusterRole of the manager for kinds that every cluster
// has. Within one namespace, it omits cluster-scoped kinds.
func neededRights(roles []byte, within string) ([]doctor.Right, error) {
	document, err := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(roles))).Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var role rbacv1.ClusterRole
	if err := yaml.Unmarshal(document, &role); err != nil {
		return nil, err
	}
	var out []doctor.Right
	for _, rule := range role.Rules {
		if len(rule.ResourceNames) > 0 {
			continue
		}
		for _, group := range rule.APIGroups {
			if !slices.Contains([]string{"", "apps", "autoscaling", "llmd.ai"}, group) {
				continue
			}
			for _, resource := range rule.Resources {
				if within != "" && slices.Contains([]string{"namespaces", "nodes"}, resource) {
					continue
				}
				if resource == "*/scale" {
					resource = "deployments/scale"
				}
				for _, verb := range rule.Verbs {
					out = append(out, doctor.Right{Verb: verb, Group: group, Resource: resource, Namespace: within})
				}
			}
		}
	}
	return out, nil
}

// installs returns the rights that an installation by the chart needs.
func installs(system string) []doctor.Right {
	return []doctor.Right{
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		{Verb: "create", Group: "apiregistration.k8s.io", Resource: "apiservices"},
		{Verb: "create", Resource: "serviceaccounts", Namespace: system},
		{Verb: "create", Resource: "configmaps", Namespace: system},
		{Verb: "create", Resource: "services", Namespace: system},
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: system},
	}
}

// readOwnRights notes which rights of installs the user lacks.
func (e *examination) readOwnRights(ctx context.Context) error {
	for _, right := range installs(e.System) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right)}}
		if err := e.client.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			e.Denied = append(e.Denied, right)
		}
	}
	return nil
}
