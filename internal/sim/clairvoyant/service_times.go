package clairvoyant

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// serviceTimes computes the time that a request takes of a replica of one variant, if requests are packed as
// densely as the objectives and the KV cache allow.
type serviceTimes struct {
	profile serving.Profile
	slo     sim.SLO
	prefix  sim.Prefix
	cache   float64 // tokens of the KV cache
}

// serviceTimesOf returns the service times of a model's variants. A variant with replicas that no profile describes is
// an error.
func serviceTimesOf(m sim.Model) ([]serviceTimes, error) {
	out := make([]serviceTimes, len(m.Variants))
	for i, v := range m.Variants {
		if v.Replica != nil {
			return nil, fmt.Errorf("clairvoyant: variant %s of model %s makes its replicas itself: want one that has a profile only", v.Spec.Key, m.Key)
		}
		out[i] = serviceTimes{profile: v.Profile, slo: m.SLO, prefix: m.Prefix, cache: float64(v.Profile.Blocks() * v.Profile.BlockSize)}
	}
	return out, nil
}

// servable reports whether a request meets its objectives on a replica of its own that finds all of
// a shared prefix in its cache.
func (l *serviceTimes) servable(r workload.Request) bool {
	const slack = 1e-6 // steps are rounded to nanoseconds
	p := &l.profile
	tokens := float64(r.InputTokens)
	if l.prefix.Share > 0 {
		tokens *= 1 - l.prefix.Part
	}
	return r.OutputTokens <= p.MaxOutput(r.InputTokens) &&
		(l.slo.TTFT == 0 || p.Prefill(tokens) <= l.slo.TTFT*(1+slack)) &&
		(l.slo.ITL == 0 || r.OutputTokens == 1 || p.AlphaMS+p.BetaMS <= l.slo.ITL*(1+slack))
}

// prefill returns the replica time of a prompt in ms, less the mean part that the cache has.
func (l *serviceTimes) prefill(r workload.Request) float64 {
	p := &l.profile
	return p.DeltaMS*float64(r.InputTokens)*(1-l.prefix.Share*l.prefix.Part) + p.GammaMS/float64(p.MaxBatchSize)
}

// decode returns the replica time of the tokens after the first in ms: beta for each, and a share
// of alpha for each step. The share is the largest of 1/batch size, 1/(requests that the ITL
// objective lets run at once), and the part of the KV cache that the request holds.
func (l *serviceTimes) decode(r workload.Request) float64 {
	p := &l.profile
	steps := float64(r.OutputTokens - 1)
	share := 1 / float64(max(1, p.MaxBatchSize))
	if room := l.slo.ITL - p.AlphaMS; l.slo.ITL > 0 && room > 0 {
		share = max(share, p.BetaMS/room)
	}
	share = max(share, (float64(r.InputTokens)+float64(r.OutputTokens)/2)/l.cache)
	return steps * (p.BetaMS + p.AlphaMS*share)
}

// step returns the time of a decoding step in ms: the ITL objective, or the step of a full batch if
// that is shorter.
func (l *serviceTimes) step() float64 {
	full := l.profile.AlphaMS + l.profile.BetaMS*float64(l.profile.MaxBatchSize)
	if l.slo.ITL > 0 {
		return min(full, l.slo.ITL)
	}
	return full
}

func millis(ms float64) time.Duration { return time.Duration(math.Ceil(ms * 1e6)) }
