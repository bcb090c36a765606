package core

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// TypeUse is what allocations take of one type of accelerator.
type TypeUse struct {
	Type  string
	Count int     // accelerators in use; math.MaxInt where they are too many to count
	Limit int     // accelerators in stock
	Cost  float64 // per hour, of the replicas on this type
}

// AllocateByType adds up allocations by type of accelerator, sorted by type. A
// type that stock does not list has a limit of 0, and one that nothing uses is
// listed with its limit.
func AllocateByType(allocations []Allocation, stock map[string]int) []TypeUse {
	uses := make(map[string]TypeUse, len(stock))
	for name, limit := range stock {
		uses[name] = TypeUse{Type: name, Limit: limit}
	}
	for _, a := range allocations {
		if a.Replicas == 0 {
			continue
		}
		use := uses[a.Type]
		uses[a.Type] = TypeUse{
			Type: a.Type, Count: added(use.Count, a.Replicas, a.Units), Limit: use.Limit, Cost: use.Cost + a.Cost,
		}
	}
	return slices.SortedFunc(maps.Values(uses), func(a, b TypeUse) int { return cmp.Compare(a.Type, b.Type) })
}

// added is count + replicas x units, math.MaxInt where that is more than an int holds.
func added(count, replicas, units int) int {
	if units > 0 && replicas > (math.MaxInt-count)/units {
		return math.MaxInt
	}
	return count + replicas*units
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
