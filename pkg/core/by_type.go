package core

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// TypeUse is the use of one type of accelerator.
type TypeUse struct {
	Type  string
	Count int     // accelerators in use; math.MaxInt where the count overflows
	Limit int     // accelerators in stock
	Cost  float64 // per hour, of the replicas on this type
}

// AllocateByType returns the sums of the allocations by type of accelerator, sorted by type. A type
// that stock does not list has a limit of 0. A type of the stock that no allocation uses is
// included.
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

// added returns count + replicas x units, or math.MaxInt on overflow.
func added(count, replicas, units int) int {
	if units > 0 && replicas > (math.MaxInt-count)/units {
		return math.MaxInt
	}
	return count + replicas*units
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
