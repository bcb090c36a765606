package budget

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Object is the size of a VariantAutoscaling.
type Object struct {
	Namespace, Name string
	Created         time.Time
	// Bytes is the length of its text, >= 0.
	Bytes int
	// Batch is the batch size in its profile, in requests, >= 0; 0 without a profile.
	Batch int
}

// Key is the namespace and name of an object.
type Key struct{ Namespace, Name string }

// Admit returns the objects that are left out, each with the first limit that it exceeds,
// nil where none is left out. The order of objects does not matter.
func (l Limits) Admit(objects []Object) map[Key]What {
	if l = l.OrDefault(); l.fits(objects) {
		return nil
	}
	oldest := slices.SortedFunc(slices.Values(objects), func(a, b Object) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	admitted := map[string]spent{}
	left := map[Key]What{}
	for _, o := range oldest {
		with := admitted[o.Namespace].and(o)
		if w, over := with.over(l); over {
			left[Key{o.Namespace, o.Name}] = w
			continue
		}
		admitted[o.Namespace] = with
	}
	return left
}

// fits reports whether all objects are within the limits, the usual case.
func (l Limits) fits(objects []Object) bool {
	all := map[string]spent{}
	for _, o := range objects {
		all[o.Namespace] = all[o.Namespace].and(o)
	}
	for _, s := range all {
		if _, over := s.over(l); over {
			return false
		}
	}
	return true
}

// spent is the sum over admitted objects.
type spent struct{ objects, bytes, batches int }

// and returns the sum with one more object.
func (s spent) and(o Object) spent {
	return spent{s.objects + 1, s.bytes + o.Bytes, s.batches + o.Batch}
}

// over returns the first limit that is exceeded, and false where none is.
func (s spent) over(l Limits) (What, bool) {
	switch {
	case s.objects > l.Variants:
		return Variants, true
	case s.bytes > l.ObjectBytes:
		return ObjectBytes, true
	case s.batches > l.BatchSizes:
		return BatchSizes, true
	}
	return "", false
}

// Counts returns how many objects are left out, by the limit that they exceed and by
// namespace. A limit that no object exceeds has an empty map.
func Counts(left map[Key]What) map[What]map[string]int {
	counts := map[What]map[string]int{Variants: {}, ObjectBytes: {}, BatchSizes: {}}
	for key, w := range left {
		counts[w][key.Namespace]++
	}
	return counts
}
