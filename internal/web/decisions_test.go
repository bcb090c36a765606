package web

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w.Code, w.Body.String()
}

// surroundings name what they were asked for.
type surroundings struct{}

func (surroundings) Objective(m scaling.ModelKey) explain.Objective {
	return explain.Objective{Objective: scaling.Objective{Class: "of " + m.String(), TTFT: 500}, Row: "model", TTFTPercentile: 0.9}
}

func (surroundings) Actuation(_ context.Context, key scaling.VariantKey) explain.Actuation {
	return explain.Actuation{Known: true, Scalers: []explain.Scaler{{Kind: scaling.KindHPA, Name: "of " + key.String(), Max: 4}}, Reason: "Following"}
}

func (surroundings) StartUps(m scaling.ModelKey, variant string) explain.StartUps {
	if m.ID != "org/model" || variant != "v" {
		return explain.StartUps{}
	}
	return explain.StartUps{Usual: explain.Duration(97 * time.Second), Slow: explain.Duration(130 * time.Second), Pods: 14}
}

func TestDecisionsSaysWhatItKnows(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	model := scaling.ModelKey{Namespace: "ns", ID: "org/model"}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	book := ledger.New()
	h := Decisions(book, surroundings{}, nil)

	if code, body := get(t, h, "/debug/decisions/ns/v"); code != http.StatusServiceUnavailable || !strings.Contains(body, "no cycle has run yet") {
		t.Errorf("before the first cycle: %d %s", code, body)
	}

	variant := scaling.Variant{Key: key, Model: model, Bounds: scaling.Bounds{Max: math.MaxInt}}
	decision := scaling.Decision{Variant: key, Model: model, Current: 1}.Then(scaling.StageOptimize, 2, scaling.ReasonSaturated, "because")
	book.Record(memory.Record{
		Cycle: "7", Interval: 15 * time.Second, Fleet: scaling.Fleet{At: at, Variants: []scaling.Variant{variant}},
		Snapshots: []scaling.Snapshot{{Model: model, At: at}}, Analyses: []scaling.Analysis{{Model: model, Signal: scaling.Grow}},
		Plan: scaling.Plan{At: at, Decisions: []scaling.Decision{decision}}, History: memory.History{key: {Desired: 2, DecidedAt: at}},
	})

	want := explain.Explanation{
		Cycle: "7", At: at, Interval: explain.Duration(15 * time.Second), AnalyzedAt: at, Variant: variant, Decision: decision, Decided: true,
		Changed: explain.Change{Cycle: "7", To: 2, Cause: decision.Cause()},
		Past:    memory.Past{Desired: 2, DecidedAt: at}, Analysis: scaling.Analysis{Model: model, Signal: scaling.Grow},
		Snapshot: scaling.Snapshot{Model: model, At: at}, Model: []scaling.Decision{decision},
		Objective: surroundings{}.Objective(model), Actuation: surroundings{}.Actuation(t.Context(), key),
		StartUps: surroundings{}.StartUps(model, "v"),
	}
	code, body := get(t, h, "/debug/decisions/ns/v")
	var one explain.Explanation
	if err := json.Unmarshal([]byte(body), &one); err != nil || code != http.StatusOK {
		t.Fatalf("%d %v: %s", code, err, body)
	}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("one variant (-want +got):\n%s", diff)
	}

	_, body = get(t, h, "/debug/decisions")
	var all []explain.Explanation
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]explain.Explanation{want}, all); diff != "" {
		t.Errorf("all variants (-want +got):\n%s", diff)
	}

	if code, body := get(t, h, "/debug/decisions/ns/other"); code != http.StatusNotFound || !strings.Contains(body, "ns/other") {
		t.Errorf("unknown variant: %d %s", code, body)
	}
}

func TestOneExplanationThatCannotBeEncodedLeavesTheOthers(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	record := memory.Record{Cycle: "7", Fleet: scaling.Fleet{At: at}, Plan: scaling.Plan{At: at}}
	for _, namespace := range []string{"bad", "good"} {
		model := scaling.ModelKey{Namespace: namespace, ID: "m"}
		analysis := scaling.Analysis{Model: model, Demand: 1}
		if namespace == "bad" {
			analysis.Demand = math.Inf(1)
		}
		record.Fleet.Variants = append(record.Fleet.Variants, scaling.Variant{
			Key: scaling.VariantKey{Namespace: namespace, Name: "v"}, Model: model, Bounds: scaling.Unbounded(),
		})
		record.Snapshots, record.Analyses = append(record.Snapshots, scaling.Snapshot{Model: model, At: at}), append(record.Analyses, analysis)
	}
	book := ledger.New()
	book.Record(record)
	code, body := get(t, Decisions(book, surroundings{}, nil), "/debug/decisions")
	var all []struct {
		explain.Explanation

		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil || code != http.StatusOK || len(all) != 2 {
		t.Fatalf("%d %v, want both variants: %s", code, err, body)
	}
	for i, want := range []string{"encoding the explanation of bad/v: json: unsupported value: +Inf", ""} {
		if all[i].Variant.Key != record.Fleet.Variants[i].Key || all[i].Error != want {
			t.Errorf("explanation %d is of %s with the error %q, want %s and %q", i, all[i].Variant.Key, all[i].Error, record.Fleet.Variants[i].Key, want)
		}
	}
	if all[1].Analysis.Demand != 1 {
		t.Errorf("the other has the demand %v, want 1", all[1].Analysis.Demand)
	}
}

// readers of a namespace each, by the header User; admin is one of all.
type readers map[string]string

func (by readers) MayRead(r *http.Request, namespace string) (int, string) {
	user := r.Header.Get("User")
	if may, ok := by[user]; ok && (may == "" || may == namespace) {
		return 0, ""
	}
	return http.StatusForbidden, user + " may not read " + namespace
}

func TestReadersAreShownTheirOwnNamespace(t *testing.T) {
	record := memory.Record{Cycle: "7"}
	for _, namespace := range []string{"a", "b"} {
		model := scaling.ModelKey{Namespace: namespace, ID: "m"}
		for _, name := range []string{"v", "w"} {
			record.Fleet.Variants = append(record.Fleet.Variants, scaling.Variant{
				Key: scaling.VariantKey{Namespace: namespace, Name: name}, Model: model, Bounds: scaling.Unbounded(),
			})
		}
	}
	book := ledger.New()
	book.Record(record)
	h := Decisions(book, surroundings{}, readers{"admin": "", "anna": "a"})
	for _, tt := range []struct {
		user, path string
		want       string // the variants, or the status
	}{
		{"admin", "/debug/decisions", "a/v a/w b/v b/w"},
		{"admin", "/debug/decisions/b", "b/v b/w"},
		{"admin", "/debug/decisions/b/v", "b/v"},
		{"admin", "/debug/decisions/c", ""},
		{"anna", "/debug/decisions", "403"},
		{"anna", "/debug/decisions/a", "a/v a/w"},
		{"anna", "/debug/decisions/a/w", "a/w"},
		{"anna", "/debug/decisions/a/none", "404"},
		{"anna", "/debug/decisions/b", "403"},
		{"anna", "/debug/decisions/b/v", "403"},
		{"anna", "/debug/decisions/b/none", "403"},
		{"anna", "/debug/decisions/a%2F..%2Fb/v", "403"},
		{"anna", "/debug/decisions/a%2F..%2Fb", "403"},
		{"unknown", "/debug/decisions/a", "403"},
	} {
		r := httptest.NewRequest(http.MethodGet, tt.path, http.NoBody)
		r.Header.Set("User", tt.user)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := strconv.Itoa(w.Code)
		if w.Code == http.StatusOK {
			body := w.Body.String()
			if !strings.HasPrefix(body, "[") {
				body = "[" + body + "]"
			}
			var all []explain.Explanation
			if err := json.Unmarshal([]byte(body), &all); err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, e := range all {
				keys = append(keys, e.Variant.Key.String())
			}
			got = strings.Join(keys, " ")
		}
		if got != tt.want {
			t.Errorf("%s is shown %q at %s, want %q", tt.user, got, tt.path, tt.want)
		}
	}
}

// counted counts how many explanations are made at a time.
type counted struct {
	surroundings

	running, most atomic.Int32
}

func (c *counted) Actuation(ctx context.Context, key scaling.VariantKey) explain.Actuation {
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	defer c.running.Add(-1)
	time.Sleep(time.Second)
	return c.surroundings.Actuation(ctx, key)
}

// TestExplanationsOfManyAreMadeOneAtATime: a page of thousands of variants of a model takes
// seconds of a processor, and a user who may read it may ask for it often.
func TestExplanationsOfManyAreMadeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record := memory.Record{Cycle: "7"}
		for _, name := range []string{"v", "w", "x"} {
			record.Fleet.Variants = append(record.Fleet.Variants, scaling.Variant{
				Key: scaling.VariantKey{Namespace: "ns", Name: name}, Bounds: scaling.Unbounded(),
			})
		}
		book := ledger.New()
		book.Record(record)
		around := &counted{}
		h := Decisions(book, around, nil)
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				if code, body := get(t, h, "/debug/decisions/ns"); code != http.StatusOK || strings.Count(body, `"cycle":"7"`) != 3 {
					t.Errorf("%d, want three variants: %s", code, body)
				}
			})
		}
		asking.Wait()
		if got := around.most.Load(); got != 1 {
			t.Errorf("%d explanations are made at a time, want 1", got)
		}
	})
}
