package core

import (
	"cmp"
	"maps"
	"slices"
)

// TypeUse is what allocations take of one type of accelerator.
type TypeUse struct {
	Type  string
	Count int     // accelerators in use
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
			Type: a.Type, Count: use.Count + a.Replicas*a.Units, Limit: use.Limit, Cost: use.Cost + a.Cost,
		}
	}
	return slices.SortedFunc(maps.Values(uses), func(a, b TypeUse) int { return cmp.Compare(a.Type, b.Type) })
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
