package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// watching reports whether a request begins a watch.
func watching(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// TestASlowAPIServerLosesNothing: each request takes a second and a half, longer than a
// cycle.
func TestASlowAPIServerLosesNothing(t *testing.T) {
	t.Parallel()
	b := begin(t, "slow", "held", "ordered")
	b.order("held", 2)
	b.has(30*time.Second, "held", 2)
	b.door.breaks(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !watching(r) {
			select {
			case <-time.After(1500 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		next.ServeHTTP(w, r)
	})
	b.order("ordered", 3)
	b.has(30*time.Second, "ordered", 3)
	b.lives()
	b.has(0, "held", 2)
}

// TestAnAPIServerThatThrottlesIsObeyed: priority and fairness answers 429 with the
// seconds to wait. The manager waits so long, and loses nothing.
func TestAnAPIServerThatThrottlesIsObeyed(t *testing.T) {
	t.Parallel()
	const wait, length = 2 * time.Second, 6 * time.Second
	b := begin(t, "throttled", "held", "ordered")
	b.order("held", 2)
	b.has(30*time.Second, "held", 2)
	begun := time.Now()
	b.door.breaks(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "2")
		status(w, http.StatusTooManyRequests, "TooManyRequests", "the server has received too many requests and has asked us to try again later")
	})
	b.order("ordered", 3)
	<-time.After(length - time.Since(begun))
	refused := 0
	for _, r := range b.door.since(begun) {
		if r.method != http.MethodGet {
			refused++
		}
	}
	b.door.breaks(nil)
	// Two objects have a status, one is scaled, and both may have an event: each once in
	// so many seconds.
	if most := 5 * int(length/wait+1); refused == 0 || refused > most {
		t.Errorf("%d requests in %s that were to wait %s each, want 1 to %d", refused, length, wait, most)
	}
	b.lives()
	b.has(30*time.Second, "ordered", 3)
	b.has(0, "held", 2)
	page, err := b.manager.Get(t.Context(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), `rest_client_requests_total{code="429"`) {
		t.Error(`/metrics has no rest_client_requests_total{code="429"}`)
	}
}

// TestAWatchThatHasExpiredIsListedAgain: the API server has forgotten the version from
// which a watch goes on, as after a restart or a compaction. What changed meanwhile is
// seen.
func TestAWatchThatHasExpiredIsListedAgain(t *testing.T) {
	t.Parallel()
	b := begin(t, "expired", "a", "b")
	b.order("a", 2)
	b.has(30*time.Second, "a", 2)
	var expired, listed atomic.Int64
	b.door.breaks(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		q := r.URL.Query()
		switch of := strings.HasSuffix(r.URL.Path, "/variantautoscalings"); {
		case watching(r) && q.Get("sendInitialEvents") != "true" && q.Get("resourceVersion") != "" && listed.Load() == 0:
			w.Header().Set("Content-Type", "application/json")
			gone := map[string]any{"type": "ERROR", "object": metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGone,
				Reason: metav1.StatusReasonExpired, Message: "too old resource version",
			}}
			if of {
				expired.Add(1)
			}
			_ = json.NewEncoder(w).Encode(gone) // the client may be gone
			return
		case of && r.Method == http.MethodGet && expired.Load() > 0:
			listed.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	b.door.cut()
	b.order("b", 3) // while no watch is open
	b.has(30*time.Second, "b", 3)
	if expired.Load() == 0 || listed.Load() == 0 {
		t.Errorf("%d watches of VariantAutoscalings expired and %d lists followed, want both", expired.Load(), listed.Load())
	}
	b.lives()
}

// TestAStatusThatChangesUnderItsWriterIsWrittenAnew: whenever the manager writes a
// status another client has changed the object meanwhile, and the API server answers 409.
func TestAStatusThatChangesUnderItsWriterIsWrittenAnew(t *testing.T) {
	t.Parallel()
	b := begin(t, "conflict", "a")
	b.has(30*time.Second, "a", 1)
	var conflicts atomic.Int64
	b.door.breaks(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/status") && conflicts.Load() < 3 {
			va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "a"}}
			n := string(rune('0' + conflicts.Add(1)))
			if err := b.bed.Client.Patch(
				r.Context(), va, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"`+n+`"}}}`)),
			); err != nil {
				t.Error(err)
			}
		}
		next.ServeHTTP(w, r)
	})
	b.order("a", 2)
	b.has(30*time.Second, "a", 2)
	if n := conflicts.Load(); n != 3 {
		t.Errorf("%d conflicts, want 3", n)
	}
	if got := b.variant(t.Context(), "a").Labels["touched"]; got != "3" {
		t.Errorf("the label of the other writer is %q, want 3", got)
	}
	b.lives()
}

// TestAnAdmissionPolicyThatRefusesIsNamed: a policy of the cluster forbids to scale. The
// condition has its words, and it is carried out once the policy is gone.
func TestAnAdmissionPolicyThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	b := begin(t, "refused", "a", "b")
	b.has(30*time.Second, "a", 1)
	meta := metav1.ObjectMeta{Name: "no-scaling-in-refused"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments/scale"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "false", Message: "the budget of this team is spent"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}},
		},
	}}
	if err := b.bed.Apply(t.Context(), policy, binding); err != nil {
		t.Fatal(err)
	}
	b.refuses()
	b.order("a", 2)
	message := b.shows("a", v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonTargetNotMoving)
	const why = "the budget of this team is spent"
	if !strings.Contains(message, why) {
		t.Errorf("message %q does not say %q", message, why)
	}
	b.event("a", "NotFollowed", why)
	if err := b.bed.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	b.has(60*time.Second, "a", 2)
	b.shows("a", v1alpha1.ConditionScalerFollowing, v1alpha1.ReasonFollowing)
	b.lives()
}

// refuses waits until a policy that was just bound is in force.
func (b *bench) refuses() {
	b.t.Helper()
	eventually(b.t, time.Minute, func(ctx context.Context) string {
		d, scale := b.deployment(ctx, "b"), &autoscalingv1.Scale{}
		err := b.bed.Client.SubResource("scale").Get(ctx, d, scale)
		if err == nil {
			err = b.bed.Client.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale), client.DryRunAll)
		}
		if err == nil {
			return "the policy is not in force yet"
		}
		return ""
	})
}

// TestAnObjectThatIsDeletedDuringACycleIsForgotten: between the decision on it and the
// write of its status a VariantAutoscaling goes. That is no error, and nothing of it stays.
func TestAnObjectThatIsDeletedDuringACycleIsForgotten(t *testing.T) {
	t.Parallel()
	b := begin(t, "gone", "stays", "goes")
	b.has(30*time.Second, "goes", 1)
	var deleted atomic.Bool
	b.door.breaks(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/goes/status") && !deleted.Swap(true) {
			va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "goes"}}
			if err := b.bed.Client.Delete(r.Context(), va); err != nil {
				t.Error(err)
			}
		}
		next.ServeHTTP(w, r)
	})
	b.order("goes", 2)
	b.order("stays", 3)
	b.has(30*time.Second, "stays", 3)
	eventually(t, time.Minute, func(ctx context.Context) string {
		known, err := b.manager.Explain(ctx)
		switch {
		case err != nil:
			return err.Error()
		case len(known) != 1 || known[0].Variant.Key.Name != "stays":
			return "the manager still knows of what was deleted"
		case !deleted.Load():
			return "nothing was deleted"
		}
		return ""
	})
	if log := b.log(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("an object that is deleted is an error:\n%s", log)
	}
	b.lives()
}
