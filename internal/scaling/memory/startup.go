package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// StartUp is the time of one pod from its creation to its first Ready.
type StartUp struct {
	Pod     string        // the beginning of the pod's UID
	Created time.Time     // to the second, as the API server gives it
	Took    time.Duration // > 0, in whole seconds; at most LongestStartUp
	// Restored is true for a pod that an earlier process saw. It is not part of the text.
	Restored bool
}

// LongestStartUp is the longest start-up that counts. The largest models load for half an hour; a
// pod that took longer has waited for a node or for something else that does not predict the next
// pod.
const LongestStartUp = time.Hour

// MarshalText returns the pod, its creation and its start-up, separated by spaces.
func (s StartUp) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s %s %s", s.Pod, s.Created.UTC().Format(time.RFC3339), s.Took), nil
}

// UnmarshalText reads what MarshalText returns.
func (s *StartUp) UnmarshalText(text []byte) error {
	fields := strings.Fields(string(text))
	if len(fields) != 3 {
		return errors.New("want the pod, its creation and the time that it took")
	}
	created, err := time.Parse(time.RFC3339, fields[1])
	if err != nil {
		return fmt.Errorf("reading when the pod was created: %w", err)
	}
	took, err := time.ParseDuration(fields[2])
	if err != nil {
		return fmt.Errorf("reading how long the pod took: %w", err)
	}
	if took <= 0 || took > LongestStartUp {
		return fmt.Errorf("a start-up took %s: want more than 0 and at most %s", took, LongestStartUp)
	}
	*s = StartUp{Pod: fields[0], Created: created.UTC(), Took: took}
	return nil
}

// StartUps are the start-ups of the last created pods of a variant, oldest first, one for each pod,
// at most startUpsKept. The zero value remembers nothing. It is a value: no method changes it.
type StartUps []StartUp

// startUpsKept is the number of start-ups behind the quantiles: enough for the slowest of ten, and
// few enough that a new image or a faster registry shows within some days.
const startUpsKept = 20

// Merge returns the start-ups of both. For a pod in both, the shorter time counts: the process that
// saw it later may have taken its return to Ready for the first.
func (s StartUps) Merge(o StartUps) StartUps {
	byPod := make(map[string]StartUp, len(s)+len(o))
	for _, one := range slices.Concat(s, o) {
		if had, ok := byPod[one.Pod]; !ok || one.preferred(had) {
			byPod[one.Pod] = one
		}
	}
	all := slices.SortedFunc(maps.Values(byPod), StartUp.compare)
	return StartUps(all[max(0, len(all)-startUpsKept):])
}

// preferred reports whether s is the better record of a pod than o.
func (s StartUp) preferred(o StartUp) bool {
	if s.Took != o.Took {
		return s.Took < o.Took
	}
	return o.Restored && !s.Restored
}

func (s StartUp) compare(o StartUp) int {
	return cmp.Or(s.Created.Compare(o.Created), strings.Compare(s.Pod, o.Pod))
}

// Lacks reports whether the start-up of a pod created at that time is unknown and would be kept.
func (s StartUps) Lacks(pod string, created time.Time) bool {
	if len(s) >= startUpsKept && created.Before(s[0].Created) {
		return false
	}
	return !slices.ContainsFunc(s, func(one StartUp) bool { return one.Pod == pod })
}

// Durations returns the start-ups, ascending.
func (s StartUps) Durations() Durations {
	out := make(Durations, len(s))
	for i, one := range s {
		out[i] = one.Took
	}
	slices.Sort(out)
	return out
}

// Durations are times of one kind, ascending. The zero value has none.
type Durations []time.Duration

// Quantile returns the shortest time that the part q of the times does not exceed, for q in (0, 1],
// and 0 without any. 0.5 is the median; of an even number, the lower middle one.
func (d Durations) Quantile(q float64) time.Duration {
	for i, took := range d {
		if float64(i+1) >= q*float64(len(d))-1e-9 { // a rank that rounding raised is the same rank
			return took
		}
	}
	return 0
}

// Named quantiles of start-ups.
const (
	UsualStartUp = 0.5 // the median
	SlowStartUp  = 0.9 // nine of ten do not exceed it
)

// StartingLike returns v with the start-up fields computed from s.
func StartingLike(v scaling.Variant, s StartUps) scaling.Variant {
	d := s.Durations()
	v.StartUp, v.SlowStartUp, v.StartUps = d.Quantile(UsualStartUp), d.Quantile(SlowStartUp), len(d)
	return v
}

// VariantStartUps are the start-ups of the variants of one model, by variant name. It is a value:
// no method changes it.
type VariantStartUps map[string]StartUps

// Merge returns the start-ups of both.
func (v VariantStartUps) Merge(o VariantStartUps) VariantStartUps {
	out := make(VariantStartUps, len(v)+len(o))
	for name, s := range v {
		out[name] = s.Merge(o[name])
	}
	for name, s := range o {
		if _, both := v[name]; !both {
			out[name] = s.Merge(nil)
		}
	}
	return out
}

// A quantile has moved if it differs from its old value by more than movedStartUp of that and by
// more than movedLeast, the variation of ordinary starts.
const (
	movedStartUp = 0.2
	movedLeast   = 5 * time.Second
)

// Differs reports whether decisions by v may differ from decisions by o: a variant is new in v, its
// median or 0.9 quantile has moved, or it has twice as many pods. Variants that only o has do not
// count.
func (v VariantStartUps) Differs(o VariantStartUps) bool {
	for name, s := range v {
		had := o[name]
		is, was := s.Durations(), had.Durations()
		if len(is) >= 2*max(1, len(was)) || len(was) == 0 && len(is) > 0 {
			return true
		}
		if moved(is.Quantile(UsualStartUp), was.Quantile(UsualStartUp)) || moved(is.Quantile(SlowStartUp), was.Quantile(SlowStartUp)) {
			return true
		}
	}
	return false
}

func moved(is, was time.Duration) bool {
	by := max(is-was, was-is)
	return by > movedLeast && float64(by) > movedStartUp*float64(was)
}

// Less returns a smaller part of v: the later half of the pods of every variant or, if each has
// only one, v without the variant whose pod is the oldest. It returns false if nothing is left.
func (v VariantStartUps) Less() (VariantStartUps, bool) {
	out, halved := make(VariantStartUps, len(v)), false
	var oldest string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		s := v[name]
		if len(s) == 0 {
			halved = true // its name goes
			continue
		}
		halved = halved || len(s) > 1
		out[name] = s[len(s)/2:]
		if oldest == "" || s[len(s)-1].Created.Before(v[oldest][len(v[oldest])-1].Created) {
			oldest = name
		}
	}
	if !halved {
		delete(out, oldest)
	}
	return out, len(out) > 0
}

// String describes the start-ups of each variant.
func (v VariantStartUps) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		d := v[name].Durations()
		out = append(out, fmt.Sprintf("%s %s (9 of 10 within %s, %s)", name, d.Quantile(UsualStartUp), d.Quantile(SlowStartUp), pods(len(d))))
	}
	return strings.Join(out, ", ")
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
