package controller

import (
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// lastReported remembers of each variant what an event last told that no status holds, so that
// it is told when it begins and not again; a new process tells it once more. The
// zero value remembers nothing. It is safe for concurrent use.
type lastReported[T comparable] struct {
	mu sync.Mutex
	by map[scaling.VariantKey]T
}

// begins remembers what there is to tell of a variant, the zero T for nothing,
// and reports whether that is new.
func (s *lastReported[T]) begins(key scaling.VariantKey, now T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[key] == now {
		return false
	}
	if s.by == nil {
		s.by = map[scaling.VariantKey]T{}
	}
	s.by[key] = now
	return true
}

// forget drops the variants that are not among those that live.
func (s *lastReported[T]) forget(alive []client.ObjectKey) {
	lives := living(alive)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.by, func(key scaling.VariantKey, _ T) bool { return !lives[key] })
}

// living returns the keys of the variants that live.
func living(alive []client.ObjectKey) map[scaling.VariantKey]bool {
	lives := make(map[scaling.VariantKey]bool, len(alive))
	for _, key := range alive {
		lives[scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}] = true
	}
	return lives
}
