package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestPrometheusIsAskedForSeriesUnderAnotherPrefix(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.FormValue("query"))
		if strings.Contains(r.FormValue("query"), "broken") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"__name__":"acme_vllm_num_requests_running"},"value":[1,"1"]},
			{"metric":{"__name__":"vllm:num_requests_running"},"value":[1,"1"]}]}}`))
	}))
	defer server.Close()
	e := &examination{doctorFlags: doctorFlags{prometheus: server.URL + "/tenant"}, prometheusAt: server.URL + "/tenant", prefixes: query.DefaultPrefixes()}
	got, err := e.otherPrefixes(t.Context(), "chat")
	if err != nil || !slices.Equal(got, []string{"acme_vllm_"}) {
		t.Errorf("got %v, %v; want the prefix that is not read", got, err)
	}
	if want := `/tenant/api/v1/query group by (__name__) ({__name__=~".+num_requests_running",namespace="chat"})`; !slices.Equal(asked, []string{want}) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if _, err := e.otherPrefixes(t.Context(), "broken"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v, want an error with 503", err)
	}
	e = &examination{prometheusAt: "https://thanos.example.com"}
	if _, err := e.otherPrefixes(t.Context(), "chat"); err == nil || !strings.Contains(err.Error(), "--prometheus URL") {
		t.Errorf("got %v, want that the address is to be given", err)
	}
}

func TestAServiceIsReadFromAnAddress(t *testing.T) {
	for address, want := range map[string]service{
		"https://prometheus-operated.monitoring.svc:9090": {"monitoring", "prometheus-operated", "9090", "https"},
		"http://mimir.obs.svc.cluster.local/prometheus":   {"obs", "mimir", "80", "http"},
		"http://127.0.0.1:9090":                           {},
		"https://prometheus.example.com":                  {},
		"://":                                             {},
	} {
		got, ok := serviceOf(address)
		if got != want || ok != (want != service{}) {
			t.Errorf("%s: got %+v, %t; want %+v", address, got, ok, want)
		}
	}
}
