package external

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Value holds the decision on one variant and its labels.
type Value struct {
	Variant     scaling.VariantKey
	Target      scaling.TargetRef
	Accelerator string // "" when unknown
	ReadAs      string // another name of the variant by which a scaler reads it, "" for none
	Desired     int    // replicas
	// Current counts replicas. It is valid only if Observed; otherwise there is no ratio.
	Current  int
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
	s.filled.Store(&byNamespace)
}

// Clear empties the store, as a process must that no longer leads.
func (s *Store) Clear() { s.filled.Store(nil) }

// Values returns the values of a namespace, sorted by variant, and whether the
// store was filled at all. The slice must not be modified.
func (s *Store) Values(namespace string) ([]Value, bool) {
	filled := s.filled.Load()
	if filled == nil {
		return nil, false
	}
	return (*filled)[namespace], true
}

// sortValues orders values by variant.
func sortValues(values []Value) {
	slices.SortFunc(values, func(a, b Value) int { return a.Variant.Compare(b.Variant) })
}
