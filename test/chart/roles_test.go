package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheManagerMayDoWhatTheMarkersSayAndNoMore(t *testing.T) {
	generated, err := decode(string(rbac.ManagerRoles()) + string(rbac.ActuationRoles()))
	if err != nil {
		t.Fatal(err)
	}
	out := mustRender(t, load(t), values(t, "limitedMode: true\nrbac: {scale: true, markPods: true}"), standard)
	if len(generated) != 5 {
		t.Errorf("got %d generated roles, want the 5 that the chart knows", len(generated))
	}
	for _, o := range generated {
		want := find[rbacv1.ClusterRole](t, generated, Identity(o))
		got := find[rbacv1.ClusterRole](t, out.Objects, Identity(o))
		if diff := cmp.Diff(want.Rules, got.Rules); diff != "" {
			t.Errorf("%s (- markers, + chart)\n%s", Identity(o), diff)
		}
	}
}

// granted returns the resources that a subject of the release may act on, by
// scope: "" for the cluster, else a namespace.
func granted(t *testing.T, objects []*unstructured.Unstructured) map[string][]string {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" || o.GetKind() == "Role" {
			roles[Identity(o)] = find[rbacv1.ClusterRole](t, objects, Identity(o)).Rules
		}
	}
	all := map[string][]string{}
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
			continue
		}
		binding := find[rbacv1.RoleBinding](t, objects, Identity(o))
		if binding.Subjects[0].Name != "workload-variant-autoscaler-controller-manager" {
			continue
		}
		role := binding.RoleRef.Kind + "/"
		if binding.RoleRef.Kind == "Role" {
			role += binding.Namespace
		}
		for _, rule := range roles[role+"/"+binding.RoleRef.Name] {
			for _, resource := range rule.Resources {
				if len(rule.ResourceNames) == 1 {
					resource += "=" + rule.ResourceNames[0]
				}
				all[binding.Namespace] = append(all[binding.Namespace], resource)
			}
		}
	}
	for scope := range all {
		slices.Sort(all[scope])
		all[scope] = slices.Compact(all[scope]) // events are of two groups
	}
	return all
}

func TestAManagerOfOneNamespaceHasNothingElsewhere(t *testing.T) {
	out := mustRender(t, load(t), values(t, "watchNamespace: llm-inference\nfullnameOverride: workload-variant-autoscaler"), standard)
	want := map[string][]string{
		"": {"namespaces=llm-inference"},
		"llm-inference": {
			"*/scale", "configmaps", "deployments", "events", "horizontalpodautoscalers", "leaderworkersets", "pods", "replicasets",
			"scaledobjects", "statefulsets", "variantautoscalings", "variantautoscalings/status",
		},
		"workload-variant-autoscaler-system": {
			"configmaps", "configmaps=wva-store-decisions", "configmaps=wva-store-fits", "configmaps=wva-store-start-ups", "events", "leases", "leases=72dd1cf1.llm-d.ai",
		},
	}
	if diff := cmp.Diff(want, granted(t, out.Objects)); diff != "" {
		t.Error(diff)
	}
}

// TestTheRoleNamesTheLeaseOfTheManager: other leases of the namespace are not its own.
func TestTheRoleNamesTheLeaseOfTheManager(t *testing.T) {
	for text, want := range map[string]string{
		"": "72dd1cf1.llm-d.ai", "controllerInstance: blue": "blue.72dd1cf1.llm-d.ai", "controller: {leaderElection: {id: mine}}": "mine",
	} {
		var got []rbacv1.PolicyRule
		objects := mustRender(t, load(t), values(t, text), standard).Objects
		for _, o := range objects {
			if o.GetKind() == "Role" {
				got = append(got, find[rbacv1.Role](t, objects, Identity(o)).Rules...)
			}
		}
		got = slices.DeleteFunc(got, func(r rbacv1.PolicyRule) bool { return !slices.Contains(r.Resources, "leases") })
		of := func(verbs []string, names ...string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: names, Verbs: verbs}
		}
		// RBAC cannot tell names apart for create.
		if diff := cmp.Diff([]rbacv1.PolicyRule{of([]string{"create"}), of([]string{"get", "update"}, want)}, got); diff != "" {
			t.Errorf("values %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestNodesAreReadInLimitedModeAlone(t *testing.T) {
	for _, test := range []struct {
		name, values string
		want         bool
	}{
		{"the defaults", "", false},
		{"limited mode", "limitedMode: true", true},
		{"limited by an entry", "saturation: {default: {enableLimiter: true}}", true},
		{"limited by an override", "saturation: {overrides: {a: {model_id: m, enableLimiter: true}}}", true},
		{"an entry that says no", "saturation: {default: {enableLimiter: false}}", false},
		{"limited in some namespace", "rbac: {readNodes: true}", true},
		{"of one namespace", "limitedMode: true\nwatchNamespace: a", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := mustRender(t, load(t), values(t, test.values), standard)
			if got := slices.Contains(granted(t, out.Objects)[""], "nodes"); got != test.want {
				t.Errorf("reads nodes: got %t, want %t", got, test.want)
			}
		})
	}
}

func TestWithoutAStoreTheManagerWritesNoConfigMap(t *testing.T) {
	for text, want := range map[string]bool{"": true, "store: {enabled: false}": false, "store: {enabled: false}\nwatchNamespace: a": false} {
		out := mustRender(t, load(t), values(t, text), standard)
		writes := false
		for _, o := range out.Objects {
			if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
				continue
			}
			for _, rule := range find[rbacv1.ClusterRole](t, out.Objects, Identity(o)).Rules {
				writes = writes || slices.Contains(rule.Resources, "configmaps") && (slices.Contains(rule.Verbs, "create") || slices.Contains(rule.Verbs, "update"))
			}
		}
		manager := find[appsv1.Deployment](t, out.Objects, "Deployment/"+standard.Namespace+"/workload-variant-autoscaler-controller-manager")
		off := slices.Contains(manager.Spec.Template.Spec.Containers[0].Args, "--store=false")
		if writes != want || off == want {
			t.Errorf("%q: may write ConfigMaps: got %t, want %t; --store=false: got %t, want %t", text, writes, want, off, !want)
		}
	}
}

func TestReplicasAreSetOnlyWhereThatIsAskedFor(t *testing.T) {
	for _, test := range []struct {
		name, values, scope string
		scales, marks       bool
	}{
		{"the defaults", "", "", false, false},
		{"by annotation", "rbac: {scale: true}", "", true, false},
		{"by a model", "models: [{modelID: m, variants: [{name: a, actuation: scale}]}]", "", true, false},
		{"not by a model", "models: [{modelID: m, variants: [{name: a, scaler: none, actuation: metrics}]}]", "", false, false},
		{"marked", "rbac: {markPods: true}", "", false, true},
		{"in one namespace", "watchNamespace: a\nrbac: {scale: true, markPods: true}", "a", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := mustRender(t, load(t), values(t, test.values), standard)
			verbs := map[string]bool{}
			for _, o := range out.Objects {
				if (o.GetKind() == "ClusterRole" || o.GetKind() == "Role") && o.GetNamespace() == test.scope {
					for _, rule := range find[rbacv1.ClusterRole](t, out.Objects, Identity(o)).Rules {
						for _, resource := range rule.Resources {
							for _, verb := range rule.Verbs {
								verbs[resource+" "+verb] = true
							}
						}
					}
				}
			}
			if verbs["*/scale update"] != test.scales || verbs["pods patch"] != test.marks {
				t.Errorf("sets replicas: got %t, want %t; marks pods: got %t, want %t", verbs["*/scale update"], test.scales, verbs["pods patch"], test.marks)
			}
		})
	}
}

// TestScalesAreThoseOfNamedAPIGroups: a right on */scale of every group reaches the custom
// resources of others too.
func TestScalesAreThoseOfNamedAPIGroups(t *testing.T) {
	shipped := rbac.TargetGroups()
	for _, test := range []struct {
		name, values, scope string
		want                []string
	}{
		{"the defaults", "rbac: {scale: true}", "", shipped},
		{"groups that are added", "rbac: {scale: true, targetGroups: [example.com, apps]}", "", []string{"apps", "example.com", "leaderworkerset.x-k8s.io"}},
		{
			"the target of a model", "rbac: {scale: true}\nmodels: [{modelID: m, variants: [{name: a, maxReplicas: 2, target: {apiVersion: example.com/v1, kind: Pool}}]}]", "",
			[]string{"apps", "example.com", "leaderworkerset.x-k8s.io"},
		},
		{"in one namespace", "watchNamespace: a\nrbac: {scale: true, targetGroups: [example.com]}", "a", []string{"apps", "example.com", "leaderworkerset.x-k8s.io"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := mustRender(t, load(t), values(t, test.values), standard).Objects
			got := map[string][]string{}
			for _, o := range objects {
				if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
					continue
				}
				for _, rule := range find[rbacv1.ClusterRole](t, objects, Identity(o)).Rules {
					if slices.Contains(rule.Resources, "*/scale") && o.GetNamespace() == test.scope {
						got[rule.Verbs[0]] = rule.APIGroups
					}
				}
			}
			if diff := cmp.Diff(map[string][]string{"get": test.want, "update": test.want}, got); diff != "" {
				t.Errorf("API groups of */scale by verb (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoValuesGrantSecretsOrWriting(t *testing.T) {
	for name, v := range samples(t) {
		for _, o := range mustRender(t, load(t), v, standard).Objects {
			if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" || o.GetLabels()["rbac.authorization.k8s.io/aggregate-to-edit"] != "" || o.GetLabels()["rbac.authorization.k8s.io/aggregate-to-admin"] != "" {
				continue
			}
			role := find[rbacv1.ClusterRole](t, []*unstructured.Unstructured{o}, Identity(o))
			for _, rule := range role.Rules {
				if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Verbs, "delete") {
					t.Errorf("%s: %s grants %v", name, Identity(o), rule)
				}
			}
		}
	}
}

func TestVariantAutoscalingsArePartOfTheClustersRoles(t *testing.T) {
	out := mustRender(t, load(t), nil, standard)
	for _, test := range []struct{ role, aggregate, verb, not string }{
		{"viewer", "view", "watch", "create"},
		{"editor", "edit", "create", "deletecollection"},
		{"admin", "admin", "deletecollection", "*"},
	} {
		role := find[rbacv1.ClusterRole](t, out.Objects, "ClusterRole//workload-variant-autoscaler-variantautoscaling-"+test.role+"-role")
		rule := role.Rules[0]
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+test.aggregate] != "true" || rule.APIGroups[0] != "llmd.ai" ||
			!slices.Contains(rule.Verbs, test.verb) || slices.Contains(rule.Verbs, test.not) {
			t.Errorf("%s: got labels %v and %v", test.role, role.Labels, rule)
		}
	}
}
