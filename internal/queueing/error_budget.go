package queueing

import (
	"fmt"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// spend is the part by which a replica is given more for each hour of error budget that is
	// left. It is slow: a correction faster than the start-up of replicas swings.
	spend = 0.15
	// repay is the part by which a replica is given less for each hour that is overdrawn. It is
	// fast: one replica too many costs its price, one too few costs the objective.
	repay = 1
	// allowanceLeast and allowanceMost limit the allowance.
	allowanceLeast, allowanceMost = 0.7, 1.5
)

// allowance returns the factor on the rate that a replica serves within the objective by its
// profile, by the error budget, and in words why. The objective asks for a share of the requests,
// and no queueing model knows which load attains it: prompts come in bursts, replicas start late,
// and profiles are of other requests. Measured attainment shows it. While more requests meet the
// objective than are asked for, a model can do with fewer replicas,
//
//	allowance = e^(0.15 left),  left = hours (1 - missed / (1 - share)), at least 0.7, at most 1.5
//
// and e^left where the budget is overdrawn. The allowance grows as long as more requests meet the
// objective than are asked for, so that in the long run the share is met and no more is paid for.
func allowance(b memory.Budget, o scaling.Objective) (factor float64, why string) {
	attained, known := b.Attainment()
	if !known {
		return 1, ""
	}
	left, rate := b.Left(o), spend
	if left < 0 {
		rate = repay
	}
	factor = min(allowanceMost, max(allowanceLeast, math.Exp(rate*left)))
	return factor, fmt.Sprintf("; %.1f %% of the requests met the objectives lately, %g %% are to, so a replica is given %.2f times what its profile promises",
		100*attained, 100*o.Share(), factor)
}

// surplusFrom is the allowance above which there is a surplus.
const surplusFrom = 1.15

// Surplus returns by how much the limits beside the queueing model, as that of the KV caches, may be
// exceeded for a moment, 1 to 1.7: the square of the allowance, as far as it is beyond what an
// hour without a miss gives. It is 1 where attainment is unknown.
func Surplus(b memory.Budget, o scaling.Objective) float64 {
	factor, _ := allowance(b, o)
	return math.Pow(max(1, factor/surplusFrom), 2)
}

// allow multiplies the rates by factor, up to the greatest part of the throughput of full batches.
// A variant that cannot meet the objectives is not given more.
func allow(sized []sizing, factor float64) {
	for i, s := range sized {
		switch {
		case s.rate <= 0 || s.infeasible != nil || !s.usable:
		case factor > 1:
			sized[i].rate = max(s.rate, min(s.rate*factor, fullest*s.most))
		default:
			sized[i].rate = s.rate * factor
		}
	}
}
