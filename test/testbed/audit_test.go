package testbed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Events as the API server of the local cluster writes them, shortened: a status, a
// question of who asks, a watch that begins and ends, a look at what is served, and
// what another account did.
const auditLog = `{"kind":"Event","auditID":"1","stage":"ResponseComplete","verb":"patch","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"variantautoscalings","namespace":"demo","name":"chat","apiGroup":"llmd.ai","subresource":"status"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z"}
{"kind":"Event","auditID":"2","stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"tokenreviews","apiGroup":"authentication.k8s.io"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:06Z","annotations":{"authorization.k8s.io/decision":"allow"}}
{"kind":"Event","auditID":"3","stage":"ResponseStarted","verb":"watch","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:07Z"}
{"kind":"Event","auditID":"3","stage":"ResponseComplete","verb":"watch","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:07Z"}
{"kind":"Event","auditID":"4","stage":"ResponseComplete","verb":"get","requestURI":"/apis","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:08Z"}
{"kind":"Event","auditID":"5","stage":"ResponseComplete","verb":"create","user":{"username":"system:serviceaccount:default:default"},"objectRef":{"resource":"configmaps","namespace":"default","name":"other"},"responseStatus":{"code":403},"requestReceivedTimestamp":"2026-01-02T03:04:09Z","annotations":{"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":""}}
`

// What the log says, by the ID of the event.
var (
	begun  = time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC)
	status = Request{
		At: begun, User: ManagerUser, Verb: "patch", Group: "llmd.ai", Resource: "variantautoscalings", Subresource: "status",
		Namespace: "demo", Name: "chat", Code: 200,
	}
	review = Request{At: second(6), User: ManagerUser, Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews", Code: 201}
	pods   = Request{At: second(7), User: ManagerUser, Verb: "watch", Resource: "pods", Code: 200}
	served = Request{At: second(8), User: ManagerUser, Verb: "get", Code: 200}
	other  = Request{
		At: second(9), User: "system:serviceaccount:default:default", Verb: "create", Resource: "configmaps",
		Namespace: "default", Name: "other", Code: 403, Forbidden: true,
	}
)

func second(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC) }

func TestRequestsAreThoseOfAnAccountSinceATime(t *testing.T) {
	tests := []struct {
		name  string
		log   string
		user  string
		since time.Time
		want  []Request
	}{
		{"all, a watch once", auditLog, ManagerUser, time.Time{}, []Request{status, review, pods, served}},
		{"one of just then counts", auditLog, ManagerUser, begun, []Request{status, review, pods, served}},
		{"an earlier one does not", auditLog, ManagerUser, begun.Add(time.Nanosecond), []Request{review, pods, served}},
		{"a line that is being written waits", auditLog + `{"kind":"Ev`, ManagerUser, second(8), []Request{served}},
		{"of another account", auditLog, other.User, time.Time{}, []Request{other}},
		{"of an unknown user", auditLog, "unknown", time.Time{}, nil},
		{"none", "", ManagerUser, time.Time{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := logged(t, tt.log).Requests(tt.user, tt.since)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("requests (-got +want):\n%s", diff)
			}
		})
	}
}

func TestManagerWritesAreWhatManagersDoBeyondReading(t *testing.T) {
	got, err := logged(t, auditLog).ManagerWrites(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, []Request{status, review}); diff != "" {
		t.Errorf("writes (-got +want):\n%s", diff)
	}
	if got, want := status.String(), "patch variantautoscalings/status demo/chat (200)"; got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
	if status.Review() || !review.Review() {
		t.Errorf("a status is a review: %t; a token review is one: %t", status.Review(), review.Review())
	}
}

func TestAnAuditLogThatCannotBeReadIsAnError(t *testing.T) {
	for name, bed := range map[string]*Bed{
		"not there": {State: ClusterState{AuditLog: filepath.Join(t.TempDir(), "none")}},
		"not JSON":  logged(t, "audit is off\n"),
	} {
		if writes, err := bed.ManagerWrites(time.Time{}); err == nil {
			t.Errorf("%s: got %v, want an error", name, writes)
		}
	}
}

// logged returns a Bed whose API server has logged something.
func logged(t *testing.T, log string) *Bed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Bed{State: ClusterState{AuditLog: path}}
}
