package scaling

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// StartUp is how long one pod took from its creation to its first Ready.
type StartUp struct {
	Pod     string        // names the pod for ever: the beginning of its UID
	Created time.Time     // to the second, as the API server gives it
	Took    time.Duration // > 0, in whole seconds; at most LongestStartUp
	// Restored is true of a pod that an earlier process saw. No text holds it.
	Restored bool
}

// LongestStartUp is the longest time to the first Ready that counts. The largest
// models load for half an hour; a pod that took longer has waited for a node, or
// for something else that says nothing of the next pod.
const LongestStartUp = time.Hour

// MarshalText returns the pod, its creation and the time to its first Ready, with
// spaces between them.
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

// StartUps are those of the pods of a variant that were created last, oldest first,
// one of each pod, at most startUpsKept. The zero value remembers nothing. It is a
// value: no method changes it.
type StartUps []StartUp

// startUpsKept is how many start-ups say what is usual: enough for the slowest of
// ten, and few enough that a new image or a faster registry shows within some days.
const startUpsKept = 20

// Merge returns what both remember. Of a pod that both have seen the shorter time
// counts: the process that saw it later may have taken its return to Ready for the first.
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

// preferred reports whether s says more of a pod than o does.
func (s StartUp) preferred(o StartUp) bool {
	if s.Took != o.Took {
		return s.Took < o.Took
	}
	return o.Restored && !s.Restored
}

func (s StartUp) compare(o StartUp) int {
	return cmp.Or(s.Created.Compare(o.Created), strings.Compare(s.Pod, o.Pod))
}

// Lacks reports whether the start-up of a pod that was created then would be kept and is
// not known yet.
func (s StartUps) Lacks(pod string, created time.Time) bool {
	if len(s) >= startUpsKept && created.Before(s[0].Created) {
		return false
	}
	return !slices.ContainsFunc(s, func(one StartUp) bool { return one.Pod == pod })
}

// Durations returns how long the pods took.
func (s StartUps) Durations() Durations {
	out := make(Durations, len(s))
	for i, one := range s {
		out[i] = one.Took
	}
	slices.Sort(out)
	return out
}

// Durations are times of one kind, ascending. The zero value says nothing.
type Durations []time.Duration

// Quantile returns the shortest of the times that the part q of them does not
// exceed, for q in (0, 1], and 0 where there are none. 0.5 is the median, of an even
// number the lower of the two in the middle.
func (d Durations) Quantile(q float64) time.Duration {
	for i, took := range d {
		if float64(i+1) >= q*float64(len(d))-1e-9 { // a rank that rounding raised is the same rank
			return took
		}
	}
	return 0
}

// The quantiles of start-ups that have names.
const (
	UsualStartUp = 0.5 // as long as the next one most likely takes
	SlowStartUp  = 0.9 // what nine of ten do not exceed
)

// StartingLike returns v whose pods take as long to start as s says.
func (v Variant) StartingLike(s StartUps) Variant {
	d := s.Durations()
	v.StartUp, v.SlowStartUp, v.StartUps = d.Quantile(UsualStartUp), d.Quantile(SlowStartUp), len(d)
	return v
}

// VariantStartUps are the start-ups of the variants of one model, by the name of the
// variant. It is a value: no method changes it.
type VariantStartUps map[string]StartUps

// Merge returns what both remember.
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

// A quantile has moved when it differs by more than movedStartUp of what it was and
// by more than movedLeast, which is what an ordinary start varies by.
const (
	movedStartUp = 0.2
	movedLeast   = 5 * time.Second
)

// Differs reports whether v says something else of a variant than o, so that a
// decision by o would be another: of a variant that o does not know, by the median
// or the 0.9 quantile, or by twice as many pods. What only o knows is no difference.
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

// Less returns a part of v that takes less room: of every variant the later half of
// the pods, and where each has but one, without the variant whose pod is the oldest.
// It returns false where nothing would be left.
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

// String says how long pods of each variant take.
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
