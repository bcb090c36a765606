package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Value holds the decision on one variant and its labels.
type Value struct {
	Variant     scaling.VariantKey
	Target      scaling.TargetRef
	Accelerator string           // "" when unknown
	ReadAs      string           // another name of the variant by which a scaler reads it, "" for none
	ByValue     bool             // its scaler multiplies what it reads (scaling.Scalers.ByValue)
	Desired     scaling.Replicas // replicas
	// Current counts replicas. It is valid only if Observed; otherwise there is no ratio.
	Current  scaling.Replicas
	Observed bool
	// At is when the analysis behind the decision was made, or, for a fallback without a
	// known analysis, when the fallback began.
	At time.Time
	// Cycle is the cycle that decided, "" where it is unknown.
	Cycle scaling.CycleID
}

// Store holds the decisions of the process that leads. The zero Store is empty and ready;
// its methods may be called from several goroutines. Readers see the values of one Fill,
// never a mixture of two.
type Store struct {
	filled atomic.Pointer[map[string][]Value] // by namespace, sorted by Variant; nil while not leading

	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil until Changed is called
}

// Fill replaces what the store holds. A store filled with no values counts as filled: there
// is no variant.
func (s *Store) Fill(values []Value) {
	byNamespace := map[string][]Value{}
	for _, v := range values {
		byNamespace[v.Variant.Namespace] = append(byNamespace[v.Variant.Namespace], v)
	}
	for _, group := range byNamespace {
		sortValues(group)
	}
	s.set(&byNamespace)
}

// Clear empties the store. A process that no longer leads must call it.
func (s *Store) Clear() { s.set(nil) }

func (s *Store) set(values *map[string][]Value) {
	s.filled.Store(values)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Changed returns a channel that is closed with the next Fill or Clear.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Values returns the values of a namespace, sorted by variant, and whether the store is filled. The
// slice must not be modified.
func (s *Store) Values(namespace string) ([]Value, bool) {
	filled := s.filled.Load()
	if filled == nil {
		return nil, false
	}
	return (*filled)[namespace], true
}

// Fallback returns the values while this process does not lead.
type Fallback interface {
	// Values returns the values in the status of the resources of a namespace. It leaves
	// out variants without a decision. An error means that no value is known.
	Values(ctx context.Context, namespace string) ([]Value, error)
}

// ErrNoDecision means that no decision is known: the process does not lead, and nothing
// else says what was decided.
var ErrNoDecision = errors.New("no decision was made yet")

// Source is where decisions are read, whether this process leads or not. It is safe for
// concurrent use.
type Source struct {
	Store *Store // never nil
	// Fallback is used while the store is empty; without one nothing is known then.
	Fallback Fallback
}

// Values returns the values of a namespace, sorted by variant, from the store or the
// fallback. The slice must not be modified.
func (s Source) Values(ctx context.Context, namespace string) ([]Value, error) {
	if values, ok := s.Store.Values(namespace); ok {
		return values, nil
	}
	if s.Fallback == nil {
		return nil, ErrNoDecision
	}
	values, err := s.Fallback.Values(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("reading the decisions of namespace %s from status: %w", namespace, err)
	}
	// A fallback may also list other namespaces.
	values = slices.DeleteFunc(slices.Clone(values), func(v Value) bool { return v.Variant.Namespace != namespace })
	sortValues(values)
	return values, nil
}

// sortValues orders values by variant.
func sortValues(values []Value) {
	slices.SortFunc(values, func(a, b Value) int { return a.Variant.Compare(b.Variant) })
}
