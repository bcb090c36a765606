package explain

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// StartUps sums up how long pods of a variant took from their creation to their first Ready. The
// zero value means unknown.
type StartUps struct {
	Usual    Duration  `json:"usual,omitempty"`    // the median of the pods
	Slow     Duration  `json:"slow,omitempty"`     // 9 of 10 pods took no longer
	Pods     int       `json:"pods,omitempty"`     // the number of pods measured
	Restored int       `json:"restored,omitempty"` // those that an earlier process measured, from the store
	Last     time.Time `json:"last,omitzero"`      // when the latest of them became Ready
}

// StartUpsOf returns the summary of s.
func StartUpsOf(s memory.StartUps) StartUps {
	d := s.Durations()
	out := StartUps{Usual: Duration(d.Quantile(memory.UsualStartUp)), Slow: Duration(d.Quantile(memory.SlowStartUp)), Pods: len(s)}
	for _, one := range s {
		if one.Restored {
			out.Restored++
		}
		if at := one.Created.Add(one.Took); at.After(out.Last) {
			out.Last = at
		}
	}
	return out
}

// tell returns s as one line.
func (s StartUps) tell(now time.Time) string {
	if s.Pods == 0 {
		return "not known: no pod has been seen to become Ready for the first time"
	}
	from, newest := fmt.Sprintf("the last %d pods", s.Pods), "the newest Ready"
	if s.Pods == 1 {
		from, newest = "one pod", "Ready"
	}
	text := fmt.Sprintf("%s, 9 of 10 within %s, from %s", time.Duration(s.Usual), time.Duration(s.Slow), from)
	if !s.Last.IsZero() {
		text += fmt.Sprintf(", %s %s ago", newest, age(s.Last, now))
	}
	if s.Restored > 0 {
		text += fmt.Sprintf("; %d of them from the store of an earlier process", s.Restored)
	}
	return text
}
