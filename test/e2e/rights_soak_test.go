//go:build e2e && soak

package e2e

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestRightsThatAreSeldomMissed takes those that TestTheRightsOfTheChart leaves: what
// is read once as a manager starts, without which it ends; those who scale, which the
// leader alone watches; and what goes on without.
func TestRightsThatAreSeldomMissed(t *testing.T) {
	const ns, name = "rights-seldom", "own"
	v := aside(ns, name)
	v.Actuation = "scale"
	deploy(t, v)
	if err := shared.bed.GrantActuation(t.Context()); err != nil {
		t.Fatal(err)
	}
	shared.manager.Stop()
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })

	for _, s := range []struct {
		name string
		from client.Object
		says string
	}{
		{"get of ConfigMaps", clusterRole(managerRole), "reading ConfigMap workload-variant-autoscaler-system/"},
		{
			"get of who the API server calls as",
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: testbed.AuthenticationReader}},
			"bind the service account to the Role extension-apiserver-authentication-reader",
		},
	} {
		t.Run("without "+s.name, func(t *testing.T) {
			giveBack := take(t, s.from, "configmaps", "get")
			if _, err := shared.bed.StartManager(t.Context(), testbed.ManagerOptions{Interval: interval}); err == nil {
				t.Error("the manager started")
			} else {
				says(t, err.Error(), s.says)
			}
			giveBack()
		})
	}

	t.Run("without list and watch of HPAs", func(t *testing.T) {
		giveBack := take(t, clusterRole(managerRole), "horizontalpodautoscalers", "list", "watch")
		m, err := shared.bed.StartManager(t.Context(), testbed.ManagerOptions{Interval: interval, NoExternalMetrics: true, Unready: true})
		if err != nil {
			t.Fatal(err)
		}
		shared.manager = m
		notReady(t, m, "caches", `resource \"horizontalpodautoscalers\"`)
		giveBack()
		ready(t, m)
	})
	manager := []*testbed.Manager{shared.manager}
	t.Run("without patch of pods", func(t *testing.T) {
		giveBack := take(t, clusterRole("workload-variant-autoscaler-pod-marker-role"), "pods", "patch")
		bind(t, ns, name, 2)
		hasReady(t, ns, name, 2)
		bind(t, ns, name, 1)
		hasReady(t, ns, name, 1)
		logged(t, manager, "pods that should go first are not marked", "bind the ClusterRole workload-variant-autoscaler-pod-marker-role")
		giveBack()
		bind(t, ns, name, 2)
		hasReady(t, ns, name, 2)
		bind(t, ns, name, 1)
		logged(t, manager, "pods that should go first are marked again")
	})
	t.Run("without create of events", func(t *testing.T) {
		giveBack := take(t, clusterRole(managerRole), "events", "create", "patch")
		bind(t, ns, name, 2)
		logged(t, manager, "Server rejected event", `cannot create resource \"events\"`)
		decided(t, ns, name, 2)
		giveBack()
	})
}
