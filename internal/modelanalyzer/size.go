package modelanalyzer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// defaultBatch is the batch of a profile that names none: the default of vLLM's
// --max-num-seqs.
const defaultBatch = 256

// sizing is what one replica of a variant serves.
type sizing struct {
	variant    scaling.Variant
	queue      analyzer.QueueAnalyzer // usable where the profile is and there is load
	usable     bool
	rate       float64 // requests/s within the objectives, 0 where none or not known
	source     string
	infeasible *scaling.Infeasible
}

// replicas returns how many of the variant serve and how many there are to be.
func (s sizing) replicas() (ready, current float64) {
	if !s.variant.Replicas.Observed {
		return 0, 0
	}
	return float64(s.variant.Replicas.Ready), float64(s.variant.Replicas.Current)
}

// fault is why nothing can be said about a model; its zero value is none.
type fault struct {
	reason     scaling.Reason
	detail     string
	infeasible []scaling.Infeasible
}

// sizeAll sizes every variant. It fails where a variant that runs has no usable
// profile, since the part of the load that it takes is then unknown, and where no
// variant can serve within the objectives.
func sizeAll(variants []scaling.Variant, load load, objective scaling.Objective, options Options) ([]sizing, fault) {
	out := make([]sizing, 0, len(variants))
	var missing []string
	running, serving := false, false
	var infeasible []scaling.Infeasible
	for _, v := range variants {
		if !v.Profile.Usable() {
			why := "has none"
			if v.Profile.Problem != "" {
				why = v.Profile.Problem
			}
			missing = append(missing, v.Key.Name+" "+why)
			running = running || v.Replicas.Current > 0
		}
		s := size(v, load, objective, options)
		if s.infeasible != nil {
			infeasible = append(infeasible, *s.infeasible)
		}
		serving = serving || s.rate > 0 || s.usable && load.none()
		out = append(out, s)
	}
	switch {
	case running || len(missing) == len(variants):
		return nil, fault{scaling.ReasonProfileMissing, "no profile to size with: " + strings.Join(missing, "; "), nil}
	case !serving && len(infeasible) > 0:
		return nil, fault{scaling.ReasonObjectiveInfeasible, "no variant meets the objectives, not even without other load: " + describe(infeasible), infeasible}
	case !serving:
		return nil, fault{scaling.ReasonProfileMissing, "no variant can be sized: " + sources(out), nil}
	}
	return out, fault{}
}

// size finds the greatest rate of one replica of v.
func size(v scaling.Variant, load load, objective scaling.Objective, options Options) sizing {
	s := sizing{variant: v, usable: v.Profile.Usable()}
	switch {
	case !s.usable:
		s.source = "no usable profile"
		return s
	case load.none():
		s.source = "no requests to size with"
		return s
	}
	most := batch(v.Profile)
	queue, err := analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: most, MaxQueue: analyzer.QueuePerBatch * most,
		Service: analyzer.FourParameter{Alpha: v.Profile.Alpha, Beta: v.Profile.Beta, Gamma: v.Profile.Gamma, Delta: v.Profile.Delta},
		Size:    analyzer.RequestSize{InputTokens: load.input, OutputTokens: load.output},
	})
	if err != nil {
		s.usable, s.source = false, err.Error()
		return s
	}
	s.queue = queue
	sized, err := queue.Size(analyzer.Targets{
		TTFT: objective.TTFT, TTFTPercentile: options.TTFTPercentile, ITL: objective.ITL, ITLPercentile: options.ITLPercentile,
	})
	var target *analyzer.TargetError
	switch {
	case errors.As(err, &target):
		s.infeasible = &scaling.Infeasible{Variant: v.Key, Target: target.Target, Wanted: target.Wanted, Best: target.Best}
		s.source = "cannot meet the objectives: " + describe([]scaling.Infeasible{*s.infeasible})
	case err != nil:
		s.usable, s.source = false, err.Error()
	default:
		s.rate, s.source = sized.Rate, binding(sized, objective, options)
	}
	return s
}

// batch is the most requests that a replica computes together.
func batch(p scaling.Profile) int {
	if p.MaxBatchSize <= 0 {
		return defaultBatch
	}
	return p.MaxBatchSize
}

// binding says which objective limits the rate.
func binding(s analyzer.Sizing, objective scaling.Objective, options Options) string {
	name, wanted, p := "TTFT", objective.TTFT, options.TTFTPercentile
	if objective.TTFT <= 0 || objective.ITL > 0 && s.RateITL < s.RateTTFT {
		name, wanted, p = "ITL", objective.ITL, options.ITLPercentile
	}
	if s.SearchTTFT.Ending != analyzer.Converged && s.SearchITL.Ending != analyzer.Converged {
		return "the size of the batch limits the rate, no objective does"
	}
	return fmt.Sprintf("%s of %g ms at %s limits the rate", name, wanted, share(p))
}

// share names a percentile.
func share(p float64) string {
	if p == 0 {
		return "the mean"
	}
	return fmt.Sprintf("percentile %g", p)
}

// describe names what cannot be met, in the order given.
func describe(list []scaling.Infeasible) string {
	out := make([]string, 0, len(list))
	for _, i := range list {
		out = append(out, fmt.Sprintf("%s has %s of %.3g ms at best, %.3g ms is wanted", i.Variant.Name, i.Target, i.Best, i.Wanted))
	}
	return strings.Join(out, "; ")
}

// sources lists why variants cannot be sized.
func sources(list []sizing) string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, s.variant.Key.Name+": "+s.source)
	}
	return strings.Join(out, "; ")
}
