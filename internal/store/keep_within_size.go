package store

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// item is an entry of a ConfigMap with the values that decide whether it is kept.
type item struct {
	key, text string
	namespace string // of its model, "" for an unreadable entry
	at        time.Time
	served    bool // a model of the fleet
	read      bool // it can be read
}

func (i item) size() int { return len(i.key) + len(i.text) }

// rank returns the class of an item: lower classes are dropped first when there is no space.
func (i item) rank() int {
	switch {
	case !i.read:
		return 0
	case !i.served:
		return 1
	}
	return 2
}

// pack returns the items that a ConfigMap of limit bytes keeps, and the dropped ones, each sorted
// by key. It drops unreadable items first, then those of models that are not served, then those of
// the namespace with the most bytes; each time the oldest.
func pack(items []item, limit int) (kept, dropped []item) {
	kept = slices.Clone(items)
	slices.SortFunc(kept, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.at.Compare(b.at), strings.Compare(a.key, b.key))
	})
	total, of := 0, map[string]int{}
	for _, i := range kept {
		total += i.size()
		of[i.namespace] += i.size()
	}
	for total > limit {
		next := 0
		if kept[0].rank() == 2 {
			most := largest(of)
			next = slices.IndexFunc(kept, func(i item) bool { return i.namespace == most })
		}
		gone := kept[next]
		kept, dropped = slices.Delete(kept, next, next+1), append(dropped, gone)
		total -= gone.size()
		of[gone.namespace] -= gone.size()
	}
	byKey := func(a, b item) int { return strings.Compare(a.key, b.key) }
	slices.SortFunc(kept, byKey)
	slices.SortFunc(dropped, byKey)
	return kept, dropped
}

// largest returns the namespace with the most bytes, of equal ones the first by name.
func largest(of map[string]int) string {
	best, most := "", -1
	for namespace, size := range of {
		if size > most || size == most && namespace < best {
			best, most = namespace, size
		}
	}
	return best
}
