package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endpoint answers every completion with two tokens.
func endpoint(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{`{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`, "[DONE]"} {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func load(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"load"}, args...))
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

const burstTrace = "arrival_s,input_tokens,output_tokens\n0,5,2\n0,6,2\n0.02,7,2\n"

func TestLoadReplaysATrace(t *testing.T) {
	url, asked := endpoint(t)
	file := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(file, []byte(burstTrace), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{file, "-"} {
		stdout, stderr, err := load(t, burstTrace, "--url", url, "--model", "m", "--trace", from, "--time-scale", "2", "--seed", "7", "--quiet", "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Seed                              uint64
			Requests, Completed               int
			InputTokens, OutputTokens, Failed int
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v in:\n%s", err, stdout)
		}
		want := got
		want.Seed, want.Requests, want.Completed, want.InputTokens, want.OutputTokens, want.Failed = 7, 3, 3, 18, 6, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
		if stderr != "" {
			t.Errorf("--quiet prints %q", stderr)
		}
	}
	if got := asked.Load(); got != 6 {
		t.Errorf("the endpoint was asked %d times, want 6", got)
	}
}

func TestLoadPrintsSeedProgressAndSummary(t *testing.T) {
	url, _ := endpoint(t)
	stdout, stderr, err := load(
		t, "", "--url", url, "--model", "m", "--profile", "step(0->300,10ms,60ms)", "--lengths", "constant", "--input-tokens",
		"3", "--output-tokens", "2", "--seed", "42",
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"step(0->300,10ms,60ms), seed 42", "within SLO  100.0 %", "TTFT <= 500 ms, ITL <= 50 ms", "P99", "send lag"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary lacks %q:\n%s", want, stdout)
		}
	}
	for _, want := range []string{"seed 42", "IN FLIGHT", "60ms"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the progress lacks %q:\n%s", want, stderr)
		}
	}
}

func TestLoadThatOnlyFailsIsAFinding(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	stdout, _, err := load(t, burstTrace, "--url", server.URL, "--model", "m", "--trace", "-")
	if exitCode(err) != 1 || !errors.Is(err, errFinding) {
		t.Errorf("got %v, want a finding", err)
	}
	if want := "3 × http 404: status 404 Not Found: 404 page not found"; !strings.Contains(stdout, want) {
		t.Errorf("the summary lacks %q:\n%s", want, stdout)
	}
	_, _, err = load(t, "", "--url", server.URL, "--model", "m", "--profile", "constant(0,1ms)")
	if exitCode(err) != 1 || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("nothing to send: got %v, want it said", err)
	}
	stdout, _, err = load(t, "time,in,out\n", "--url", server.URL, "--model", "m", "--trace", "-")
	if err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), "trace, line 1: the header is") {
		t.Errorf("wrong trace: got %v, want its line", err)
	}
	if stdout != "" {
		t.Errorf("a run that never began has the summary\n%s", stdout)
	}
}

func TestBadUsageOfLoadIsTold(t *testing.T) {
	to := func(args ...string) []string {
		return append([]string{"--url", "http://127.0.0.1:1", "--model", "m"}, args...)
	}
	for name, args := range map[string][]string{
		"--url and --model are":      {"--rate", "1", "--duration", "1s"},
		"--url is missing":           {"--model", "m", "--rate", "1", "--duration", "1s"},
		"--model is missing":         {"--url", "http://127.0.0.1:1"},
		"want one of":                to(),
		"have 2":                     to("--trace", "-", "--profile", "constant(1,1s)"),
		"go together":                to("--rate", "1"),
		"--time-scale needs --trace": to("--rate", "1", "--duration", "1s", "--time-scale", "2"),
		"no place beside --trace":    to("--trace", "-", "--input-tokens", "5"),
		"--time-scale 0":             to("--trace", "-", "--time-scale", "0"),
		"column 10":                  to("--profile", "constant(x,1s)"),
		"the rate -1":                to("--rate", "-1", "--duration", "1s"),
		"input lengths":              to("--rate", "1", "--duration", "1s", "--input-tokens", "0"),
		`--output "yaml"`:            to("-o", "yaml"),
		`--lengths "long"`:           to("--lengths", "long"),
		"--max-in-flight 0":          to("--max-in-flight", "0"),
		"--timeout":                  to("--timeout", "0s"),
		"is not of the form":         {"--url", "localhost", "--model", "m", "--rate", "1", "--duration", "1s"},
		"a duration is negative":     to("--rate", "1", "--duration", "1s", "--slo-itl", "-1s"),
		"takes no arguments":         to("more"),
		"unknown flag":               to("--rates", "1"),
		"--profile is empty":         to("--profile", ""),
	} {
		_, _, err := load(t, "", args...)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v, want bad usage", name, err)
		}
	}
}
