package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Input is the input of the decision about one model.
type Input struct {
	Snapshot scaling.Snapshot
	History  memory.History
	Settings settings.Model // the Pacing is not read here
	Interval time.Duration  // until the next cycle; 0 is unknown and counts as the Snapshot's window
	// Shared holds what other namespaces measured of replicas like those of each variant; see
	// ShareProfiles of the Settings.
	Shared map[scaling.VariantKey]memory.Shared
}

// Outcome is the decision about one model, and the state to remember.
type Outcome struct {
	// Analyses has one entry for every analyzer of the engine, the one that decided first.
	Analyses  []scaling.Analysis
	Decisions []scaling.Decision                // sorted by Variant
	Votes     *optimizer.Votes                  // the input of optimizer.Cover, nil under engine Published
	Informed  []memory.Informed                 // of the model, sorted by Analyzer
	Backlog   memory.Backlog                    // of the model
	Traffic   memory.Traffic                    // of the model
	Peaks     memory.Peaks                      // of the model
	Surplus   float64                           // part of the Ready replicas that no demand of the last hour needed, in [0, 1)
	Fits      map[scaling.VariantKey]memory.Fit // of the variants
	// Capacity is the capacity of the variants where tokens were counted, else nil.
	Capacity map[scaling.VariantKey]memory.TokenCapacity
}

// Decide decides about one model. It is pure, and the order of its input does not matter.
func Decide(in Input) Outcome {
	p, past := newPanel(in)
	p.analyze()
	live := recall(in, past.Informed, p.analyses)
	out := p.decide(p.vote(live))
	out.Informed, out.Backlog, out.Capacity = live.remember(), p.backlog, p.capacity
	out.Traffic, out.Fits, out.Peaks = p.memory.Traffic, p.fits, past.Peaks
	if foremost := out.Analyses[0]; foremost.Signal != scaling.Unknown {
		out.Peaks = past.Peaks.Then(foremost.Demand, foremost.Unit, in.Snapshot.At)
		if !moved(in) {
			out.Surplus = surplus(foremost, out.Peaks)
		}
	}
	withRole(out.Analyses, in.Snapshot.Role)
	return out
}

// Analyses returns the analyses that Decide would decide by, at least one, the foremost first.
func Analyses(in Input) []scaling.Analysis {
	p, past := newPanel(in)
	p.analyze()
	out := p.vote(recall(in, past.Informed, p.analyses)).by
	withRole(out, in.Snapshot.Role)
	return out
}

func withRole(analyses []scaling.Analysis, role scaling.Role) {
	for i := range analyses {
		analyses[i].Role = role
	}
}

// panel holds the analyzers of one model with their analyses.
type panel struct {
	in       Input
	analyses []scaling.Analysis // the queueing one first, where there is one
	capacity map[scaling.VariantKey]memory.TokenCapacity
	backlog  memory.Backlog
	memory   queueing.Memory
	fits     map[scaling.VariantKey]memory.Fit
	moved    []scaling.MovedProfile // sorted by Variant
	guessed  bool                   // no profile is stated, and none is learned
}

// newPanel returns the panel of a model without analyses, and the remembered past of the model.
func newPanel(in Input) (panel, memory.ModelPast) {
	past := in.History.Model(in.Snapshot.Variants)
	waiting := backlog(in, past.Backlog)
	p := panel{in: in, backlog: waiting, memory: remembered(in, past.Traffic, waiting)}
	p.learn()
	return p, past
}

// Expect returns the expected rate and latencies of a replica of each variant, by the profiles that
// Decide sizes with; nil where the engine does not size to objectives, or where the objective, the
// load or the profiles are unknown.
func Expect(in Input) []queueing.Expected {
	p, _ := newPanel(in)
	if !p.sizes() {
		return nil
	}
	return queueing.Expect(p.in.Snapshot, in.Settings.Objective, in.Settings.Sizing, p.memory)
}

// learn updates the fits with the measured speed of the replicas. A variant without a stated
// profile gets a learned one once enough is known, and until then one that another namespace
// shares, or a computed one.
func (p *panel) learn() {
	snap := p.in.Snapshot
	p.fits = make(map[scaling.VariantKey]memory.Fit, len(snap.Variants))
	for _, v := range snap.Variants {
		fit := profile.Learn(p.in.History[v.Key].Fit, snap, v)
		fit.Shared = p.in.Shared[v.Key]
		p.fits[v.Key] = fit
	}
	p.guessed = !slices.ContainsFunc(snap.Variants, func(v scaling.Variant) bool {
		if v.Profile.Usable() {
			return true
		}
		refuted, _, _ := profile.Refuted(p.fits[v.Key])
		return refuted == "" && p.fits[v.Key].Informed()
	})
	prompt, answer, known := profile.Lengths(p.memory.Traffic.Means, snap.Load)
	if !known || !p.sizes() {
		return
	}
	if learned, known := profile.Of(snap.Variants, p.fits, prompt, answer, p.in.Settings.Objective.ITL); known {
		p.in.Snapshot.Variants, p.moved = learned.Variants, learned.Moved
		slices.SortFunc(p.moved, func(a, b scaling.MovedProfile) int { return a.Variant.Compare(b.Variant) })
	}
}

// unusedProfiles names the variants whose learned profile is not used, and why; "" for none.
func (p *panel) unusedProfiles() (said string) {
	for _, v := range p.in.Snapshot.Variants {
		if what, why, numbers := profile.Refuted(p.fits[v.Key]); what != "" {
			said += strings.TrimSuffix(fmt.Sprintf("; what was learned of %s is not used: %s: %s", v.Key.Name, why, numbers), ": ")
		}
	}
	return said
}

// sizes reports whether the engine sizes replicas by their profiles.
func (p *panel) sizes() bool {
	return p.in.Settings.Engine == settings.Queueing || p.in.Settings.Engine == settings.Hybrid
}

// learning reports whether the profile of a serving variant is about to be learned.
func (p *panel) learning() bool {
	return slices.ContainsFunc(p.in.Snapshot.Variants, func(v scaling.Variant) bool {
		stated := v.Profile.Usable() && !profile.Believed(v.Profile)
		return !stated && !p.fits[v.Key].Informed() && slices.ContainsFunc(p.in.Snapshot.Replicas, func(r scaling.ReplicaSample) bool {
			return r.Variant == v.Key && profile.Teaches(r)
		})
	})
}

// unreduced returns an analysis that removes no replica while a profile is about to be
// learned: a process that has just started lacks the profiles that the previous process had
// learned and decided by.
func (p *panel) unreduced(a scaling.Analysis) scaling.Analysis {
	if a.Signal == scaling.Shrink && p.learning() {
		a.Signal, a.Reason = scaling.Steady, scaling.ReasonSteady
		a.Detail += "; not reduced: the speed of a replica is being learned"
	}
	return a
}

// doubled returns an analysis that asks for at most twice the Ready replicas: a computed profile
// may be wrong by more than that, and a few replicas give measurements before more of them are
// Ready.
func doubled(a scaling.Analysis) scaling.Analysis {
	if most := 2 * a.Supply; most > 0 && a.Demand > most {
		a.Demand = most
		a.Detail += fmt.Sprintf("; no more than twice the Ready replicas are asked for, %.3g: the speed of a replica is not learned yet", most)
		if a.Signal == scaling.Grow && a.Demand <= a.Anticipated {
			a.Signal, a.Reason = scaling.Steady, scaling.ReasonSteady
		}
	}
	return a
}

// analyze adds the analyses of all analyzers of the engine.
func (p *panel) analyze() {
	if p.sizes() {
		a := queueing.Analyze(p.in.Snapshot, p.in.Settings.Objective, p.in.Settings.Sizing, p.memory)
		if p.guessed {
			a = doubled(p.unreduced(a))
		}
		a.Detail += p.unusedProfiles()
		a.Moved = p.moved
		p.add(a)
		p.memory.Traffic = queueing.Learn(p.memory.Traffic, p.in.Snapshot, p.in.Settings.Objective, a)
	}
	p.addSaturation()
}

func (p *panel) add(a scaling.Analysis) { p.analyses = append(p.analyses, a) }

// addSaturation adds the analyses of saturation: by the published rule for engine Published;
// otherwise by tokens where the Method says so, and always by spare capacity, which decides while
// tokens cannot be counted.
func (p *panel) addSaturation() {
	if p.in.Settings.Engine == settings.Published {
		p.add(saturation.Published(p.in.Snapshot, p.in.Settings.Saturation))
		return
	}
	if p.in.Settings.Method == settings.Tokens {
		snap, why := p.in.Snapshot, ""
		if p.in.Settings.Engine == settings.Hybrid {
			surplus := queueing.Surplus(p.memory.Traffic.Budget, p.in.Settings.Objective)
			snap, why = saturation.Eased(snap, p.in.Settings.Tokens, p.in.Interval, surplus)
		}
		view := saturation.Tokens(snap, p.in.Settings.Tokens, p.in.History, p.in.Interval)
		a := view.Analysis
		a.Detail += why
		if !p.sizes() || p.analyses[0].Signal == scaling.Unknown {
			a = saturation.Relieved(a, p.in.Snapshot, p.in.Settings.Tokens, p.in.Interval)
		}
		p.add(a)
		p.capacity = view.Capacity
	}
	snap := p.in.Snapshot
	if p.in.Settings.Engine == settings.Hybrid && p.memory.Traffic.Budget.Left(p.in.Settings.Objective) > 0 {
		snap = now(snap)
	}
	p.add(saturation.Analyze(snap, p.in.Settings.Saturation, p.in.Interval))
}

// now returns a Snapshot with the utilization of replicas at the last scrape instead of the
// maximum over the window. A short peak makes few requests miss their objective. As long as
// enough requests meet it, such a peak orders no replica.
func now(snap scaling.Snapshot) scaling.Snapshot {
	snap.Replicas = slices.Clone(snap.Replicas)
	for i, r := range snap.Replicas {
		if r.KVCacheUsageNow.Known() {
			snap.Replicas[i].KVCacheUsage = r.KVCacheUsageNow
		}
		if r.QueueLengthNow.Known() {
			snap.Replicas[i].QueueLength = r.QueueLengthNow
		}
	}
	return snap
}

// vote is what a decision is made by.
type vote struct {
	by     []scaling.Analysis // at least one, the foremost first
	silent *scaling.Analysis  // of an analyzer that the engine names and that has no vote; nil for none
	why    string             // what silent does not do, and what decides instead
}

// vote picks the analyses that decide. Engine Hybrid uses all live analyzers; the other engines use
// the first live one.
func (p *panel) vote(live liveness) vote {
	saturated := p.saturated(live)
	if !p.sizes() {
		return vote{by: []scaling.Analysis{saturated}}
	}
	queueing := p.analyses[0]
	sized := live.live(queueing.Analyzer)
	switch {
	case sized && p.in.Settings.Engine == settings.Queueing:
		return vote{by: []scaling.Analysis{queueing}}
	case sized && live.live(saturated.Analyzer):
		return vote{by: []scaling.Analysis{queueing, p.sized(saturated, queueing)}}
	case sized:
		return vote{by: []scaling.Analysis{queueing}, silent: &saturated, why: "has no vote"}
	}
	does := "decides alone"
	if p.in.Settings.Engine == settings.Queueing {
		does = "decides"
	}
	if queueing.Reason == scaling.ReasonProfileMissing {
		saturated = p.unreduced(saturated)
	}
	return vote{by: []scaling.Analysis{saturated}, silent: &queueing, why: fmt.Sprintf("has no vote, %s %s", saturated.Analyzer, does)}
}

// decide decides by the published rule for engine Published, otherwise with optimizer.Cover: the
// cheapest replicas that carry every demand.
func (p *panel) decide(v vote) Outcome {
	if p.in.Settings.Engine == settings.Published {
		return Outcome{
			Analyses:  p.order(v.by...),
			Decisions: optimizer.Decide(optimizer.Input{Snapshot: p.in.Snapshot, Analysis: v.by[0], History: p.in.History}),
		}
	}
	by := optimizer.Votes{Snapshot: p.in.Snapshot, Analyses: v.by, History: p.in.History, Draining: p.backlog.Falling, Attained: v.by[0].Analyzer == queueing.Name}
	out := Outcome{Analyses: p.order(v.by...), Decisions: optimizer.Cover(by), Votes: &by}
	if v.silent != nil {
		noted(out.Decisions, *v.silent, v.why)
	}
	return out
}

// saturated returns the analysis of saturation: by tokens where the Method says so and it is live,
// otherwise by spare capacity.
func (p *panel) saturated(live liveness) scaling.Analysis {
	spare := p.analyses[len(p.analyses)-1]
	if p.in.Settings.Method != settings.Tokens || p.in.Settings.Engine == settings.Published {
		return spare
	}
	if tokens := p.analyses[len(p.analyses)-2]; live.live(tokens.Analyzer) {
		return tokens
	}
	return spare
}

// sized returns the analysis of saturation with the capacity of replicas in proportion to their
// rate within the objectives: for variants without readings, since the load is measured by the
// speed of the others; by spare capacity for all variants, since a replica that is twice as fast
// carries twice as much at the same utilization.
func (p *panel) sized(saturated, queueing scaling.Analysis) scaling.Analysis {
	if queueing.Signal == scaling.Unknown {
		return saturated
	}
	s := served{reports: map[scaling.VariantKey]float64{}, rate: map[scaling.VariantKey]float64{}}
	for _, r := range p.in.Snapshot.Replicas {
		if r.Reports() {
			s.reports[r.Variant]++
		}
	}
	for _, c := range queueing.Variants {
		s.rate[c.Variant] = c.PerReplica
	}
	s.all = saturated.Analyzer == saturation.Name
	for v := range s.reports {
		s.all = s.all && s.rate[v] > 0
	}
	out := saturated
	out.Variants = slices.Clone(saturated.Variants)
	var carries []scaling.Limit
	for _, c := range saturated.Variants {
		carries = append(carries, scaling.Limit{Variant: c.Variant, PerReplica: c.PerReplica})
	}
	for i, c := range out.Variants {
		if rate, ok := s.inProportion(c.Variant, carries); ok {
			out.Variants[i].PerReplica = rate
			out.Variants[i].Source = "in proportion to what a replica serves within the objectives"
		}
	}
	out.Ceilings = slices.Clone(saturated.Ceilings)
	for i, c := range out.Ceilings {
		out.Ceilings[i].Variants = slices.Clone(c.Variants)
		for k, l := range c.Variants {
			if rate, ok := s.inProportion(l.Variant, c.Variants); ok && l.PerReplica > 0 { // 0 is unknown
				out.Ceilings[i].Variants[k].PerReplica = rate
			}
		}
	}
	return out
}

// served is the load that replicas serve within the objectives.
type served struct {
	reports map[scaling.VariantKey]float64 // replicas that report their load
	rate    map[scaling.VariantKey]float64 // requests/s of one replica
	all     bool                           // the reporting replicas are sized, too
}

// inProportion returns the capacity of a replica of v in proportion to its rate, so that the
// reporting replicas together have the capacity that limits give them. It returns false where that
// is unknown, or where v itself reports and all is not set.
func (s served) inProportion(v scaling.VariantKey, limits []scaling.Limit) (float64, bool) {
	carried, serve := 0.0, 0.0
	for _, l := range limits {
		if l.PerReplica > 0 {
			carried += s.reports[l.Variant] * l.PerReplica
			serve += s.reports[l.Variant] * s.rate[l.Variant]
		}
	}
	if carried <= 0 || serve <= 0 || s.reports[v] > 0 && !s.all {
		return 0, false
	}
	return s.rate[v] * carried / serve, true
}

// noted adds to every decision that an analyzer was not used, and why.
func noted(decisions []scaling.Decision, silent scaling.Analysis, what string) {
	for i, d := range decisions {
		if len(d.Steps) == 0 {
			continue
		}
		steps := append([]scaling.Step{}, d.Steps...)
		steps[0].Detail += fmt.Sprintf("; %s %s (%s: %s)", silent.Analyzer, what, silent.Reason, silent.Detail)
		decisions[i].Steps = steps
	}
}

// order lists the analyses, first those that decided. It leaves out spare capacity where tokens
// decided.
func (p *panel) order(first ...scaling.Analysis) []scaling.Analysis {
	out := append([]scaling.Analysis{}, first...)
	for _, a := range p.analyses {
		decided := false
		for _, f := range first {
			decided = decided || f.Analyzer == a.Analyzer
		}
		if !decided && (a.Analyzer != saturation.Name || p.in.Settings.Method != settings.Tokens) {
			out = append(out, a)
		}
	}
	return out
}
