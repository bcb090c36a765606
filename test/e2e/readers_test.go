//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// TestATenantReadsTheDecisionsOfItsNamespace: as an account with a Role of one namespace,
// by the reviews of the real API server.
func TestATenantReadsTheDecisionsOfItsNamespace(t *testing.T) {
	const own, other = "readers-own", "readers-other"
	deploy(t, chat(own, "chat"), chat(other, "chat"))
	for _, namespace := range []string{own, other} {
		condition(t, time.Minute, namespace, "chat", "MetricsAvailable", "True", "MetricsFound")
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "tenant"}}
	meta := metav1.ObjectMeta{Namespace: own, Name: "tenant"}
	apply(t, account,
		&rbacv1.Role{
			ObjectMeta: meta,
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"llmd.ai"}, Resources: []string{"variantautoscalings"}, Verbs: []string{"get"}}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: meta.Name}},
		})
	review := &authenticationv1.TokenRequest{}
	if err := shared.bed.Client.SubResource("token").Create(t.Context(), account, review); err != nil {
		t.Fatal(err)
	}
	token := review.Status.Token
	eventually(t, 30*time.Second, func(ctx context.Context) string { // until the API server has seen the Role
		status, body, err := shared.manager.GetAs(ctx, "/debug/decisions/"+own+"/chat", token)
		if err != nil || status != http.StatusOK {
			return fmt.Sprintf("%d %v: %.200s", status, err, body)
		}
		return ""
	})
	for _, tt := range []struct {
		path, token string
		want        int
	}{
		{"/debug/decisions/" + own, token, http.StatusOK},
		{"/debug/decisions/" + other, token, http.StatusForbidden},
		{"/debug/decisions/" + other + "/chat", token, http.StatusForbidden},
		{"/debug/decisions", token, http.StatusForbidden},
		{"/metrics", token, http.StatusForbidden},
		{"/debug/decisions", "no-token-of-anybody", http.StatusUnauthorized},
	} {
		status, body, err := shared.manager.GetAs(t.Context(), tt.path, tt.token)
		if err != nil || status != tt.want {
			t.Errorf("GET %s: %d, %v, want %d: %.200s", tt.path, status, err, tt.want, body)
		}
		if tt.path != "/debug/decisions/"+own {
			continue
		}
		var all []explain.Explanation
		if err := json.Unmarshal(body, &all); err != nil || len(all) != 1 || all[0].Variant.Key.Namespace != own {
			t.Errorf("the tenant is shown %d explanations, %v, want the one of %s: %.200s", len(all), err, own, body)
		}
	}
}
