package core

import "github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"

// Rules says by which rules a replica is sized.
type Rules int

const (
	// Correct is what the models say. A TPS target sets a demand beside the load,
	// the greater counts. Without load, TTFT is that of a lone request with its
	// input tokens.
	Correct Rules = iota
	// Published keeps three simplifications of the published versions, so that old
	// numbers stay comparable. A TPS target replaces the load as the demand and
	// takes a tenth off the greatest rate, whatever its value. Without load, TTFT
	// leaves the input tokens out. A queue of capacity 1 is refused.
	Published
)

// replica is one replica seen by the rules.
type replica interface {
	Size(analyzer.Targets) (analyzer.Sizing, error)
	Analyze(rate float64) (analyzer.Metrics, error)
}

var (
	_ replica = analyzer.QueueAnalyzer{}
	_ replica = analyzer.Published{}
)

// view returns the replica as the rules see it, and the objectives in their terms.
func (r Rules) view(q analyzer.QueueAnalyzer, t Target) (replica, analyzer.Targets) {
	targets := analyzer.Targets{TTFT: t.TTFT, TTFTPercentile: t.TTFTPercentile, ITL: t.ITL}
	if r == Published {
		targets.TPS = t.TPS
		return q.Published(), targets
	}
	return q, targets
}

// demand returns the requests/s that all replicas have to serve together.
func (r Rules) demand(l Load, t Target) float64 {
	switch {
	case t.TPS == 0:
		return l.ArrivalRate
	case r == Published:
		return t.TPS / l.OutputTokens
	}
	return max(l.ArrivalRate, t.TPS/l.OutputTokens)
}

// idle returns TTFT and ITL in ms of a replica without load.
func (r Rules) idle(q analyzer.QueueAnalyzer) (ttft, itl float64, err error) {
	if r == Published {
		return q.Published().Idle()
	}
	m, err := q.Analyze(0)
	return m.TTFT, m.ITL, err
}
