package controller

import (
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// lastReported remembers the last fact of each variant that an event told and no status holds, so
// that an event tells it once, when it begins. A new process tells it again. The zero value
// remembers nothing. It is safe for concurrent use.
type lastReported[T comparable] struct {
	mu sync.Mutex
	by map[scaling.VariantKey]T
}

// begins remembers what there is to tell of a variant, the zero T for nothing, and reports whether
// that differs from the last call.
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

// forget drops the variants that are not in alive.
func (s *lastReported[T]) forget(alive []client.ObjectKey) {
	lives := living(alive)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.by, func(key scaling.VariantKey, _ T) bool { return !lives[key] })
}

// living returns alive as a set.
func living(alive []client.ObjectKey) map[scaling.VariantKey]bool {
	lives := make(map[scaling.VariantKey]bool, len(alive))
	for _, key := range alive {
		lives[scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}] = true
	}
	return lives
}
