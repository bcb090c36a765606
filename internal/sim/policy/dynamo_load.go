package policy

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// DynamoLoadParams are the parameters of Dynamo's load-based planner in its easy mode.
type DynamoLoadParams struct {
	// Up and Down are thresholds for the share of the KV cache that running and waiting requests
	// need; Down < Up. The target "latency" has 0.4 and 0.1.
	Up, Down float64
	Interval time.Duration // between decisions, >= 1 s
	MaxGPUs  int           // as in DynamoParams
}

// DefaultDynamoLoadParams returns the target "throughput": 1.0 and 0.6 every 5 s.
func DefaultDynamoLoadParams() DynamoLoadParams {
	return DynamoLoadParams{Up: 1, Down: 0.6, Interval: 5 * time.Second}
}

func (p *DynamoLoadParams) fields() []field {
	return []field{
		number("up", "KV cache needed above which one replica is added", &p.Up, 0.01, 10, "0.65", "0.7", "0.8", "0.9", "1"),
		number("down", "KV cache needed below which one is removed", &p.Down, 0, 10, "0.3", "0.6"),
		span("interval", "time between decisions", &p.Interval, time.Second),
		count("max-gpus", "accelerators of one variant, 0 for no limit", &p.MaxGPUs, 0),
	}
}

type dynamoLoad struct{ p DynamoLoadParams }

// NewDynamoLoad returns a rule that adds a replica if any replica needs more than Up of its KV
// cache for running and waiting requests, and removes one if all need less than Down. It holds
// while replicas start, or one does not report.
func NewDynamoLoad(p DynamoLoadParams) (Autoscaler, error) {
	if p.Down >= p.Up {
		return nil, fmt.Errorf("policy dynamo-load: parameter down: found %v, want less than up (%v)", p.Down, p.Up)
	}
	return dynamoLoad{p}, check("dynamo-load", p.fields())
}

func (d dynamoLoad) Interval() time.Duration { return d.p.Interval }

func (d dynamoLoad) Decide(_ time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		n, why := d.decide(v)
		return budget(v, max(1, n), d.p.MaxGPUs), "Dynamo: " + why
	})
}

func (d dynamoLoad) decide(v Variant) (scaling.Replicas, string) {
	n := v.Replicas.Current
	if v.Replicas.Pending > 0 {
		return n, "hold, replicas are starting"
	}
	var reports, over, under scaling.Replicas
	var most float64
	for _, p := range v.Pods {
		if !p.Ready || !p.KVCacheUsage.Known() {
			continue
		}
		reports++
		need := p.KVCacheUsage.Value
		if v.KVTokens > 0 {
			need += p.QueuedTokens.Or(0) / v.KVTokens
		}
		most = max(most, need)
		switch {
		case need > d.p.Up:
			over++
		case need < d.p.Down:
			under++
		}
	}
	switch why := fmt.Sprintf("%d of %d replicas need more than %.2f of their KV cache, %d less than %.2f, the most %.2f",
		over, reports, d.p.Up, under, d.p.Down, most); {
	case reports == 0 || reports != v.Replicas.Ready:
		return n, fmt.Sprintf("hold, %d of %d replicas report", reports, v.Replicas.Ready)
	case over > 0:
		return n + 1, why
	case under == reports:
		return n - 1, why
	default:
		return n, why
	}
}
