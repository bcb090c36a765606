package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// recordedPrometheus answers for one model with 4 requests/s of 300 and 150
// tokens, to those who know the token.
func recordedPrometheus(t *testing.T) *httptest.Server {
	t.Helper()
	type row = map[string]any
	answer := func(labels map[string]string, value string) row {
		return row{"metric": labels, "value": []any{1769846400.0, value}}
	}
	model := func(q query.Quantity, value string) row {
		return answer(map[string]string{
			query.LabelNamespace: "ns", query.LabelModel: "chat", query.LabelStat: q.String(),
		}, value)
	}
	rows := map[string][]row{}
	set := func(ask query.Question, window time.Duration, of ...row) {
		rows[query.Request{Ask: ask, Window: window, Namespaces: []string{"ns"}}.PromQL()] = of
	}
	set(query.AskScrapeIntervals, 0, answer(map[string]string{query.LabelNamespace: "ns", query.LabelJob: "vllm"}, "15"))
	set(query.AskFlow, time.Minute, model(query.Completions, "4"))
	set(query.AskMeans, time.Minute, model(query.InputTokens, "300"), model(query.OutputTokens, "150"))
	set(query.AskGateway, time.Minute)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		result, ok := rows[r.FormValue("query")]
		if !ok {
			t.Errorf("asked for %s", r.FormValue("query"))
		}
		if result == nil {
			result = []row{}
		}
		_ = json.NewEncoder(w).Encode(row{"status": "success", "data": row{"resultType": "vector", "result": result}})
	}))
	t.Cleanup(server.Close)
	return server
}

func TestSimulateReadsWhatAPrometheusRecorded(t *testing.T) {
	server := recordedPrometheus(t)
	t.Setenv("PROMETHEUS_BEARER_TOKEN", "sesame")
	args := []string{"--from-prometheus", server.URL, "--allow-insecure-prometheus", "--namespace", "ns", "--seed", "1"}
	stdout, stderr, err := simulate(t, append(args, "--from", "2026-01-31T08:00:00Z", "--to", "2026-01-31T08:20:00Z")...)
	if err != nil {
		t.Fatal(err)
	}
	if want := "ns/chat: about 4800 requests in 20 steps of 1m0s"; !strings.Contains(stderr, want) || !strings.Contains(stderr, "assumed: Poisson") {
		t.Errorf("no %q, or no assumption, in\n%s", want, stderr)
	}
	if want := "ns/chat from 2026-01-31T08:00:00Z: "; !strings.Contains(stdout, want) || !strings.Contains(stdout, " in 20m0s;") {
		t.Errorf("no %q, or not 20 minutes, in\n%s", want, stdout)
	}

	t.Setenv("PROMETHEUS_BEARER_TOKEN", "")
	if _, _, err := simulate(t, append(args, "--from", "1h")...); err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: got %v, want the status of the answer", err)
	}
}

func TestSimulateRefusesAStoreItCannotAsk(t *testing.T) {
	t.Setenv("PROMETHEUS_BASE_URL", "https://elsewhere")
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"http", []string{"--from-prometheus", "http://p:9090"}, "HTTPS is required"},
		{"no URL", []string{"--from-prometheus", "://"}, "--from-prometheus: "},
		{"beside a workload", []string{"--from-prometheus", "https://p", "--workload", "constant(1,1m)"}, "--workload has no place beside --from-prometheus"},
		{"lengths", []string{"--from-prometheus", "https://p", "--input-tokens", "3"}, "--input-tokens has no place beside --from-prometheus"},
		{"a model of a file", []string{"--workload", "constant(1,1m)", "--model", "m"}, "--model has no meaning without --from-prometheus"},
		{"a token for a file", []string{"--workload", "constant(1,1m)", "--prometheus-token-path", "t"}, "--prometheus-token-path has no meaning without"},
		{"from when", []string{"--from-prometheus", "https://p", "--from", "yesterday"}, `--from: found "yesterday", want a time such as`},
		{"to when", []string{"--from-prometheus", "https://p", "--to", "2026-01-31"}, `--to: found "2026-01-31", want a time such as`},
		{"the future", []string{"--from-prometheus", "https://p", "--to", "9999-01-01T00:00:00Z"}, "is in the future"},
		{"backwards", []string{"--from-prometheus", "https://p", "--from", "1h", "--to", "2h"}, "--from 1h is not before --to 2h"},
		{"timeout", []string{"--from-prometheus", "https://p", "--prometheus-timeout", "soon"}, "soon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := simulate(t, c.args...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want bad usage with %q", err, c.want)
			}
		})
	}
}
