package budget

import (
	"maps"
	"sync"
)

// Book holds how many objects, events and so on of each namespace are left out now. It is safe for
// concurrent use. A nil *Book ignores notes.
type Book struct {
	observe func(w What, counts map[string]int)

	mu   sync.Mutex
	left map[What]map[string]int
}

// NewBook returns an empty book. It calls observe with every note that changes the counts; observe
// must not modify them, and may be nil.
func NewBook(observe func(w What, counts map[string]int)) *Book {
	return &Book{observe: observe, left: map[What]map[string]int{}}
}

// Note replaces the counts of one limit, by namespace. The caller must not modify counts
// any more.
func (b *Book) Note(w What, counts map[string]int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	changed := !maps.Equal(b.left[w], counts)
	b.left[w] = counts
	b.mu.Unlock()
	if changed && b.observe != nil {
		b.observe(w, counts)
	}
}

// Of returns the exceeded limits of a namespace, in the order of All.
func (b *Book) Of(namespace string) []What {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []What
	for _, w := range All() {
		if b.left[w][namespace] > 0 {
			out = append(out, w)
		}
	}
	return out
}
