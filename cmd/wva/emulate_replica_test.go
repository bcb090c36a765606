package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// emulate runs a command of wva emulate until the returned function is called, which
// returns its error, and returns where it listens.
func emulate(t *testing.T, args ...string) (url string, end func() error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	root := newRootCommand()
	root.SetArgs(append(append([]string{"emulate"}, args...), "--address-file", file))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	return awaitFile(t, file), func() error { cancel(); return <-ended }
}

func TestAReplicaFinishesWhatItHasWhenItIsToldToEnd(t *testing.T) {
	url, end := emulate(t, "replica", "--model", "meta/llama-3.1-8b", "--profile", "llama-8b-h100")
	// 30 tokens of about 10 ms each.
	resp, err := http.Post(url+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"meta/llama-3.1-8b","prompt":"hello","max_tokens":30,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 1)
	if _, err := resp.Body.Read(first); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	rest, err := io.ReadAll(resp.Body)
	if tokens := strings.Count(string(rest), `"text"`); err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") || tokens < 30 {
		t.Errorf("the answer broke off: %d tokens, %v", tokens, err)
	}
	if !resp.Close {
		t.Error("the connection is kept for further requests, which a Service could not spread")
	}
}

func TestAGatewayIsInFrontOfAReplica(t *testing.T) {
	replica, endReplica := emulate(t, "replica", "--model", "m", "--profile", "llama-8b-h100")
	gateway, endGateway := emulate(t, "gateway", "--model", "m", "--upstream", replica)
	if _, stderr, err := load(t, "", "--url", gateway, "--model", "m", "--profile", "gamma(20,200ms,cv=0.05)", "--output-tokens", "2", "--quiet"); err != nil {
		t.Errorf("load through the gateway: %v\n%s", err, stderr)
	}
	resp, err := http.Get(gateway + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(page), `inference_objective_request_total{model_name="m"`) {
		t.Errorf("the page counts no request (%v):\n%s", err, page)
	}
	if err := errors.Join(endGateway(), endReplica()); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestEmulateReplicaAndGatewayRefuseBadFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--model is missing":              {"replica", "--profile", "llama-8b-h100"},
		`--profile: unknown profile ""`:   {"replica", "--model", "m"},
		`unknown profile "x", want one o`: {"replica", "--model", "m", "--profile", "x"},
		"--startup-delay is -1s":          {"replica", "--model", "m", "--profile", "llama-8b-h100", "--startup-delay", "-1s"},
		"--drain-grace is -1s":            {"replica", "--model", "m", "--profile", "llama-8b-h100", "--drain-grace", "-1s"},
		"usage: --model is missing":       {"gateway", "--upstream", "http://127.0.0.1:1"},
		`--upstream is "", want a URL`:    {"gateway", "--model", "m"},
		`--upstream is "llama:8000"`:      {"gateway", "--model", "m", "--upstream", "llama:8000"},
	} {
		root := newRootCommand()
		root.SetArgs(append([]string{"emulate"}, args...))
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a usage error that says %q", args, err, want)
		}
	}
}
