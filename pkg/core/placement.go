package core

import (
	"errors"
	"fmt"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// Placement is one server on one accelerator.
type Placement struct {
	Server      Server
	Target      Target // of the server's model in its class
	Accelerator Accelerator
	Profile     Profile // of the server's model on the accelerator
}

// maxReplicas is the largest number of replicas, beyond any fleet. A larger need is an error.
const maxReplicas = 1_000_000

// maxBatchLimit is the largest batch. The tables of the queueing model grow with
// it, and no replica computes a million requests at once.
const maxBatchLimit = 1 << 20

// errUnknownLoad is the reason why a server without a known load has no allocation.
var errUnknownLoad = errors.New("the load is not known")

// InfeasibleError says why a server can have no allocation on an accelerator.
type InfeasibleError struct {
	Server, Accelerator string
	Err                 error
}

// Error returns a message with the server, the accelerator and the reason.
func (e *InfeasibleError) Error() string {
	return fmt.Sprintf("server %q on accelerator %q: %v", e.Server, e.Accelerator, e.Err)
}

// Unwrap returns the reason: an *analyzer.TargetError where an objective is out
// of reach, an *analyzer.InputError where a number cannot be computed with.
func (e *InfeasibleError) Unwrap() error { return e.Err }

// CreateAllocation returns the fewest replicas of a placement that carry the load
// within the objectives, what they cost and which latency they give.
//
// Without load (no arrivals, or no output tokens) it returns the server's minimum; with a minimum
// of 0 that is an allocation without replicas that keeps the accelerator's name. Errors are
// *InfeasibleError.
func CreateAllocation(p Placement, rules Rules) (Allocation, error) {
	return p.valued(p.create(rules))
}

// Predict returns the allocation, with cost and latency, of the given number of replicas, 1 or
// more, that share rate requests/s, 0 or more, evenly. Errors are *InfeasibleError. A rate above
// the range of the replicas is an error.
func Predict(p Placement, rules Rules, replicas int, rate float64) (Allocation, error) {
	return p.valued(p.predict(rules, replicas, rate))
}

// valued returns a with its value, or err as an *InfeasibleError.
func (p Placement) valued(a Allocation, err error) (Allocation, error) {
	if err != nil {
		return Allocation{}, &InfeasibleError{Server: p.Server.Name, Accelerator: p.Accelerator.Name, Err: err}
	}
	a.Value = p.Server.Current.TransitionPenalty(a)
	return a, nil
}

func (p Placement) create(rules Rules) (Allocation, error) {
	if err := p.validate(); err != nil {
		return Allocation{}, err
	}
	load := p.Server.Load
	if load.Unknown {
		return Allocation{}, errUnknownLoad
	}
	if !(load.ArrivalRate >= 0 && load.OutputTokens >= 0) { // NaN included
		return Allocation{}, fmt.Errorf("a load of %g requests/s with %g output tokens: want 0 or more of both",
			load.ArrivalRate, load.OutputTokens)
	}
	if load.none() {
		return p.idle(rules, p.Server.MinReplicas)
	}
	view, rate, err := p.sized(rules)
	if err != nil {
		return Allocation{}, err
	}
	demand := rules.demand(load, p.Target)
	needed := math.Ceil(demand / rate)
	if !(needed <= maxReplicas) { // NaN included
		return Allocation{}, fmt.Errorf("%g requests/s take %g replicas of %g requests/s each; at most %d are planned",
			demand, needed, rate, maxReplicas)
	}
	a := p.allocation(max(int(needed), p.Server.MinReplicas))
	a.MaxRate, a.Demand = rate, demand
	return p.withLatency(a, view, demand/float64(a.Replicas))
}

// idle returns the allocation of replicas without load.
func (p Placement) idle(rules Rules, replicas int) (Allocation, error) {
	a := p.allocation(replicas)
	if a.Replicas == 0 {
		return a, nil
	}
	if p.Profile.Capacity > 0 {
		a.MaxRate = p.Profile.Capacity
		return a, nil
	}
	q, err := p.queue()
	if err != nil {
		return Allocation{}, err
	}
	if a.TTFT, a.ITL, err = rules.idle(q); err != nil {
		return Allocation{}, err
	}
	a.MaxBatch = p.batchLimit()
	// Without load there is no size of request to find a rate for. The published rate is that of
	// full batches in which every request prefills alone and decodes once.
	full := p.Profile.Service.Decode(float64(a.MaxBatch), p.size())
	a.MaxRate = 1000 * float64(a.MaxBatch) / (a.TTFT + full)
	return a, nil
}

// sized returns one replica as the rules see it, nil where only its capacity is known, and its rate
// in requests/s within the objectives.
func (p Placement) sized(rules Rules) (replica, float64, error) {
	if p.Profile.Capacity > 0 {
		return nil, p.Profile.Capacity, nil
	}
	q, err := p.queue()
	if err != nil {
		return nil, 0, err
	}
	view, targets := rules.view(q, p.Target)
	sizing, err := view.Size(targets)
	return view, sizing.Metrics.Throughput, err
}

func (p Placement) predict(rules Rules, replicas int, rate float64) (Allocation, error) {
	if err := p.validate(); err != nil {
		return Allocation{}, err
	}
	if replicas < 1 || replicas > maxReplicas {
		return Allocation{}, fmt.Errorf("%d replicas: want 1 to %d", replicas, maxReplicas)
	}
	if rate == 0 {
		return p.idle(rules, replicas)
	}
	view, most, err := p.sized(rules)
	if err != nil {
		return Allocation{}, err
	}
	a := p.allocation(replicas)
	a.MaxRate, a.Demand = most, rate
	return p.withLatency(a, view, rate/float64(replicas))
}

// allocation returns the allocation of replicas without their latency.
func (p Placement) allocation(replicas int) Allocation {
	count := max(p.Profile.Count, 1)
	return Allocation{
		Accelerator: p.Accelerator.Name,
		Type:        p.Accelerator.stockType(),
		Units:       count * max(p.Accelerator.Multiplicity, 1),
		Replicas:    replicas,
		Wanted:      replicas,
		Cost:        p.Accelerator.Cost * float64(count) * float64(replicas),
	}
}

// withLatency adds the batch of a replica, and its latency and utilization at rate requests/s.
func (p Placement) withLatency(a Allocation, view replica, rate float64) (Allocation, error) {
	if view == nil {
		return a, nil
	}
	a.MaxBatch = p.batchLimit()
	m, err := view.Analyze(rate)
	if err != nil {
		return Allocation{}, err
	}
	a.ITL, a.TTFT, a.Utilization = m.ITL, m.TTFT, m.Utilization
	return a, nil
}

// queue returns the queueing model of one replica.
func (p Placement) queue() (analyzer.QueueAnalyzer, error) {
	n := p.batchLimit()
	if n > maxBatchLimit {
		return analyzer.QueueAnalyzer{}, fmt.Errorf("batches of %d requests: want at most %d", n, maxBatchLimit)
	}
	return analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: n, MaxQueue: analyzer.QueuePerBatch * n, Service: p.Profile.Service, Size: p.size(),
	})
}

// batchLimit returns the number of requests that fit in a batch. Without load it is MaxBatch of the
// profile.
func (p Placement) batchLimit() int {
	switch {
	case p.Server.MaxBatch > 0:
		return p.Server.MaxBatch
	case p.Server.Load.none():
		return max(p.Profile.MaxBatch, 1)
	}
	return p.Profile.BatchLimit(p.Server.Load.OutputTokens)
}

// size returns the mean size of a request, with at least one output token.
func (p Placement) size() analyzer.RequestSize {
	l := p.Server.Load
	if l.OutputTokens == 0 {
		l.OutputTokens = 1
	}
	return analyzer.RequestSize{InputTokens: l.InputTokens, OutputTokens: l.OutputTokens}
}
