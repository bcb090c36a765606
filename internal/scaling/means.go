package scaling

import (
	"math"
	"time"
)

// Means are what the requests of a model are like and how fast they are served, in the
// mean of the last minutes: sums over requests, in which the past counts ever less. The
// zero value has seen none.
type Means struct {
	At       time.Time `json:"at,omitzero"` // of the last look
	Requests float64   `json:"requests,omitempty"`
	Input    float64   `json:"input,omitempty"`  // tokens
	Output   float64   `json:"output,omitempty"` // tokens
	// Timed is how many of the requests latencies are known of, and what follows sums
	// over those: TTFT and ITL, in ms, and the requests that a replica computed together.
	Timed    float64 `json:"timed,omitempty"`
	TTFT     float64 `json:"ttft,omitempty"`
	ITL      float64 `json:"itl,omitempty"`
	Together float64 `json:"together,omitempty"`
}

// meansFade is how long it takes what was seen to count e times less: long enough that
// lengths do not move a decision from one look to the next, and short beside an hour,
// in which they change.
const meansFade = 10 * time.Minute

// Then returns m after a look at s. replicas is how many replicas served, 0 where
// latencies tell nothing of them: while requests wait, or while some are new.
func (m Means) Then(s Snapshot, replicas float64) Means {
	since, l := s.At.Sub(m.At), s.Load
	if since <= 0 || !l.ArrivalRate.Known() || !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return m
	}
	if m.At.IsZero() {
		since = s.Window
	}
	left, n := math.Exp(-since.Seconds()/meansFade.Seconds()), l.ArrivalRate.Value*since.Seconds()
	m.At = s.At
	m.Requests, m.Input, m.Output = left*m.Requests+n, left*m.Input+n*l.InputTokens.Value, left*m.Output+n*l.OutputTokens.Value
	m.Timed, m.TTFT, m.ITL, m.Together = left*m.Timed, left*m.TTFT, left*m.ITL, left*m.Together
	if replicas > 0 && l.TTFT.State == Fresh && l.ITL.State == Fresh && l.OutputTokens.Value > 1 {
		m.Timed += n
		m.TTFT += n * l.TTFT.Value
		m.ITL += n * l.ITL.Value
		m.Together += n * l.together(replicas)
	}
	return m
}

// together is how many requests a replica computes at a time, by Little's law.
func (l Load) together(replicas float64) float64 {
	return l.ArrivalRate.Value / replicas * (l.TTFT.Value + (l.OutputTokens.Value-1)*l.ITL.Value) / 1000
}

// Lengths returns the mean lengths, in tokens, and false where no request was seen.
func (m Means) Lengths() (input, output float64, known bool) {
	if !(m.Requests > 0) {
		return 0, 0, false
	}
	return m.Input / m.Requests, m.Output / m.Requests, true
}
