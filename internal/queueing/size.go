package queueing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

const (
	// nearBest is the factor on the best possible latency to which an objective out of reach is
	// raised. The last percents before the best would take a replica for each request.
	nearBest = 1.1
	// fullest is the greatest part of the throughput of full batches that a replica is given,
	// whatever the objectives allow: beyond it, a small error of the rate makes the wait very long.
	fullest = 0.95
	// tiny stands for an objective that is not set in a ratio.
	tiny = 1e-9
)

// sizing is what one replica of a variant serves.
type sizing struct {
	variant    scaling.Variant
	queue      analyzer.QueueAnalyzer // usable where the profile is and there is load
	usable     bool
	rate       float64 // requests/s within the objectives, 0 where none or not known
	most       float64 // requests/s that full batches complete, 0 where not known
	batch      float64 // requests computed together within the ITL, 0 where not known
	fixed      bool    // whether it takes no more than it serves now
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

// fault is why a model cannot be analyzed; its zero value is none.
type fault struct {
	reason scaling.Reason
	detail string
}

// sizeAll sizes every variant. A variant that misses the objectives even without other load gets no
// new load while another variant keeps them. Where no variant keeps them, the objectives are raised to
// what the nearest one can keep. A variant without a usable profile carries what it carries now, and takes no
// more. sizeAll fails where no running variant has a usable profile, or no variant can be sized.
func sizeAll(variants []scaling.Variant, load load, objective scaling.Objective, options Options) ([]sizing, fault) {
	if f := unprofiled(variants); f != (fault{}) {
		return nil, f
	}
	out := make([]sizing, 0, len(variants))
	for _, v := range variants {
		out = append(out, size(v, load, objective, options))
	}
	candidate := func(s sizing) bool { return s.rate > 0 && !s.fixed || s.usable && load.none() }
	serving := slices.ContainsFunc(out, candidate)
	if !serving {
		objective = nearest(out, load, objective, options)
	}
	for i, s := range out {
		switch {
		case s.infeasible != nil && serving:
			out[i].fixed = true
		case s.infeasible != nil:
			out[i] = relaxed(s, load, objective, options)
		case !s.usable:
			out[i] = seen(s, load)
		}
	}
	if !slices.ContainsFunc(out, candidate) {
		return nil, fault{scaling.ReasonProfileMissing, "no variant can be sized: " + sources(out)}
	}
	return out, fault{}
}

// unprofiled returns a fault where no running variant, or no variant at all, has a usable profile.
// It names what each lacks.
func unprofiled(variants []scaling.Variant) fault {
	var missing []string
	running, profiled := false, false
	for _, v := range variants {
		if v.Profile.Usable() {
			profiled = profiled || v.Replicas.Current > 0
			continue
		}
		running = running || v.Replicas.Current > 0
		missing = append(missing, v.Key.Name+" "+cmp.Or(v.Profile.Problem, "has none"))
	}
	if running && !profiled || len(missing) == len(variants) {
		return fault{scaling.ReasonProfileMissing, "no profile to size with: " + scaling.Few(missing)}
	}
	return fault{}
}

// nearest returns the objectives that the variant which misses them least can keep.
func nearest(sized []sizing, load load, objective scaling.Objective, options Options) scaling.Objective {
	out, least := objective, math.Inf(1)
	for _, s := range sized {
		if s.infeasible == nil {
			continue
		}
		o := raised(s, load, objective, options)
		if far := max(o.TTFT/max(objective.TTFT, tiny), o.ITL/max(objective.ITL, tiny)); far < least {
			out, least = o, far
		}
	}
	return out
}

// raised returns the objectives, with those that a variant misses even without other load raised to a
// tenth above its best.
func raised(s sizing, load load, objective scaling.Objective, options Options) scaling.Objective {
	for range 2 { // TTFT, ITL
		if s.infeasible == nil {
			break
		}
		if s.infeasible.Target == "ITL" {
			objective.ITL = nearBest * s.infeasible.Best
		} else {
			objective.TTFT = nearBest * s.infeasible.Best
		}
		s = s.within(load, objective, options)
	}
	return objective
}

// relaxed sizes a variant that misses the objectives even without other load to raised ones. One that
// misses these, too, gets no new load.
func relaxed(s sizing, load load, to scaling.Objective, options Options) sizing {
	missed := s.infeasible
	s = s.within(load, to, options)
	if s.fixed = s.infeasible != nil; !s.fixed {
		s.source = "cannot meet the objectives (" + describe([]scaling.Infeasible{*missed}) + "), sized to a tenth above the best possible: " + s.source
	}
	s.infeasible = missed
	return s
}

// seen sizes a variant without a usable profile by what it carries now: its share of the arrival
// rate is its share of the requests in batches.
func seen(s sizing, load load) sizing {
	s.fixed = true
	ready, _ := s.replicas()
	running := load.running[s.variant.Key]
	if ready > 0 && load.inBatches > 0 {
		s.rate = load.rate * running / load.inBatches / ready
		s.most, s.batch = s.rate, running/ready
		s.source += ": what it serves now, and no more"
	}
	return s
}

// size finds the greatest rate of one replica of v.
func size(v scaling.Variant, load load, objective scaling.Objective, options Options) sizing {
	return unsized(v, load).within(load, objective, options)
}

// asStated returns the variants by their stated profiles, without a rate within the objectives. A
// sizing by the same profile is reused.
func asStated(variants []scaling.Variant, sized []sizing, load load) []sizing {
	out := make([]sizing, 0, len(variants))
	for i, v := range variants {
		s := sized[i]
		if v.Stated.Usable() {
			batch := v.Profile.MaxBatchSize
			v.Profile = v.Stated
			v.Profile.MaxBatchSize = batch
		}
		if s.variant.Profile != v.Profile {
			s = unsized(v, load)
		}
		out = append(out, s)
	}
	return out
}

// unsized returns the queueing model of one replica of v, before any objective.
func unsized(v scaling.Variant, load load) sizing {
	s := sizing{variant: v, usable: v.Profile.Usable()}
	switch {
	case !s.usable:
		s.source = "no usable profile"
		return s
	case load.none():
		s.source = "no requests to size with"
		return s
	}
	most := v.Profile.Batch()
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
	_, s.most = queue.RateRange()
	return s
}

// within finds the greatest rate of a replica within the objectives.
func (s sizing) within(load load, objective scaling.Objective, options Options) sizing {
	if s.variant.Profile.Usable() {
		s.batch = together(s.variant.Profile, objective.ITL)
	}
	if !s.usable || load.none() {
		return s
	}
	s.infeasible = nil
	objective, moved := reachable(objective, s.variant.Profile, load)
	sized, err := s.queue.Size(analyzer.Targets{
		TTFT: objective.TTFT, TTFTPercentile: options.TTFTPercentile, ITL: objective.ITL, ITLPercentile: options.ITLPercentile,
	})
	var target *analyzer.TargetError
	switch {
	case errors.As(err, &target):
		s.infeasible = &scaling.Infeasible{Variant: s.variant.Key, Target: target.Target, Wanted: target.Wanted, Best: target.Best}
		s.source = "cannot meet the objectives: " + describe([]scaling.Infeasible{*s.infeasible})
	case err != nil:
		s.usable, s.source = false, err.Error()
	case sized.Rate > fullest*s.most:
		s.rate, s.source = fullest*s.most, fmt.Sprintf("%.0f %% of what full batches complete limits the rate, the objectives allow more", 100*fullest)
	default:
		s.rate, s.source = sized.Rate, binding(sized, objective, options)+moved
	}
	if s.rate > 0 && profile.Believed(s.variant.Profile) {
		s.source += ", by " + s.variant.Profile.Source
	}
	return s
}

// reachable returns the objective, with each latency that is less than a tenth above the best of a
// replica of p without other load raised to a tenth above it; an objective below that best stays.
// It says which were raised. The last percents before the best would take a replica for each
// request.
func reachable(o scaling.Objective, p scaling.Profile, load load) (scaling.Objective, string) {
	var moved []string
	for _, l := range []struct {
		name   string
		wanted *float64
		best   float64 // ms
	}{{"TTFT", &o.TTFT, p.Gamma + p.Delta*load.input}, {"ITL", &o.ITL, p.Alpha + p.Beta}} {
		if *l.wanted >= l.best && *l.wanted < nearBest*l.best {
			moved = append(moved, fmt.Sprintf("; %s of %.3g ms is within a tenth of the best, %.3g ms", l.name, *l.wanted, l.best))
			*l.wanted = nearBest * l.best
		}
	}
	return o, strings.Join(moved, "")
}

// together returns how many requests a replica computes at once within an ITL, at least one and at
// most a full batch.
func together(p scaling.Profile, itl float64) float64 {
	most := float64(p.Batch())
	if itl <= 0 || p.Beta <= 0 {
		return most
	}
	return min(most, max(1, (itl-p.Alpha)/p.Beta))
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

// describe names the objectives that cannot be met, in the order given.
func describe(list []scaling.Infeasible) string {
	out := make([]string, 0, len(list))
	for _, i := range list {
		out = append(out, fmt.Sprintf("%s has %s of %.3g ms at best, %.3g ms is wanted", i.Variant.Name, i.Target, i.Best, i.Wanted))
	}
	return scaling.Few(out)
}

// sources names the variants with the reason why each cannot be sized.
func sources(list []sizing) string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, s.variant.Key.Name+": "+s.source)
	}
	return scaling.Few(out)
}
