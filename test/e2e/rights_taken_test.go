//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// The roles that verbs are taken from.
func clusterRole(name string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

const managerRole = "workload-variant-autoscaler-manager-role"

// take removes verbs on a resource from a ClusterRole or Role, and returns what gives
// them back, which the end of the test does at the latest.
func take(t *testing.T, from client.Object, resource string, verbs ...string) (giveBack func()) {
	t.Helper()
	return takeRules(t, from, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule { return lessened(rules, resource, verbs) })
}

// takeRules changes the rules of a ClusterRole or Role, and returns what gives those
// back that were there, which the end of the test does at the latest.
func takeRules(t *testing.T, from client.Object, less func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) (giveBack func()) {
	t.Helper()
	key := client.ObjectKeyFromObject(from)
	change := func(ctx context.Context, by func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) error {
		if err := shared.bed.Client.Get(ctx, key, from); err != nil {
			return err
		}
		switch r := from.(type) {
		case *rbacv1.ClusterRole:
			r.Rules = by(r.Rules)
		case *rbacv1.Role:
			r.Rules = by(r.Rules)
		}
		return shared.bed.Client.Update(ctx, from)
	}
	var before []rbacv1.PolicyRule
	if err := change(t.Context(), func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		before = rules
		return less(rules)
	}); err != nil {
		t.Fatal(err)
	}
	given := false
	giveBack = func() {
		t.Helper()
		if given {
			return
		}
		given = true
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := change(ctx, func([]rbacv1.PolicyRule) []rbacv1.PolicyRule { return before }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(giveBack)
	return giveBack
}

// lessened returns rules without verbs on a resource.
func lessened(rules []rbacv1.PolicyRule, resource string, verbs []string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) {
			out = append(out, rule)
			continue
		}
		others, rest := *rule.DeepCopy(), *rule.DeepCopy()
		others.Resources = slices.DeleteFunc(others.Resources, func(r string) bool { return r == resource })
		rest.Resources = []string{resource}
		rest.Verbs = slices.DeleteFunc(rest.Verbs, func(v string) bool { return slices.Contains(verbs, v) })
		if len(others.Resources) > 0 {
			out = append(out, others)
		}
		if len(rest.Verbs) > 0 {
			out = append(out, rest)
		}
	}
	return out
}

// logged waits until one of the managers has logged a line that says all of that.
func logged(t *testing.T, managers []*testbed.Manager, parts ...string) {
	t.Helper()
	eventually(t, 30*time.Second, func(context.Context) string { return notLogged(managers, parts...) })
}

// notLogged says that none of the managers has logged a line with all parts, or
// returns "".
func notLogged(managers []*testbed.Manager, parts ...string) string {
	for _, m := range managers {
		text, err := os.ReadFile(m.Log)
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(string(text)) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return ""
			}
		}
	}
	return fmt.Sprintf("no line of the log has %q", parts)
}

// says fails the test if a text lacks a part.
func says(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not say %q", text, part)
	}
}

// withoutNodes switches limited mode on in a cluster whose nodes may not be read, as
// one does who forgets rbac.readNodes.
func withoutNodes(t *testing.T, managers []*testbed.Manager) {
	t.Run("without list and watch of nodes", func(t *testing.T) {
		giveBack := take(t, clusterRole("workload-variant-autoscaler-node-reader-role"), "nodes", "list", "watch")
		configure(t, rightsNamespace, "saturation-scaling-config", map[string]string{"default": "enableLimiter: true\nscaleDownStabilization: 15s"})
		bind(t, rightsNamespace, byHand, 2)
		logged(t, managers, "the stock of accelerators is not known", `cannot list resource \"nodes\"`)
		eventually(t, 30*time.Second, func(ctx context.Context) string {
			return noEvent(ctx, rightsNamespace, byHand, "Limited", "InventoryUnknown")
		})
		giveBack()
		hasReady(t, rightsNamespace, byHand, 2)
		bind(t, rightsNamespace, byHand, 1)
		hasReady(t, rightsNamespace, byHand, 1)
	})
}

// withoutScale takes the rights on scale subresources: to read them, by which kinds
// without an informer are known, and to set them.
func withoutScale(t *testing.T) {
	t.Run("without get of scales", func(t *testing.T) {
		giveBack := take(t, clusterRole(managerRole), "*/scale", "get")
		says(t, condition(t, 30*time.Second, rightsNamespace, rightsOther, "TargetResolved", "False", "TargetNotFound"),
			`the manager may not get replicasets/scale of API group "apps". Bind the ClusterRole `+managerRole)
		giveBack()
		condition(t, 30*time.Second, rightsNamespace, rightsOther, "TargetResolved", "True", "TargetFound")
	})
	t.Run("without update of scales", func(t *testing.T) {
		giveBack := take(t, clusterRole("workload-variant-autoscaler-scaler-role"), "*/scale", "update")
		bind(t, rightsNamespace, byHand, 2)
		says(t, condition(t, 30*time.Second, rightsNamespace, byHand, "ScalerFollowing", "False", "TargetNotMoving"),
			"Bind the ClusterRole workload-variant-autoscaler-scaler-role")
		giveBack()
		has(t, rightsNamespace, byHand, 2)
		condition(t, 30*time.Second, rightsNamespace, byHand, "ScalerFollowing", "True", "Following")
	})
}

// withoutGroup takes the API group of a kind that is no workload of Kubernetes from the
// rights on scales, as of a kind that no value names.
func withoutGroup(t *testing.T) {
	t.Run("without the API group of a kind", func(t *testing.T) {
		giveBack := takeRules(t, clusterRole(managerRole), func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
			out := slices.Clone(rules)
			for i, r := range out {
				if slices.Contains(r.Resources, "*/scale") {
					out[i].APIGroups = []string{"apps"}
				}
			}
			return out
		})
		says(t, condition(t, 30*time.Second, rightsNamespace, rightsGroup, "TargetResolved", "False", "TargetNotFound"),
			`the manager may not get leaderworkersets/scale of API group "leaderworkerset.x-k8s.io"`)
		giveBack()
		condition(t, 30*time.Second, rightsNamespace, rightsGroup, "TargetResolved", "True", "TargetFound")
	})
}

// withoutStatus takes the right to say anything in a status. Who leads serves what is
// decided all the same, and an event says that the status is not so.
func withoutStatus(t *testing.T, managers []*testbed.Manager) {
	t.Run("without update of the status", func(t *testing.T) {
		leader, _ := elected(t, managers)
		giveBack := take(t, clusterRole(managerRole), "variantautoscalings/status", "update")
		bind(t, rightsNamespace, rightsSet, 3)
		eventually(t, 30*time.Second, func(ctx context.Context) string {
			return noEvent(ctx, rightsNamespace, rightsSet, "StatusNotWritten", `cannot update resource "variantautoscalings/status"`)
		})
		if n, err := leader.ExternalMetric(t.Context(), rightsNamespace, rightsSet); err != nil || n != 3 {
			t.Errorf("who leads serves %g, %v, want 3", n, err)
		}
		giveBack()
		decided(t, rightsNamespace, rightsSet, 3)
	})
}

// withoutReviews takes the right to ask what those may do who call. An HPA cannot
// read then, and says so.
func withoutReviews(t *testing.T, managers []*testbed.Manager) {
	t.Run("without subject access reviews", func(t *testing.T) {
		eventually(t, 30*time.Second, func(ctx context.Context) string { return reading(ctx, "True", "ValidMetricFound") })
		giveBack := take(t, clusterRole("system:auth-delegator"), "subjectaccessreviews", "create")
		// An answer that allows is kept for a minute, and the HPA reads every 15 s.
		eventually(t, 90*time.Second, func(ctx context.Context) string { return reading(ctx, "False", "FailedGetExternalMetric") })
		logged(t, managers, `cannot create resource \"subjectaccessreviews\"`)
		giveBack()
		reads(t, rightsNamespace, rightsSet, 3)
	})
}

// reading says what the HPA says of its metric if it is something else, or returns "".
func reading(ctx context.Context, status, reason string) string {
	h, err := hpa(ctx, rightsNamespace, rightsHPA)
	if err != nil {
		return err.Error()
	}
	for _, c := range h.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive {
			if string(c.Status) == status && c.Reason == reason {
				return ""
			}
			return fmt.Sprintf("the HPA's ScalingActive is %s, %s: %s; want %s, %s", c.Status, c.Reason, c.Message, status, reason)
		}
	}
	return "the HPA says nothing of its metric"
}

// withoutLease takes the right to lead. Who leads ends, and says why; who does not
// and cannot is not ready, for no manager decides.
func withoutLease(t *testing.T, managers []*testbed.Manager) {
	t.Run("without update of leases", func(t *testing.T) {
		leader, other := elected(t, managers)
		giveBack := take(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: testbed.SystemNamespace, Name: managerRole}}, "leases", "update")
		eventually(t, 30*time.Second, func(context.Context) string {
			select {
			case <-leader.Done():
				return ""
			default:
				return "the manager that may not renew the lease still runs"
			}
		})
		if leader.Err() == nil {
			t.Error("a manager that lost the lease ended without an error")
		}
		says(t, leader.Tail(), "leader election lost")
		logged(t, []*testbed.Manager{leader}, `cannot update resource \"leases\"`)
		eventually(t, 45*time.Second, func(ctx context.Context) string {
			err := other.Ready(ctx)
			if err == nil {
				return "a manager is ready although no manager leads and none can"
			}
			if !strings.Contains(err.Error(), "[-]leader failed") {
				return err.Error()
			}
			return ""
		})
		logged(t, []*testbed.Manager{other}, "the manager is not ready", "no manager leads: the lease workload-variant-autoscaler-system/72dd1cf1.llm-d.ai")
		logged(t, []*testbed.Manager{other}, `cannot update resource \"leases\"`)
		giveBack()
		eventually(t, 30*time.Second, func(ctx context.Context) string {
			if err := other.Ready(ctx); err != nil {
				return err.Error()
			}
			if !leads(ctx, t, other) {
				return "no manager leads"
			}
			return ""
		})
	})
}

// TestWhatMayNotBeWatchedIsNotReady has a manager start without the right to watch
// pods, and lose that of ConfigMaps later: the API server asks for it anew with each
// watch, of which none lasts.
func TestWhatMayNotBeWatchedIsNotReady(t *testing.T) {
	const ns = "rights-watched"
	v := aside(ns, "idle")
	v.Replicas, v.Min = 0, 0
	deploy(t, v)
	api := cable(t, shared.bed.State.APIServer)
	shared.manager.Stop()
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })

	giveBack := take(t, clusterRole(managerRole), "pods", "list", "watch")
	m, err := shared.bed.StartManager(t.Context(), testbed.ManagerOptions{
		Interval: interval, NoExternalMetrics: true, Unready: true, Env: []string{"KUBECONFIG=" + through(t, api)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	notReady(t, m, "caches", `resource \"pods\"`)
	giveBack()
	ready(t, m)

	giveBack = take(t, clusterRole(managerRole), "configmaps", "list", "watch")
	api.cut()
	api.mend()
	notReady(t, m, "configuration", `resource \"configmaps\"`)
	giveBack()
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "kvCacheThreshold: 0.6"})
	logged(t, []*testbed.Manager{m}, "ConfigMap changed", ns)
}

// ready waits until a manager is ready.
func ready(t *testing.T, m *testbed.Manager) {
	t.Helper()
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		if err := m.Ready(ctx); err != nil {
			return err.Error()
		}
		return ""
	})
}

// notReady waits until a manager is not ready because of a check, and has logged what
// the API server refuses.
func notReady(t *testing.T, m *testbed.Manager, check, refused string) {
	t.Helper()
	eventually(t, 30*time.Second, func(ctx context.Context) string {
		err := m.Ready(ctx)
		if err == nil {
			return "the manager is ready"
		}
		if !strings.Contains(err.Error(), "[-]"+check+" failed") {
			return err.Error()
		}
		return notLogged([]*testbed.Manager{m}, "the manager is not ready", "the API server refuses what the manager watches", refused)
	})
}
