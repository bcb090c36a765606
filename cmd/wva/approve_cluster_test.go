package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// as returns a kubeconfig of another user.
func (c cluster) as(t *testing.T, user string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.State.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range config.AuthInfos {
		a.Impersonate = user
	}
	file := filepath.Join(t.TempDir(), user)
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestApproveOnAPIServer approves with the rights that docs/features/approval-and-schedules.md
// names, and with none. No manager runs.
func TestApproveOnAPIServer(t *testing.T) {
	const namespace, user = "quick-start", "approver"
	c := cluster{apitest.Start(t)}
	if err := c.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	asks := map[string]string{v1alpha1.AnnotationApprove: "shrink"}
	waits := scaling.Reduction{Cycle: "k7hw2cxd-12", Since: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC), From: 4, To: 2}
	in := func(name string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}
	}
	for name, annotations := range map[string]map[string]string{"llama-8b": asks, "steady": asks, "free": nil} {
		va := &v1alpha1.VariantAutoscaling{ObjectMeta: in(name, annotations), Spec: v1alpha1.VariantAutoscalingSpec{ModelID: name}}
		if err := c.Client.Create(t.Context(), va); err != nil {
			t.Fatal(err)
		}
		if name == "steady" {
			continue
		}
		meta.SetStatusCondition(&va.Status.Conditions, metav1.Condition{
			Type: string(v1alpha1.ConditionChangesAllowed), Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonAwaitingApproval), Message: "it waits",
		})
		va.Status.Facts = map[string]string{string(v1alpha1.ConditionChangesAllowed): scaling.FactReduction + waits.String()}
		if err := c.Client.Status().Update(t.Context(), va); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []client.Object{
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in("llama-8b", asks), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "llama-8b"}, MaxReplicas: 4,
		}},
		&rbacv1.Role{ObjectMeta: in("approve-reductions", nil), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"llmd.ai"}, Resources: []string{"variantautoscalings"}, Verbs: []string{"get", "list", "patch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: in(user, nil), Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "approve-reductions"},
		},
	} {
		if err := c.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	granted := func() string {
		var va v1alpha1.VariantAutoscaling
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "llama-8b"}, &va); err != nil {
			t.Fatal(err)
		}
		return va.Annotations[v1alpha1.AnnotationApproved]
	}
	for _, tt := range []struct {
		args          []string
		user          string
		says, refused string // what is printed, or a part of the error
		grant         string // then, of llama-8b
	}{
		{[]string{"llama-8b"}, "visitor", "", "forbidden", ""},
		{[]string{"llama-8c"}, user, "", "there is no VariantAutoscaling llama-8c in namespace quick-start; did you mean llama-8b?", ""},
		{[]string{"steady"}, user, "", "VariantAutoscaling quick-start/steady: no reduction waits for approval", ""},
		{[]string{"free"}, user, "", "its reductions need no approval: it has no annotation wva.llmd.ai/approve: shrink", ""},
		{[]string{"llama-8b", "--replicas", "1"}, user, "", "--replicas 1: the reduction that waits is from 4 to 2; want 2 or more, and fewer than 4", ""},
		{[]string{"llama-8b", "--replicas", "4"}, user, "", "want 2 or more, and fewer than 4", ""},
		{[]string{"hpa/llama-8b"}, user, "", "forbidden", ""},
		{[]string{"llama-8b"}, user, "quick-start/llama-8b: approved from 4 to 2 replicas, of the decision of cycle k7hw2cxd-12\n", "", "to=2;cycle=k7hw2cxd-12"},
		{[]string{"va/llama-8b", "--replicas", "3"}, user, "quick-start/llama-8b: approved from 4 to 3 replicas, of the decision of cycle k7hw2cxd-12\n", "", "to=3;cycle=k7hw2cxd-12"},
	} {
		t.Run(strings.Join(tt.args, " ")+" as "+tt.user, func(t *testing.T) {
			out, _, err := c.run(t, "approve", append(tt.args, "-n", namespace, "--kubeconfig", c.as(t, tt.user))...)
			if out != tt.says || (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %q, %v; want %q, %q", out, err, tt.says, tt.refused)
			}
			if got := granted(); got != tt.grant {
				t.Errorf("the annotation is %q, want %q", got, tt.grant)
			}
		})
	}
}

func TestApproveNamesWhatItTakes(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"deployment/a"}, {"va/"}, {"va/a/b"}, {"a", "--replicas", "-2"}} {
		command := newRootCommand()
		command.SetArgs(append([]string{"approve"}, args...))
		if err := command.ExecuteContext(t.Context()); !errors.Is(err, errUsage) {
			t.Errorf("approve %v: got %v, want bad usage", args, err)
		}
	}
}
