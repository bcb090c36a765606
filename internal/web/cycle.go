package web

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// CyclePattern is the pattern under which to mount the handler of Cycle.
const CyclePattern = "GET " + DecisionsPath + "/{namespace}/{name}/cycle"

// Cycles returns the last decided case; *cycle.Last implements it.
type Cycles interface {
	Decided() (cycle.Decided, bool)
}

// Cycle returns a handler that serves the part of the last cycle on which the decision for one
// variant depends, as a record (docs/reference/record.md), so that the caller can decide it again.
// The part is the model of the variant, for callers who may read the decisions of its namespace.
// The inventory of accelerators is included for callers who may read all namespaces. Where the
// decision depends on models of other namespaces, because it shares accelerators or profiles with
// them, the handler serves the whole cycle, and only to those callers. With nil readers every
// caller may read all. The handler only renders the text.
func Cycle(last Cycles, readers Readers) http.Handler {
	turn := make(chan struct{}, 1) // one text at a time: that of a large fleet is large
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := scaling.VariantKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if status, message := mayRead(readers, r, key.Namespace); status != 0 {
			fail(w, status, message)
			return
		}
		decided, ok := last.Decided()
		if !ok {
			fail(w, http.StatusServiceUnavailable, "no cycle has run yet in this process")
			return
		}
		model, ok := modelOf(decided, key)
		if !ok {
			fail(w, http.StatusNotFound, fmt.Sprintf("the last cycle has no variant %s", key))
			return
		}
		all, ok := mayReadRecord(w, r, readers, decided.Setup, key, model)
		if !ok {
			return
		}
		if !all {
			decided.Setup.Inventory = scaling.Inventory{}
		}
		turn <- struct{}{}
		defer func() { <-turn }()
		text := decided.Part(model).Recorded().Append(nil)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may be gone
	})
}

// mayRead returns MayRead of readers. With nil readers every caller may read all.
func mayRead(readers Readers, r *http.Request, namespace string) (status int, message string) {
	if readers == nil {
		return 0, ""
	}
	return readers.MayRead(r, namespace)
}

// mayReadRecord reports whether the caller may read the inputs of the decision for a variant (ok),
// and whether all of them (all): the inventory of accelerators is for callers who may read the
// decisions of all namespaces. Where ok is false it has answered.
func mayReadRecord(w http.ResponseWriter, r *http.Request, readers Readers, setup cycle.Setup, key scaling.VariantKey, model scaling.ModelKey) (all, ok bool) {
	alone := setup.Alone(model)
	if alone && !setup.Inventory.Known {
		return true, true
	}
	status, message := mayRead(readers, r, "")
	if status != 0 && !alone {
		fail(w, status, fmt.Sprintf("the decision for %s depends on models of other namespaces, with which it shares accelerators or profiles: %s", key, message))
		return false, false
	}
	return status == 0, true
}

// modelOf returns the model of a variant of a cycle.
func modelOf(d cycle.Decided, of scaling.VariantKey) (scaling.ModelKey, bool) {
	for _, s := range d.Case.Snapshots {
		if slices.ContainsFunc(s.Variants, func(v scaling.Variant) bool { return v.Key == of }) {
			return s.Model, true
		}
	}
	return scaling.ModelKey{}, false
}
