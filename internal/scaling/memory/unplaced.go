package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Unplaced is the number of replicas of a variant that no node has taken, and since when. The zero
// value is none. It is a value: no method changes it.
type Unplaced struct {
	Replicas scaling.Replicas `json:"replicas"`
	Since    time.Time        `json:"since"`  // when the wait began
	Cycles   int              `json:"cycles"` // cycles since then, that one included, >= 1
}

// Then returns u updated at now by the number of replicas that no node takes. A smaller number
// keeps the time; a larger one begins a new wait, since the added replicas are new.
func (u Unplaced) Then(replicas scaling.Replicas, now time.Time) Unplaced {
	switch {
	case replicas <= 0:
		return Unplaced{}
	case replicas > u.Replicas:
		return Unplaced{Replicas: replicas, Since: now, Cycles: 1}
	}
	return Unplaced{Replicas: replicas, Since: u.Since, Cycles: u.Cycles + 1}
}
