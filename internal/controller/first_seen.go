package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// firstSeen remembers when a trouble of a scaler was first seen, where the object does not say when
// it began. A new process begins anew. The zero value remembers nothing. It is safe for concurrent
// use.
type firstSeen struct {
	mu sync.Mutex
	by map[scaling.VariantKey]map[scalerTrouble]time.Time
}

// scalerTrouble is a trouble that a scaler is in.
type scalerTrouble struct{ kind, name, reason string }

// date returns the scalers of a target at now. A trouble without a beginning gets the time at which
// it was first seen. date does not modify all.
func (s *firstSeen) date(key scaling.VariantKey, all scaling.Scalers, now time.Time) scaling.Scalers {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[scalerTrouble]time.Time{}
	date := func(by scaling.Scaler, t scaling.Trouble) scaling.Trouble {
		if t.Reason == "" || !t.Since.IsZero() {
			return t
		}
		what := scalerTrouble{by.Kind, by.Name, t.Reason}
		t.Since = now
		if first, known := s.by[key][what]; known {
			t.Since = first
		}
		seen[what] = t.Since
		return t
	}
	all.List = slices.Clone(all.List)
	for i, by := range all.List {
		all.List[i].Unread, all.List[i].Unable = date(by, by.Unread), date(by, by.Unable)
	}
	if s.by == nil {
		s.by = map[scaling.VariantKey]map[scalerTrouble]time.Time{}
	}
	if s.by[key] = seen; len(seen) == 0 {
		delete(s.by, key)
	}
	return all
}

// forget drops the variants that are not in alive.
func (s *firstSeen) forget(alive []client.ObjectKey) {
	lives := living(alive)
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.by, func(key scaling.VariantKey, _ map[scalerTrouble]time.Time) bool { return !lives[key] })
}
