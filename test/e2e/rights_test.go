//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// The namespace of these scenarios, and its variants: one that an HPA scales, one of
// a StatefulSet, one of a kind that is known by its scale alone, one whose
// replicas the manager sets itself, and one of a custom resource.
const (
	rightsNamespace                           = "rights"
	rightsHPA, rightsSet, rightsOther, byHand = "by-hpa", "set", "other", "by-hand"
	// A LeaderWorkerSet, without pods, whose replicas the manager sets too.
	rightsGroup = "group"
	// One without a VariantAutoscaling, by the annotations of its HPA.
	rightsAnnotated = "annotated"
)

// TestTheRightsOfTheChart has two managers do everything that they do as an account
// with the roles of the chart and no others, those for limited mode, External Metrics
// and actuation among them. The API server's audit log then has each verb of each
// role, and no refusal. After that verbs are taken from the roles, one after another,
// and status and log say so.
func TestTheRightsOfTheChart(t *testing.T) {
	deployWithRights(t)
	begun := time.Now()
	managers := startWithRights(t)
	t.Run("the roles are those of the chart", func(t *testing.T) {
		var got []string
		for _, r := range rolesOf(t.Context(), t, testbed.ManagerUser) {
			got = append(got, r.name)
		}
		want := []string{
			"ClusterRole system:auth-delegator",
			"ClusterRole workload-variant-autoscaler-manager-role",
			"ClusterRole workload-variant-autoscaler-node-reader-role",
			"ClusterRole workload-variant-autoscaler-pod-marker-role",
			"ClusterRole workload-variant-autoscaler-scaler-role",
			"Role kube-system/" + testbed.AuthenticationReader,
			"Role workload-variant-autoscaler-system/workload-variant-autoscaler-manager-role",
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("roles of the manager's account (-got +want):\n%s", diff)
		}
	})
	for _, name := range []string{rightsHPA, rightsSet, rightsOther, byHand} {
		condition(t, time.Minute, rightsNamespace, name, "MetricsAvailable", "True", "MetricsFound")
	}
	withoutNodes(t, managers)
	all := time.Now() // rights are there from now on
	doTheJob(t)
	t.Run("each right is used", func(t *testing.T) {
		// What was learned is written once a minute, how fast replicas are after two windows.
		eventually(t, 4*time.Minute, func(ctx context.Context) string {
			askForSeveral(ctx, t, managers)
			return strings.Join(unused(ctx, t, testbed.ManagerUser), "\n")
		})
	})
	t.Run("no other is missed", func(t *testing.T) {
		requests, err := shared.bed.Requests(testbed.ManagerUser, begun)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, r := range requests {
			switch {
			case !r.Forbidden:
			case r.Resource == "nodes" && r.At.Before(all):
				seen = true
			default:
				t.Errorf("refused: %s", r)
			}
		}
		if !seen {
			t.Error("the log has no refusal of nodes, which were taken away: it does not show them")
		}
		t.Logf("%d requests", len(requests))
	})
	withoutScale(t)
	withoutGroup(t)
	withoutStatus(t, managers)
	withoutReviews(t, managers)
	withoutLease(t, managers)
}

// startWithRights starts two managers that may do all that the chart can allow them.
// They list before they watch, as they do with an API server that does not stream
// lists; those of the other scenarios do not.
func startWithRights(t *testing.T) []*testbed.Manager {
	t.Helper()
	shared.manager.Stop()
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	// The first leader makes the lease.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: "72dd1cf1.llm-d.ai"}}
	if err := client.IgnoreNotFound(shared.bed.Client.Delete(t.Context(), lease)); err != nil {
		t.Fatal(err)
	}
	if err := shared.bed.GrantActuation(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.bed.RevokeActuation(ctx); err != nil {
			t.Error(err)
		}
	})
	managers, err := shared.bed.StartManagers(t.Context(), 2, testbed.ManagerOptions{
		Interval: interval, Lease: 6 * time.Second, Env: []string{"KUBE_FEATURE_WatchListClient=false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range managers {
			m.Stop()
		}
	})
	elected(t, managers)
	return managers
}

// deployWithRights applies the variants.
func deployWithRights(t *testing.T) {
	t.Helper()
	follows, sets := chat(rightsNamespace, rightsHPA), aside(rightsNamespace, byHand)
	sets.Actuation = "scale"
	annotated := aside(rightsNamespace, rightsAnnotated)
	annotated.Annotated, annotated.NoHPA, annotated.Max = true, false, new(int32(2))
	deploy(t, follows, sets, annotated)
	deployGroup(t)
	learns(t, rightsSet)
	labels := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	for _, v := range []testbed.Variant{aside(rightsNamespace, rightsSet), aside(rightsNamespace, rightsOther)} {
		for _, o := range v.Objects() {
			switch o := o.(type) {
			case *appsv1.Deployment:
				meta, template := metav1.ObjectMeta{Namespace: v.Namespace, Name: v.Name}, o.Spec.Template
				if v.Name == rightsSet {
					apply(t, &appsv1.StatefulSet{
						ObjectMeta: meta,
						Spec:       appsv1.StatefulSetSpec{Replicas: &v.Replicas, Selector: labels(v.Name), Template: template},
					})
				} else {
					apply(t, &appsv1.ReplicaSet{
						ObjectMeta: meta,
						Spec:       appsv1.ReplicaSetSpec{Replicas: &v.Replicas, Selector: labels(v.Name), Template: template},
					})
				}
			case *v1alpha1.VariantAutoscaling:
				o.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: v.Name}
				if v.Name == rightsSet {
					o.Spec.ScaleTargetRef.Kind = "StatefulSet"
				}
				apply(t, o)
			}
		}
	}
}

// learns has the replica of a variant serve so little that the manager learns how fast it is,
// and the ConfigMap be there that it writes that to, as an earlier manager left it.
func learns(t *testing.T, name string) {
	t.Helper()
	configure(t, rightsNamespace, "service-classes-config", map[string]string{"premium": class("Premium", 1, "meta/"+name)})
	load(t, rightsNamespace, "meta/"+name, "constant(1,900s)")
	err := shared.bed.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: "wva-store-fits"}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// lwsGroup is the API group of LeaderWorkerSets.
const lwsGroup = "leaderworkerset.x-k8s.io"

// defineGroups applies a definition of LeaderWorkerSets that has only what a scale subresource
// needs.
func defineGroups(t *testing.T) {
	t.Helper()
	const group = lwsGroup
	keep := true
	if err := shared.bed.Define(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "leaderworkersets." + group, Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "leaderworkersets", Kind: "LeaderWorkerSet"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep},
				},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
					SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.hpaPodSelector"),
				}},
			}},
		},
	}); err != nil {
		t.Fatal(err)
	}
}

// deployGroup applies a LeaderWorkerSet, and a variant of it.
func deployGroup(t *testing.T) {
	t.Helper()
	defineGroups(t)
	const group = lwsGroup
	v := aside(rightsNamespace, rightsGroup)
	v.Actuation = "scale"
	for _, o := range v.Objects() {
		if va, ok := o.(*v1alpha1.VariantAutoscaling); ok {
			va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: group + "/v1", Kind: "LeaderWorkerSet", Name: v.Name}
			apply(t, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": group + "/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{"namespace": v.Namespace, "name": v.Name},
				"spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"hpaPodSelector": "app=" + v.Name},
			}}, va)
		}
	}
}

// groupHas waits until the LeaderWorkerSet is asked to have so many replicas.
func groupHas(t *testing.T, n int64) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		set := &unstructured.Unstructured{}
		set.SetAPIVersion("leaderworkerset.x-k8s.io/v1")
		set.SetKind("LeaderWorkerSet")
		if _, err := read(ctx, rightsNamespace, rightsGroup, set); err != nil {
			return err.Error()
		}
		if got, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); got != n {
			return fmt.Sprintf("the LeaderWorkerSet is to have %d replicas, want %d", got, n)
		}
		return ""
	})
}

// doTheJob has replicas follow a load through the HPA, and a decision through the
// manager's own hand, up and down.
func doTheJob(t *testing.T) {
	t.Helper()
	load(t, rightsNamespace, "meta/llama-3.1-8b", "constant(12,600s)")
	bind(t, rightsNamespace, rightsGroup, 2)
	groupHas(t, 2)
	bind(t, rightsNamespace, byHand, 2)
	hasReady(t, rightsNamespace, byHand, 2)
	bind(t, rightsNamespace, byHand, 1)
	hasReady(t, rightsNamespace, byHand, 1)
	grown := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: rightsNamespace, Name: rightsAnnotated}}
	if err := shared.bed.Client.Patch(t.Context(), grown, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReplicas":2}}`))); err != nil {
		t.Fatal(err)
	}
	hasReady(t, rightsNamespace, rightsAnnotated, 2)
	eventually(t, time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, rightsNamespace, rightsHPA)
		if err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas < 2 {
			return fmt.Sprintf("%d replicas are Ready, want at least 2", d.Status.ReadyReplicas)
		}
		return ""
	})
}

// hasReady waits until so many replicas of a Deployment are Ready.
func hasReady(t *testing.T, namespace, name string, n int32) {
	t.Helper()
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		d, err := deployment(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas != n {
			return fmt.Sprintf("%d replicas of %s are Ready, want %d", d.Status.ReadyReplicas, name, n)
		}
		return ""
	})
}

// askForSeveral reads External Metrics by two selectors that each take several
// variants for one, which their owners are told: the second event of the kind about
// an object adds to the first.
func askForSeveral(ctx context.Context, t *testing.T, managers []*testbed.Manager) {
	t.Helper()
	c, err := rest.HTTPClientFor(shared.bed.Config)
	if err != nil {
		t.Fatal(err)
	}
	for range managers { // whichever of them answers
		for _, selector := range []string{"", "exported_namespace=" + rightsNamespace} {
			path := "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + rightsNamespace + "/wva_desired_replicas?labelSelector=" + url.QueryEscape(selector)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.bed.Config.Host+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("asking for %q: %s, %v: %.200s", selector, resp.Status, err, body)
			}
		}
	}
}

// role is a role that an account has.
type role struct {
	name      string // with its kind and its namespace
	namespace string // in which alone it holds, "" for the cluster
	rules     []rbacv1.PolicyRule
}

// rolesOf returns the roles that are bound to an account by name, sorted.
func rolesOf(ctx context.Context, t *testing.T, user string) []role {
	t.Helper()
	var everywhere rbacv1.ClusterRoleBindingList
	var within rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&everywhere, &within} {
		if err := shared.bed.Client.List(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	var out []role
	add := func(namespace string, subjects []rbacv1.Subject, ref rbacv1.RoleRef) {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && "system:serviceaccount:"+s.Namespace+":"+s.Name == user
		}) {
			return
		}
		if ref.Kind == "ClusterRole" {
			r, err := read(ctx, "", ref.Name, &rbacv1.ClusterRole{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, role{"ClusterRole " + ref.Name, namespace, r.Rules})
			return
		}
		r, err := read(ctx, namespace, ref.Name, &rbacv1.Role{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, role{"Role " + namespace + "/" + ref.Name, namespace, r.Rules})
	}
	for _, b := range everywhere.Items {
		add("", b.Subjects, b.RoleRef)
	}
	for _, b := range within.Items {
		add(b.Namespace, b.Subjects, b.RoleRef)
	}
	slices.SortFunc(out, func(a, b role) int { return strings.Compare(a.name, b.name) })
	return out
}

// unused returns what the roles of an account allow that it has never done, as far as
// the audit log goes back. An object that there is not may be asked for all the same.
func unused(ctx context.Context, t *testing.T, user string) []string {
	t.Helper()
	requests, err := shared.bed.Requests(user, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range rolesOf(ctx, t, user) {
		for _, rule := range r.rules {
			for _, right := range rightsOf(rule) {
				of := slices.DeleteFunc(slices.Clone(requests), func(q testbed.Request) bool { return !right.covers(r, q) })
				if !slices.ContainsFunc(of, func(q testbed.Request) bool { return q.Code < http.StatusMultipleChoices }) {
					out = append(out, fmt.Sprintf("%s: no manager used %s", r.name, right))
					continue
				}
				for _, name := range rule.ResourceNames {
					if !slices.ContainsFunc(of, func(q testbed.Request) bool { return q.Name == name && !q.Forbidden }) {
						out = append(out, fmt.Sprintf("%s: no manager used %s of %s", r.name, right, name))
					}
				}
			}
		}
	}
	return out
}

// right is one thing that may be done.
type right struct{ verb, group, resource string }

// String says what may be done.
func (r right) String() string { return fmt.Sprintf("%s %s of group %q", r.verb, r.resource, r.group) }

// rightsOf returns what a rule allows.
func rightsOf(rule rbacv1.PolicyRule) []right {
	var out []right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				out = append(out, right{verb, group, resource})
			}
		}
	}
	return out
}

// covers reports whether it is this right, given by a role, that a request needs.
func (r right) covers(by role, q testbed.Request) bool {
	resource, subresource, _ := strings.Cut(r.resource, "/")
	return q.Verb == r.verb && (r.group == rbacv1.APIGroupAll || q.Group == r.group) &&
		(resource == rbacv1.ResourceAll || q.Resource == resource) && q.Subresource == subresource &&
		(by.namespace == "" || q.Namespace == by.namespace)
}
