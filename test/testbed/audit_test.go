package testbed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Three events as the API server of the local cluster writes them, shortened: a
// status, a question of who asks, and what another account did.
const auditLog = `{"kind":"Event","verb":"patch","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"variantautoscalings","namespace":"demo","name":"chat","apiGroup":"llmd.ai","subresource":"status"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z"}
{"kind":"Event","verb":"create","user":{"username":"system:serviceaccount:workload-variant-autoscaler-system:workload-variant-autoscaler-controller-manager"},"objectRef":{"resource":"tokenreviews","apiGroup":"authentication.k8s.io"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:06Z"}
{"kind":"Event","verb":"create","user":{"username":"system:serviceaccount:default:default"},"objectRef":{"resource":"configmaps","namespace":"default","name":"other"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:07Z"}
`

func TestManagerWritesAreThoseOfItsAccountSinceATime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 1000, time.UTC)
	status := Write{At: at, Verb: "patch", Group: "llmd.ai", Resource: "variantautoscalings", Subresource: "status", Namespace: "demo", Name: "chat", Code: 200}
	review := Write{At: at.Add(time.Second).Truncate(time.Second), Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews", Code: 201}
	tests := []struct {
		name  string
		log   string
		since time.Time
		want  []Write
	}{
		{"all", auditLog, time.Time{}, []Write{status, review}},
		{"one of just then counts", auditLog, at, []Write{status, review}},
		{"an earlier one does not", auditLog, at.Add(time.Nanosecond), []Write{review}},
		{"a line that is being written waits", auditLog + `{"kind":"Ev`, time.Time{}, []Write{status, review}},
		{"none", "", time.Time{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := logged(t, tt.log).ManagerWrites(tt.since)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("writes (-got +want):\n%s", diff)
			}
		})
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
