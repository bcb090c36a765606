package budget

import (
	"cmp"
	"fmt"
)

// What names one kind of budget of a namespace.
type What string

// The kinds of budget of a namespace.
const (
	Variants    What = "variants"
	ObjectBytes What = "object_bytes"
	BatchSizes  What = "batch_sizes"
	PageBytes   What = "page_bytes"
	Series      What = "series"
	Findings    What = "findings"
	Events      What = "events"
)

// All returns every kind of budget, in the order in which they are reported.
func All() []What {
	return []What{Variants, ObjectBytes, BatchSizes, PageBytes, Series, Findings, Events}
}

// Limits is the budget of each namespace. A limit of 0 means its default, so every kind has
// a limit.
type Limits struct {
	// Variants is the largest number of VariantAutoscalings that are served.
	Variants int
	// ObjectBytes is the largest length of their text together.
	ObjectBytes int
	// BatchSizes is the largest sum of the batch sizes of their profiles, in requests: the
	// time to size a replica is in proportion to its batch size.
	BatchSizes int
	// PageBytes is the largest size of the kept metrics pages of its pods, in addition to
	// the allowance of each pod.
	PageBytes int
	// Series is the largest number of series in the latest metrics pages of its pods, in
	// addition to 256 for each pod.
	Series int
	// Findings is how many findings about its ConfigMaps are reported.
	Findings int
	// Events is how many events of its objects are sent within an hour.
	Events int
}

// DefaultLimits returns the default limits: what the largest known installation needs in
// one namespace. That is 1,000 variants with ten replicas each. Each object takes up to 5
// KiB, and its profile has a batch size of up to 512. In an hour in which all variants
// change twice there are 4,000 events. The metrics pages hold 20 to 100 series for each
// rank of the engine. Where replicas have many ranks, or an endpoint picker many flows, the
// 8,192 series in addition to those of each pod suffice.
func DefaultLimits() Limits {
	return Limits{
		Variants: 1000, ObjectBytes: 5 << 20, BatchSizes: 512 << 10, PageBytes: 16 << 20, Series: 8 << 10,
		Findings: 50, Events: 5000,
	}
}

// OrDefault returns l with the default in the place of each limit that is 0.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits()
	return Limits{
		Variants: cmp.Or(l.Variants, d.Variants), ObjectBytes: cmp.Or(l.ObjectBytes, d.ObjectBytes),
		BatchSizes: cmp.Or(l.BatchSizes, d.BatchSizes), PageBytes: cmp.Or(l.PageBytes, d.PageBytes),
		Series: cmp.Or(l.Series, d.Series), Findings: cmp.Or(l.Findings, d.Findings), Events: cmp.Or(l.Events, d.Events),
	}
}

// Of returns one of the limits. It panics for an unknown kind.
func (l Limits) Of(w What) int {
	l = l.OrDefault()
	switch w {
	case Variants:
		return l.Variants
	case ObjectBytes:
		return l.ObjectBytes
	case BatchSizes:
		return l.BatchSizes
	case PageBytes:
		return l.PageBytes
	case Series:
		return l.Series
	case Findings:
		return l.Findings
	case Events:
		return l.Events
	}
	panic("budget: there is no limit of " + string(w))
}

// Setting returns the name of the environment variable that sets the limit.
func (w What) Setting() string {
	return map[What]string{
		Variants: "WVA_NAMESPACE_VARIANTS", ObjectBytes: "WVA_NAMESPACE_OBJECT_BYTES", BatchSizes: "WVA_NAMESPACE_BATCH_SIZES",
		PageBytes: "WVA_NAMESPACE_PAGE_BYTES", Series: "WVA_NAMESPACE_SERIES", Findings: "WVA_NAMESPACE_FINDINGS",
		Events: "WVA_NAMESPACE_EVENTS",
	}[w]
}

// Left returns a message for an object that is not served because it exceeds w, one of Variants,
// ObjectBytes and BatchSizes: why, what that means, and what to do.
func (l Limits) Left(w What) string {
	reason := map[What]string{
		Variants:    "the namespace has more than %d VariantAutoscalings",
		ObjectBytes: "with it, the VariantAutoscalings of the namespace hold more than %d bytes of text",
		BatchSizes:  "with it, the batches of the profiles of the namespace hold more than %d requests (maxBatchSize, 256 where it is not set)",
	}[w]
	return fmt.Sprintf("not served: "+reason+"; the older ones are served, and no replica count is decided for this one: "+
		"delete or shrink VariantAutoscalings of the namespace, or ask who operates the manager to raise %s", l.Of(w), w.Setting())
}
