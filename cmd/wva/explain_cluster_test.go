package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// TestExplainOnAPIServer asks a cluster whose manager cannot be reached.
func TestExplainOnAPIServer(t *testing.T) {
	c := cluster{apitest.Start(t)}
	c.system(t)
	t.Run("the leader is the pod that holds the lease", c.leaders)
	t.Run("status and events are shown where the manager is not reached", c.explained)
}

// system creates the namespace of the manager and the pod of one.
func (c cluster) system(t *testing.T) {
	t.Helper()
	if err := c.Namespace(t.Context(), defaultSystemNamespace); err != nil {
		t.Fatal(err)
	}
	container := corev1.Container{
		Name: "manager", Image: "manager",
		Ports: []corev1.ContainerPort{{Name: "probes", ContainerPort: 8081}, {Name: "metrics", ContainerPort: 9443}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystemNamespace, Name: "manager-0"},
		Spec:       corev1.PodSpec{NodeName: "localhost", Containers: []corev1.Container{container}},
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(200 * time.Millisecond) { // until the namespace has its service account
		err := c.Client.Create(t.Context(), pod)
		if err == nil || apierrors.IsAlreadyExists(err) {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// held makes the lease one of a holder, renewed so long ago.
func (c cluster) held(t *testing.T, holder string, ago time.Duration) {
	t.Helper()
	renewed := metav1.NewMicroTime(time.Now().Add(-ago))
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: defaultSystemNamespace, Name: leaderElectionID},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(60)), RenewTime: &renewed},
	}
	if holder == "" {
		lease.Spec.HolderIdentity = nil
	}
	if err := c.Apply(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) leaders(t *testing.T) {
	lease := client.ObjectKey{Namespace: defaultSystemNamespace, Name: leaderElectionID}
	find := func() (leader, error) { return findLeader(t.Context(), c.Client, lease, time.Now()) }
	refused := func(want string) {
		t.Helper()
		got, err := find()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", got, err, want)
		}
	}
	refused("there is no Lease " + lease.String() + ": leader election is off")
	c.held(t, "", time.Second)
	refused("no process holds Lease " + lease.String())
	c.held(t, "manager-0_1234", 2*time.Minute)
	refused("Lease " + lease.String() + " of manager-0_1234 ran out")
	c.held(t, "laptop_1234", time.Second)
	refused("reading pod " + defaultSystemNamespace + "/laptop, which holds Lease")
	c.held(t, "manager-0_1234", time.Second)
	got, err := find()
	if want := (leader{Namespace: defaultSystemNamespace, Pod: "manager-0", Port: 9443}); got != want || err != nil {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got := portOf(corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager"}}}}); got != metricsPort {
		t.Errorf("port %d of a pod that names none, want %d", got, metricsPort)
	}
}

// explain runs wva explain and returns what it wrote, warnings apart.
func (c cluster) explain(t *testing.T, args ...string) (out, warnings string, err error) {
	t.Helper()
	return c.run(t, "explain", args...)
}

// run does so with any command that asks a manager.
func (c cluster) run(t *testing.T, name string, args ...string) (out, warnings string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := newRootCommand()
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetArgs(append([]string{name, "--kubeconfig", c.State.Kubeconfig}, args...))
	err = command.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func (c cluster) explained(t *testing.T) {
	const namespace = "told"
	if err := c.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat"},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "org/chat"},
	}
	if err := c.Client.Create(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	decided := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	va.Status.DesiredOptimizedAlloc = &v1alpha1.OptimizedAlloc{NumReplicas: 3, LastUpdate: &v1alpha1.LastUpdate{UpdateTime: &decided, Reason: "Saturated"}}
	meta.SetStatusCondition(&va.Status.Conditions, metav1.Condition{
		Type: string(v1alpha1.ConditionScalerFollowing), Status: metav1.ConditionFalse, Reason: "NoScaler",
		Message: "no scaler",
	})
	if err := c.Client.Status().Update(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	for i, note := range []string{"from 1 to 2 replicas", "from 2 to 3 replicas"} {
		e := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "chat." + string(rune('a'+i))},
			InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Namespace: namespace, Name: "chat"},
			Type:           corev1.EventTypeNormal, Reason: "ScaledUp", Message: note,
			LastTimestamp: metav1.NewTime(decided.Add(time.Duration(-i) * time.Minute)),
		}
		if err := c.Client.Create(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}

	out, warnings, err := c.explain(t, "chat", "-n", namespace, "--leader-election-id", "absent")
	if !errors.Is(err, errFinding) || exitCode(err) != 1 {
		t.Errorf("got %v, want a finding", err)
	}
	if !strings.Contains(warnings, "there is no Lease "+defaultSystemNamespace+"/absent") ||
		!strings.Contains(warnings, "from the object's status and events") {
		t.Errorf("warnings: %s", warnings)
	}
	want := []string{
		"told/chat: org/chat", "3 replicas, since 2026-11-20T12:00:00Z: Saturated", "NoScaler: no scaler",
		"from 2 to 3 replicas", "from 1 to 2 replicas",
	}
	for _, part := range want {
		if _, rest, found := strings.Cut(out, part); found {
			out = rest
		} else {
			t.Errorf("%q is not told, or not in order; left: %s", part, out)
		}
	}

	out, _, err = c.explain(t, "chat", "-n", namespace, "-o", "json", "--leader-election-id", "absent")
	var held heldStatus
	if jsonErr := json.Unmarshal([]byte(out), &held); jsonErr != nil || !errors.Is(err, errFinding) {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	if held.From != "status and events" || held.Status.DesiredOptimizedAlloc.NumReplicas != 3 || len(held.Events) != 2 {
		t.Errorf("as JSON: %+v", held)
	}
	for _, tt := range []struct{ name, namespace, want string }{
		{"absent", namespace, "there is no VariantAutoscaling absent in namespace told; it has chat"},
		{"caht", namespace, "there is no VariantAutoscaling caht in namespace told; did you mean chat?"},
		{"va/chat", "default", "there is no VariantAutoscaling chat in namespace default; there is one in told: -n told"},
	} {
		for _, command := range []string{"explain", "profile"} {
			out, warnings, err := c.run(t, command, tt.name, "-n", tt.namespace)
			if err == nil || err.Error() != tt.want || exitCode(err) != 1 || out != "" || warnings != "" {
				t.Errorf("%s %s in %s: got %v, want %s; wrote %s%s", command, tt.name, tt.namespace, err, tt.want, out, warnings)
			}
		}
	}
}
