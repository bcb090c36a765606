package budget

import (
	"maps"
	"sync"
)

// LeftOut holds how many objects, events and so on of each namespace are left out now. It is safe
// for concurrent use. A nil *LeftOut ignores notes.
type LeftOut struct {
	observe func(w What, counts map[string]int)

	mu   sync.Mutex
	left map[What]map[string]int
}

// NewLeftOut returns an empty LeftOut. It calls observe with every note that changes the counts;
// observe must not modify them, and may be nil.
func NewLeftOut(observe func(w What, counts map[string]int)) *LeftOut {
	return &LeftOut{observe: observe, left: map[What]map[string]int{}}
}

// Note replaces the counts of one limit, by namespace. The caller must not modify counts
// any more.
func (o *LeftOut) Note(w What, counts map[string]int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	changed := !maps.Equal(o.left[w], counts)
	o.left[w] = counts
	o.mu.Unlock()
	if changed && o.observe != nil {
		o.observe(w, counts)
	}
}

// Of returns the exceeded limits of a namespace, in the order of All.
func (o *LeftOut) Of(namespace string) []What {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []What
	for _, w := range All() {
		if o.left[w][namespace] > 0 {
			out = append(out, w)
		}
	}
	return out
}
