package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// DecisionsPath is the path at which to mount the handler, with and without a slash at its end.
const DecisionsPath = "/debug/decisions"

// Memory returns the last decisions; *ledger.Ledger implements it.
type Memory interface {
	Latest() (memory.Record, bool)
	Explain(key scaling.VariantKey) (explain.Explanation, bool)
}

// Surroundings returns present facts that an explanation adds to the last decisions.
type Surroundings interface {
	// Objective returns the objectives of the requests of a model.
	Objective(model scaling.ModelKey) explain.Objective
	// Actuation returns the scaler that carries out the decision for a variant.
	Actuation(ctx context.Context, key scaling.VariantKey) explain.Actuation
	// StartUps returns the start-up times of the pods of a variant of a model.
	StartUps(model scaling.ModelKey, variant string) explain.StartUps
}

// Readers says who may read decisions; *access.Access implements it.
type Readers interface {
	// MayRead returns 0 where the caller of r may read the decisions of a namespace ("" is all
	// namespaces), else the status and the message of the answer.
	MayRead(r *http.Request, namespace string) (status int, message string)
}

// Decisions returns a handler that explains the last decisions to callers who may read them; nil
// readers allow every caller. A process without a decision, because it has just started or does not
// lead, answers 503.
func Decisions(memory Memory, around Surroundings, readers Readers) http.Handler {
	allowed := func(w http.ResponseWriter, r *http.Request, namespace string) bool {
		if status, message := mayRead(readers, r, namespace); status != 0 {
			fail(w, status, message)
			return false
		}
		return true
	}
	know := func(r *http.Request, key scaling.VariantKey) (explain.Explanation, bool) {
		e, ok := memory.Explain(key)
		if ok {
			e.Objective, e.Actuation = around.Objective(e.Variant.Model), around.Actuation(r.Context(), key)
			e.StartUps = around.StartUps(e.Variant.Model, key.Name)
		}
		return e, ok
	}
	turn := make(chan struct{}, 1) // in lists one explanation is made at a time: they use one processor
	explained := func(r *http.Request, key scaling.VariantKey) ([]byte, bool) {
		turn <- struct{}{}
		defer func() { <-turn }()
		e, ok := know(r, key)
		if !ok {
			return nil, false
		}
		return encoded(e), true
	}
	mux := http.NewServeMux()
	several := func(w http.ResponseWriter, r *http.Request) {
		namespace := r.PathValue("namespace")
		if !allowed(w, r, namespace) {
			return
		}
		record, ok := memory.Latest()
		if !ok {
			fail(w, http.StatusServiceUnavailable, "no cycle has run yet in this process")
			return
		}
		// One after the other: each explanation holds the whole model, so that all together may be
		// large.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "[") // the loop notices a client that is gone
		separator := ""
		for _, v := range record.Fleet.Variants {
			if namespace != "" && v.Key.Namespace != namespace {
				continue
			}
			body, ok := explained(r, v.Key)
			if !ok {
				continue
			}
			if _, err := w.Write(append([]byte(separator), body...)); err != nil {
				return
			}
			separator = ","
		}
		_, _ = io.WriteString(w, "]")
	}
	mux.HandleFunc("GET "+DecisionsPath, several)
	mux.HandleFunc("GET "+DecisionsPath+"/{namespace}", several)
	mux.HandleFunc("GET "+DecisionsPath+"/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		key := scaling.VariantKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if !allowed(w, r, key.Namespace) {
			return
		}
		if _, ok := memory.Latest(); !ok {
			fail(w, http.StatusServiceUnavailable, "no cycle has run yet in this process")
			return
		}
		e, ok := know(r, key)
		if !ok {
			fail(w, http.StatusNotFound, fmt.Sprintf("no cycle has seen a VariantAutoscaling %s", key))
			return
		}
		answer(w, http.StatusOK, e)
	})
	return mux
}

// encoded returns an explanation as JSON. One that JSON cannot hold, for example with an infinite
// number, is cut to cycle, time, variant and model, with the cause in the field error, so that the
// others are still served.
func encoded(e explain.Explanation) json.RawMessage {
	body, err := json.Marshal(e)
	if err == nil {
		return body
	}
	body, err = json.Marshal(struct {
		explain.Explanation

		Error string `json:"error"`
	}{
		explain.Explanation{Cycle: e.Cycle, At: e.At, Variant: scaling.Variant{Key: e.Variant.Key, Model: e.Variant.Model}},
		fmt.Sprintf("encoding the explanation of %s: %v", e.Variant.Key, err),
	})
	if err != nil {
		panic("web: names cannot be encoded: " + err.Error())
	}
	return body
}

func fail(w http.ResponseWriter, code int, message string) {
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, code, map[string]string{"error": message})
}

func answer(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("encoding the answer: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client has gone, and no error can reach it
}
