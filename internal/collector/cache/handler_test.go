package cache_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
)

func TestHandlerShowsAndEmptiesTheCache(t *testing.T) {
	clk := testingclock.NewFakeClock(t0)
	c := cache.New(clk, cache.Options{})
	c.Put("replica:b/org/m", text("12345"), 30*time.Second, c.Mark())
	clk.Step(5 * time.Second)
	c.Put("replica:a/m", text("123"), time.Minute, c.Mark())
	c.Get("replica:a/m")
	c.Get("nothing")
	handler := cache.Handler(c, clk)

	var got cache.Report
	ask(t, handler, http.MethodGet, "/debug/cache", &got)
	want := cache.Report{
		Stats: cache.Stats{Hits: 1, Misses: 1, Entries: 2, Bytes: 8 + len("replica:b/org/m") + len("replica:a/m")},
		Entries: []cache.EntryReport{
			{Key: "replica:a/m", TTLSeconds: 60, Bytes: 3},
			{Key: "replica:b/org/m", AgeSeconds: 5, TTLSeconds: 30, Bytes: 5},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}

	var dropped cache.InvalidationReport
	ask(t, handler, http.MethodDelete, "/debug/cache?prefix="+url.QueryEscape("replica:b/"), &dropped)
	if want := (cache.InvalidationReport{Prefix: "replica:b/", Invalidated: 1}); dropped != want {
		t.Errorf("got %+v, want %+v", dropped, want)
	}
	if diff := cmp.Diff([]string{"replica:a/m"}, keys(c)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	ask(t, handler, http.MethodDelete, "/debug/cache", &dropped)
	if dropped.Invalidated != 1 || len(keys(c)) != 0 {
		t.Errorf("without a prefix: got %+v, kept %v", dropped, keys(c))
	}
}

func TestHandlerRefusesOtherMethods(t *testing.T) {
	recorder := httptest.NewRecorder()
	cache.Handler(cache.NoOp{}, testingclock.NewFakeClock(t0)).
		ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/debug/cache", http.NoBody))
	if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != "GET, HEAD, DELETE" ||
		!strings.Contains(recorder.Body.String(), "method POST is not allowed") {
		t.Errorf("got %d, Allow %q: %s", recorder.Code, recorder.Header().Get("Allow"), recorder.Body)
	}
}

// ask sends a request and decodes the answer.
func ask(t *testing.T, handler http.Handler, method, target string, into any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
	if recorder.Code != http.StatusOK || recorder.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%s %s: got %d: %s", method, target, recorder.Code, recorder.Body)
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}
