package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// DecisionsPath is where the handler is to be mounted, with and without a
// slash at its end.
const DecisionsPath = "/debug/decisions"

// Memory knows the last decisions; *ledger.Ledger does.
type Memory interface {
	Latest() (scaling.Record, bool)
	Explain(key scaling.VariantKey) (explain.Explanation, bool)
}

// Surroundings know what stands beside the last decisions, as it is now.
type Surroundings interface {
	// Objective returns what requests of a model should meet.
	Objective(model scaling.ModelKey) explain.Objective
	// Actuation returns who carries out the decision of a variant.
	Actuation(ctx context.Context, key scaling.VariantKey) explain.Actuation
	// StartUps returns how long pods of a variant of a model take to start.
	StartUps(model scaling.ModelKey, variant string) explain.StartUps
}

// Readers say who may read decisions; *access.Access does.
type Readers interface {
	// MayRead returns 0 where the caller of r may read the decisions of a namespace, ""
	// for those of all namespaces, else the status and the message of the answer.
	MayRead(r *http.Request, namespace string) (status int, message string)
}

// Decisions returns a handler that explains the last decisions to those who may read
// them, to every client where readers is nil. A process that has decided nothing yet,
// because it has just started or does not lead, answers 503.
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
	turn := make(chan struct{}, 1) // of the explanations of many one is made at a time: they take one processor
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
		// One after the other: those of a model each hold all of it, so that together
		// they may be large.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "[") // of a client that has gone the loop learns
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

// encoded returns an explanation as JSON. One that JSON cannot say, as where a number is
// infinite, is cut to what it is about, with the cause in the field error, so that the
// others are served all the same.
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
