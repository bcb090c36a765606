package emulator

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Replica is one serving replica by itself, such as the engine of a real pod. It needs no cluster.
// Make it with NewReplica; its methods may be called from any goroutine.
type Replica struct {
	emulator *Emulator
	pod      Pod
}

// NewReplica returns a replica that serves a model at the speed of a profile, a name in o.Profiles.
func NewReplica(o Options, model, profile string) (*Replica, error) {
	e, err := New(o)
	if err != nil {
		return nil, err
	}
	if _, ok := e.fleet.profiles[profile]; !ok {
		return nil, fmt.Errorf("unknown profile %q, want one of %q", profile, slices.Sorted(maps.Keys(e.fleet.profiles)))
	}
	pod := Pod{Name: "replica", Model: model, Profile: profile, Started: true, Ready: true}
	if err := e.change(func(now time.Duration) error { return e.fleet.setPod(now, pod) }); err != nil {
		return nil, err
	}
	return &Replica{emulator: e, pod: pod}, nil
}

// Run computes requests until ctx ends.
func (r *Replica) Run(ctx context.Context) { r.emulator.Run(ctx) }

// Handler returns the HTTP handler, with vLLM's paths: /v1/completions,
// /v1/chat/completions, /v1/models, /metrics and /health.
func (r *Replica) Handler() http.Handler {
	h := r.emulator.handler()
	mux := http.NewServeMux()
	mux.Handle("/v1/", h)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { h.podPage(w, r.pod.Namespace, r.pod.Name) })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}
