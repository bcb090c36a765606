package store

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Knowledge is what is known of one model. Its zero value is to know nothing, and it is
// a value: no method changes it. It is written as JSON.
type Knowledge[T any] interface {
	// Merge returns what both know, whatever their order.
	Merge(o T) T
	// Differs reports whether it is worth a write where o is stored: whether a decision
	// could come out otherwise by it. What only o knows is no difference.
	Differs(o T) bool
	// Less returns what is most worth knowing of it, in less room, and false where
	// nothing is left.
	Less() (T, bool)
	// String says it to a person, in one line.
	fmt.Stringer
}

// Kind is one kind of knowledge.
type Kind[T Knowledge[T]] struct {
	Name    string // names its ConfigMap; lower-case letters and hyphens
	Version int    // of the JSON of T: another one is not read
	// EntryBytes bounds the entry of one model, and AllBytes all of them.
	EntryBytes, AllBytes int
}

// StartUps is how long pods of each variant took to start. Twenty pods of a variant
// take some 850 bytes.
func StartUps() Kind[scaling.VariantStartUps] {
	return Kind[scaling.VariantStartUps]{Name: "start-ups", Version: 1, EntryBytes: 8 << 10, AllBytes: 512 << 10}
}

// Fits is how fast replicas of each variant were seen to be. A variant that was seen at one
// to 64 requests takes some 850 bytes, its model with that alone some 1,000.
func Fits() Kind[scaling.VariantFits] {
	return Kind[scaling.VariantFits]{Name: "fits", Version: 1, EntryBytes: 16 << 10, AllBytes: 960 << 10}
}

// mostBytes bounds all ConfigMaps together: a thousandth of the 2 GiB that etcd holds by
// default. The API server takes 1 MiB of one.
const mostBytes = 2 << 20

// kinds lists every kind.
func kinds() []describer { return []describer{StartUps(), Fits()} }

// describer is a Kind of any type.
type describer interface {
	ConfigMap() string
	describe(data map[string]string) []Description
}

// ConfigMap returns the name of the ConfigMap of a kind.
func (k Kind[T]) ConfigMap() string { return "wva-store-" + k.Name }
