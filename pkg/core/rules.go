package core

import "github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"

// Rules are the rules by which a replica is sized.
type Rules int

const (
	// Correct follows the models. The demand is the greater of the load and the TPS target. Without
	// load, the TTFT is that of a lone request with its input tokens.
	Correct Rules = iota
	// Published keeps the simplifications of the published versions, so that old numbers stay
	// comparable. A TPS target of any value replaces the load as the demand and reduces the
	// greatest rate by a tenth. Without load, the TTFT ignores the input tokens. A queue of
	// capacity 1 is an error. See analyzer.Published for the others.
	Published
)

// replica is one replica as the rules see it.
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
