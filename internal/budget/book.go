package budget

import (
	"maps"
	"sync"
)

// Book is what is left out now of each namespace. It is safe for concurrent use. A nil
// *Book takes notes of nothing.
type Book struct {
	observe func(w What, counts map[string]int)

	mu   sync.Mutex
	left map[What]map[string]int
}

// NewBook returns a book in which nothing is left out. observe is given every note, and
// must not modify it; nil is given none.
func NewBook(observe func(w What, counts map[string]int)) *Book {
	return &Book{observe: observe, left: map[What]map[string]int{}}
}

// Note takes over how much of one kind is left out of each namespace, in the place of
// what was noted of it. The caller must not modify counts any more.
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

// Of returns what of a namespace is left out, in the order of All.
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
