package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/monitoring"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const board = "../../../monitoring/dashboards/model.json"

func TestAPictureIsOfTheChosenModel(t *testing.T) {
	r := monitoring.Recording{Fault: monitoring.Healthy, Begin: noon, After: 30 * time.Minute}
	clock := testingclock.NewFakePassiveClock(r.End())
	s, err := store.Open(t.TempDir(), clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Record(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)

	out := t.TempDir()
	var listed bytes.Buffer
	err = run(t.Context(), []string{
		"-prometheus", server.URL, "-out", out, "-range", "20m", "-scrape", "1m",
		"-choose", "namespace=code", "-choose", "model=qwen/qwen2.5-coder-7b", board,
	}, clock, &listed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "dashboard-model.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">qwen/qwen2.5-coder-7b<", ">coder-l40s desired<"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("the picture does not say %s", want)
		}
	}
	for _, want := range []string{"WVA / Model\tReplicas\tA\t1\n", "WVA / Model\tTTFT\tB\t1\n"} {
		if !strings.Contains(listed.String(), want) {
			t.Errorf("%q is not in\n%s", want, &listed)
		}
	}
	if bytes.Contains(got, []byte("llama")) {
		t.Error("the picture shows another model")
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "no dashboard is named"},
		{"-range 1s " + board, "at least 1m and 1s are accepted"},
		{"-choose model " + board, `"model" is no variable=value`},
		{"no-such.json", "no-such.json"},
	} {
		err := run(t.Context(), strings.Fields(c.args), testingclock.NewFakePassiveClock(noon), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}
