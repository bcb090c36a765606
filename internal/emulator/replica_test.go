package emulator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAReplicaByItselfHasTheEndpointsOfAnEngine(t *testing.T) {
	r, err := NewReplica(Options{Profiles: testProfiles(fastProfile())}, testModel.ID, "fast")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { r.Run(t.Context()); close(done) }()
	server := httptest.NewServer(r.Handler())
	t.Cleanup(func() { server.Close(); <-done })

	status, body := post(t, server.URL+"/v1/completions", `{"model":"meta/llama-3.1-8b","prompt":"are you there","max_tokens":3}`)
	if status != http.StatusOK || !strings.Contains(body, `"completion_tokens":3`) {
		t.Errorf("completion: got %d %s, want 3 tokens", status, body)
	}
	if status, body := post(t, server.URL+"/v1/completions", `{"model":"other","prompt":"hello"}`); status != http.StatusNotFound {
		t.Errorf("another model: got %d %s, want 404", status, body)
	}
	for path, want := range map[string]string{
		"/metrics":                             "vllm:request_success_total{engine=\"0\",model_name=\"meta/llama-3.1-8b\",finished_reason=\"length\"} 1.0\n",
		"/v1/models":                           `"id":"meta/llama-3.1-8b"`,
		"/health":                              "",
		"/sd":                                  "404",
		"/demo/meta/llama-3.1-8b/v1/models":    "404",
		"/gateway/demo/metrics":                "404",
		"/pods/demo/replica/metrics":           "404",
		"/v1/../pods/demo/replica/metrics?q=1": "404",
	} {
		status, body := fetch(t, server.URL+path)
		if want == "404" && status == http.StatusNotFound {
			continue
		}
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %s, want %s", path, status, body, want)
		}
	}
}

func TestAReplicaNeedsAProfileThatThereIs(t *testing.T) {
	_, err := NewReplica(Options{Profiles: testProfiles(fastProfile(), slowProfile())}, testModel.ID, "quick")
	if want := `unknown profile "quick", want one of ["fast" "slow"]`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
