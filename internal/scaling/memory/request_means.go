package memory

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Means are the mean lengths and latencies of the requests of a model in the last minutes: sums
// over requests, in which older requests count less and less. The zero value has seen none.
type Means struct {
	At       time.Time `json:"at,omitzero"` // of the last look
	Requests float64   `json:"requests,omitempty"`
	Input    float64   `json:"input,omitempty"`  // tokens
	Output   float64   `json:"output,omitempty"` // tokens
	// Timed counts the requests with known latencies. The fields below are sums over those: TTFT
	// and ITL in ms, the batch size, and the coefficients of the profiles of the replicas that
	// served them.
	Timed    float64 `json:"timed,omitempty"`
	TTFT     float64 `json:"ttft,omitempty"`
	ITL      float64 `json:"itl,omitempty"`
	Together float64 `json:"together,omitempty"`
	Alpha    float64 `json:"alpha,omitempty"`
	Beta     float64 `json:"beta,omitempty"`
	Gamma    float64 `json:"gamma,omitempty"`
	Delta    float64 `json:"delta,omitempty"`
}

// meansFade is the time in which the weight of a request falls by a factor e: long enough that
// lengths do not change a decision from one look to the next, and short beside an hour, in which
// they do change.
const meansFade = 10 * time.Minute

// Then returns m updated by a look at s. replicas is the number of replicas that served, 0 where
// latencies say nothing about them: while requests wait, or some replicas are new. p holds the
// coefficients of their profiles, in the mean over requests.
func (m Means) Then(s scaling.Snapshot, replicas float64, p scaling.Profile) Means {
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
	m.Alpha, m.Beta, m.Gamma, m.Delta = left*m.Alpha, left*m.Beta, left*m.Gamma, left*m.Delta
	if replicas > 0 && l.TTFT.State == scaling.Fresh && l.ITL.State == scaling.Fresh && l.OutputTokens.Value > 1 {
		m.Timed += n
		m.TTFT += n * l.TTFT.Value
		m.ITL += n * l.ITL.Value
		m.Together += n * meanBatch(l, replicas)
		m.Alpha, m.Beta, m.Gamma, m.Delta = m.Alpha+n*p.Alpha, m.Beta+n*p.Beta, m.Gamma+n*p.Gamma, m.Delta+n*p.Delta
	}
	return m
}

// meanBatch returns the mean batch size of a replica, by Little's law.
func meanBatch(l scaling.Load, replicas float64) float64 {
	return l.ArrivalRate.Value / replicas * (l.TTFT.Value + (l.OutputTokens.Value-1)*l.ITL.Value) / 1000
}

// Profile returns the mean coefficients of the profiles of the replicas that served the requests,
// and false while unknown.
func (m Means) Profile() (p scaling.Profile, known bool) {
	if !(m.Timed > 0) || !(m.Alpha > 0) {
		return scaling.Profile{}, false
	}
	return scaling.Profile{Alpha: m.Alpha / m.Timed, Beta: m.Beta / m.Timed, Gamma: m.Gamma / m.Timed, Delta: m.Delta / m.Timed}, true
}

// Lengths returns the mean lengths in tokens, and false before the first request.
func (m Means) Lengths() (input, output float64, known bool) {
	if !(m.Requests > 0) {
		return 0, 0, false
	}
	return m.Input / m.Requests, m.Output / m.Requests, true
}
