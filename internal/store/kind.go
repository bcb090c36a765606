package store

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Knowledge is what the manager has learned about one model. Its zero value is empty. It is
// a value: no method changes it. It is written as JSON.
type Knowledge[T any] interface {
	// Merge returns the union of both; their order does not matter.
	Merge(o T) T
	// Differs reports whether a write is needed where o is stored: whether the difference could
	// change a decision. Knowledge that only o has does not count.
	Differs(o T) bool
	// Less returns a smaller value with the most useful part, and false where nothing is left.
	Less() (T, bool)
	// String describes it in one line.
	fmt.Stringer
}

// Kind is one kind of knowledge.
type Kind[T Knowledge[T]] struct {
	Name    string // part of the name of its ConfigMap; lower-case letters and hyphens
	Version int    // of the JSON of T; other versions are not read
	// EntryBytes bounds the entry of one model, and AllBytes all of them.
	EntryBytes, AllBytes int
}

// StartUps is the kind that holds how long pods of each variant took to start. Twenty pods
// of a variant take some 850 bytes.
func StartUps() Kind[memory.VariantStartUps] {
	return Kind[memory.VariantStartUps]{Name: "start-ups", Version: 1, EntryBytes: 8 << 10, AllBytes: 512 << 10}
}

// Fits is the kind that holds the measured speed of replicas of each variant. A variant
// measured at one to 64 requests takes some 850 bytes, and its model with that variant some
// 1,000.
func Fits() Kind[memory.VariantFits] {
	return Kind[memory.VariantFits]{Name: "fits", Version: 1, EntryBytes: 16 << 10, AllBytes: 960 << 10}
}

// mostBytes bounds the ConfigMaps of a store together: 0.15 % of the 2 GiB that etcd holds by
// default. The API server accepts 1 MiB for one ConfigMap.
const mostBytes = 3 << 20

// kinds returns every kind.
func kinds() []describer { return []describer{StartUps(), Fits(), DecidedKind()} }

// describer is a Kind of any T.
type describer interface {
	ConfigMap() string
	describe(data map[string]string) []Description
}

// ConfigMap returns the name of the ConfigMap of a kind.
func (k Kind[T]) ConfigMap() string { return "wva-store-" + k.Name }
