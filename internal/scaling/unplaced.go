package scaling

import "time"

// Unplaced is how many replicas of a variant no node has taken, and for how long.
// The zero value is none. It is a value: no method changes it.
type Unplaced struct {
	Replicas Replicas  `json:"replicas"`
	Since    time.Time `json:"since"`  // when so many were first seen
	Cycles   int       `json:"cycles"` // in which they were seen, that of Since included, >= 1
}

// Then returns u after so many replicas were seen at now that no node takes. Fewer
// than before have been so for as long; of more, the added are new, and the wait
// begins again.
func (u Unplaced) Then(replicas Replicas, now time.Time) Unplaced {
	switch {
	case replicas <= 0:
		return Unplaced{}
	case replicas > u.Replicas:
		return Unplaced{Replicas: replicas, Since: now, Cycles: 1}
	}
	return Unplaced{Replicas: replicas, Since: u.Since, Cycles: u.Cycles + 1}
}
