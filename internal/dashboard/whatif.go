package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// mostDecided bounds the cycles of one what-if. Of more cycles, every second, third... is decided.
const mostDecided = 1000

// Settings are the changes of a what-if to each cycle; nil keeps a value.
type Settings struct {
	Namespace  string             `json:"namespace"`
	Model      string             `json:"model"`
	TTFT       *float64           `json:"ttft"`       // ms, 0 for no such objective
	ITL        *float64           `json:"itl"`        // ms, 0 for no such objective
	Attainment *float64           `json:"attainment"` // ratio, above 0 and below 1
	Min        map[string]int     `json:"min"`        // minReplicas, by namespace/name of the variant
	Cost       map[string]float64 `json:"cost"`       // per replica and hour, by namespace/name
	Interval   *float64           `json:"interval"`   // s between cycles
}

// WhatIf is the answer to /api/whatif.
type WhatIf struct {
	T   []history.Time `json:"t"`
	Old Course         `json:"old"`
	New Course         `json:"new"`
	// CostOld and CostNew are the cost of the decisions over Hours.
	CostOld       float64 `json:"costOld"`
	CostNew       float64 `json:"costNew"`
	Hours         float64 `json:"hours"`
	CyclesChanged int     `json:"cyclesChanged"` // with another decided number
	Cycles        int     `json:"cycles"`        // that were decided
	Says          string  `json:"says"`          // the assumptions
	Refused       string  `json:"refused"`       // always "": a refusal is an error
}

// Course is the decisions at the times of a WhatIf.
type Course struct {
	Cost     history.Column  `json:"cost"` // per hour, of all variants
	Variants []VariantCourse `json:"variants"`
}

// VariantCourse is the decisions for one variant.
type VariantCourse struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Desired   history.Column `json:"desired"` // replicas
}

// whatif answers /api/whatif.
func (s *Server) whatif(ctx context.Context, w http.ResponseWriter, r *http.Request) (any, error) {
	_ = http.NewResponseController(w).SetReadDeadline(s.clock.Now().Add(bodyLimit)) // a test's writer has none
	var change Settings
	if err := readJSON(r, &change); err != nil {
		return nil, err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if change.Namespace == "" || change.Model == "" {
		return nil, refused("want the members namespace and model")
	}
	if err := change.check(); err != nil {
		return nil, err
	}
	of := scaling.ModelKey{Namespace: change.Namespace, ID: change.Model}
	cycles, err := s.source.Cycles(ctx, of)
	if err != nil {
		return nil, err
	}
	if len(cycles.Refs) == 0 {
		return nil, unknown("there is no cycle to decide again: " + cycles.Says)
	}
	select {
	case s.heavy <- struct{}{}:
		defer func() { <-s.heavy }()
	case <-ctx.Done():
		return nil, &RefusalError{http.StatusServiceUnavailable, "another what-if is under way: try again when it has ended"}
	}
	return s.decideAgain(ctx, of, cycles, change)
}

// readJSON reads the body of a question.
func readJSON(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &RefusalError{http.StatusUnsupportedMediaType, "want a body of type application/json"}
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("there is more behind the object")
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return &RefusalError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", longestBody)}
	}
	return refused(fmt.Sprintf("the body is not as documented: %v", err))
}

// The bounds of the values of a what-if.
const (
	longestObjective = 24 * 60 * 60 * 1000 // ms
	largestCost      = 1e9
	shortestInterval = 1    // s, the least that the manager accepts
	longestInterval  = 3600 // s, the most that it accepts
	mostVariants     = 1000
)

// check refuses values that no setting accepts.
func (c Settings) check() error {
	for name, v := range map[string]*float64{"ttft": c.TTFT, "itl": c.ITL} {
		if v != nil && !(*v >= 0 && *v <= longestObjective) {
			return refused(fmt.Sprintf("%s %g: want 0 for no objective, to %d ms", name, *v, longestObjective))
		}
	}
	if err := c.checkVariants(); err != nil {
		return err
	}
	if v := c.Attainment; v != nil && !(*v > 0 && *v < 1) {
		return refused(fmt.Sprintf("attainment %g: want a ratio above 0 and below 1", *v))
	}
	if v := c.Interval; v != nil && !(*v >= shortestInterval && *v <= longestInterval) {
		return refused(fmt.Sprintf("interval %g: want %d to %d s", *v, shortestInterval, longestInterval))
	}
	return nil
}

// checkVariants refuses values of variants that no setting accepts.
func (c Settings) checkVariants() error {
	if len(c.Min) > mostVariants || len(c.Cost) > mostVariants {
		return refused(fmt.Sprintf("want %d variants at most", mostVariants))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Min)) {
		if n := c.Min[name]; n < 0 || n > math.MaxInt32 {
			return refused(fmt.Sprintf("min of %.300q %d: want a number of replicas, 0 to %d", name, n, math.MaxInt32))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Cost)) {
		if v := c.Cost[name]; !(v >= 0 && v <= largestCost) {
			return refused(fmt.Sprintf("cost of %.300q %g: want 0 to %g", name, v, float64(largestCost)))
		}
	}
	return nil
}

// apply returns a copy of a recorded cycle with the changed settings.
func (c Settings) apply(to record.Cycle) record.Cycle {
	of := scaling.ModelKey{Namespace: c.Namespace, ID: c.Model}
	to.Plan = nil
	if c.Interval != nil {
		to.Interval = time.Duration(*c.Interval * float64(time.Second))
	}
	if decided, ok := to.Configuration[of]; ok {
		o := &decided.Objective
		for field, v := range map[*float64]*float64{&o.TTFT: c.TTFT, &o.ITL: c.ITL, &o.Attainment: c.Attainment} {
			if v != nil {
				*field = *v
			}
		}
		to.Configuration = maps.Clone(to.Configuration)
		to.Configuration[of] = decided
	}
	to.Snapshots = slices.Clone(to.Snapshots)
	for i, s := range to.Snapshots {
		if s.Model != of {
			continue
		}
		to.Snapshots[i].Variants = slices.Clone(s.Variants)
		for j := range to.Snapshots[i].Variants {
			v := &to.Snapshots[i].Variants[j]
			if n, ok := c.Min[v.Key.String()]; ok {
				v.Bounds.Min = scaling.Replicas(n)
			}
			if cost, ok := c.Cost[v.Key.String()]; ok {
				v.Cost = cost
			}
		}
	}
	return to
}

// fits refuses a change of a variant that the last cycle does not have, one beyond its bounds, and
// one of objectives that the cycle does not have.
func (c Settings) fits(last record.Cycle) error {
	of := scaling.ModelKey{Namespace: c.Namespace, ID: c.Model}
	var variants []scaling.Variant
	for _, s := range last.Snapshots {
		if s.Model == of {
			variants = s.Variants
		}
	}
	names := make([]string, 0, len(variants))
	for _, v := range variants {
		names = append(names, v.Key.String())
		if n, ok := c.Min[v.Key.String()]; ok && scaling.Replicas(n) > v.Bounds.Max {
			return refused(fmt.Sprintf("min of %q %d: want at most its maxReplicas, %d", v.Key, n, v.Bounds.Max))
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(c.Min)), slices.Sorted(maps.Keys(c.Cost))) {
		if !slices.Contains(names, name) {
			return refused(fmt.Sprintf("%.300q is no variant of %s: want one of %s", name, of, strings.Join(names, ", ")))
		}
	}
	if _, ok := last.Configuration[of]; !ok && (c.TTFT != nil || c.ITL != nil || c.Attainment != nil) {
		return refused(fmt.Sprintf("the cycles hold no configuration of %s, so that its objective cannot be changed", of))
	}
	return nil
}

// pair is one cycle, decided with the recorded and with the changed settings.
type pair struct {
	at       time.Time
	interval time.Duration
	old, new map[scaling.VariantKey]scaling.Replicas
	oldCost  float64 // per hour
	newCost  float64 // per hour
}

// decideAgain decides cycles with and without a change. It ends early with ctx, and reports that.
func (s *Server) decideAgain(ctx context.Context, of scaling.ModelKey, from Cycles, change Settings) (any, error) {
	step := (len(from.Refs) + mostDecided - 1) / mostDecided
	last, err := s.parts.get(ctx, of, from, from.Refs[len(from.Refs)-1])
	if err != nil {
		return nil, err
	}
	if err := change.fits(last); err != nil {
		return nil, err
	}
	var pairs []pair
	otherwise, unread, late := 0, 0, false
	// The last cycle first: if time is short, the latest cycles are decided.
	for i := len(from.Refs) - 1; i >= 0; i -= step {
		c, err := s.parts.get(ctx, of, from, from.Refs[i])
		if ctx.Err() != nil {
			late = true
			break
		}
		if err != nil {
			unread++
			continue
		}
		p, same := decidePair(c, of, change)
		if !same {
			otherwise++
		}
		if p.old != nil {
			pairs = append(pairs, p)
		}
	}
	if late && errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	if len(pairs) == 0 {
		return nil, unknown(fmt.Sprintf("no cycle that could be read within %s has the model %s", whatifLimit, of))
	}
	slices.Reverse(pairs)
	out := courses(pairs, from.Sparse, step)
	out.Says = says(of, last, from, change, step, otherwise, unread, late)
	return out, nil
}

// decidePair decides a cycle with and without a change. It reports whether this program decides as
// the recorded plan of the model, if there is one.
func decidePair(c record.Cycle, of scaling.ModelKey, change Settings) (p pair, same bool) {
	i := slices.IndexFunc(c.Snapshots, func(s scaling.Snapshot) bool { return s.Model == of })
	if i < 0 {
		return pair{}, true
	}
	edited := change.apply(c)
	p = pair{at: c.Now, interval: c.Interval, old: map[scaling.VariantKey]scaling.Replicas{}, new: map[scaling.VariantKey]scaling.Replicas{}}
	old, changed := replay.Decide(c).Plan, replay.Decide(edited).Plan
	sum := func(plan scaling.Plan, variants []scaling.Variant, into map[scaling.VariantKey]scaling.Replicas) (cost float64) {
		for _, d := range plan.Decisions {
			if j := slices.IndexFunc(variants, func(v scaling.Variant) bool { return v.Key == d.Variant }); j >= 0 {
				into[d.Variant] = d.Target()
				cost += variants[j].CostPerHour(d.Target())
			}
		}
		return cost
	}
	p.oldCost = sum(old, c.Snapshots[i].Variants, p.old)
	p.newCost = sum(changed, edited.Snapshots[i].Variants, p.new)
	same = true
	if c.Plan != nil {
		for _, d := range c.Plan.Decisions {
			same = same && (d.Model != of || p.old[d.Variant] == d.Target())
		}
	}
	return p, same
}

// gapIntervals bounds how long a decision counts where the next cycle is missing: in intervals,
// times the step between decided cycles.
const gapIntervals = 3

// courses arranges the decided cycles along their times, the oldest first.
func courses(pairs []pair, sparse bool, step int) WhatIf {
	out := WhatIf{Cycles: len(pairs)}
	var covered time.Duration
	seen := map[scaling.VariantKey]bool{}
	for _, p := range pairs {
		for k := range p.old {
			seen[k] = true
		}
	}
	keys := slices.SortedFunc(maps.Keys(seen), scaling.VariantKey.Compare)
	for _, k := range keys {
		out.Old.Variants = append(out.Old.Variants, VariantCourse{Namespace: k.Namespace, Name: k.Name})
		out.New.Variants = append(out.New.Variants, VariantCourse{Namespace: k.Namespace, Name: k.Name})
	}
	for i, p := range pairs {
		out.T = append(out.T, history.At(p.at))
		out.Old.Cost, out.New.Cost = append(out.Old.Cost, p.oldCost), append(out.New.Cost, p.newCost)
		for j, k := range keys {
			out.Old.Variants[j].Desired = append(out.Old.Variants[j].Desired, replicasOf(p.old, k))
			out.New.Variants[j].Desired = append(out.New.Variants[j].Desired, replicasOf(p.new, k))
		}
		if !maps.Equal(p.old, p.new) {
			out.CyclesChanged++
		}
		if i+1 == len(pairs) {
			break // how long the last one held is not known
		}
		stands := pairs[i+1].at.Sub(p.at)
		if most := time.Duration(gapIntervals*step) * p.interval; !sparse && most > 0 {
			stands = min(stands, most)
		}
		covered += stands
		out.CostOld += p.oldCost * stands.Hours()
		out.CostNew += p.newCost * stands.Hours()
	}
	out.Hours = covered.Hours()
	return out
}

// replicasOf returns the replicas decided of a variant, NaN where it did not exist.
func replicasOf(decided map[scaling.VariantKey]scaling.Replicas, of scaling.VariantKey) float64 {
	if n, ok := decided[of]; ok {
		return float64(n)
	}
	return math.NaN()
}

// says describes the assumptions of a what-if, and what it left out.
func says(of scaling.ModelKey, last record.Cycle, from Cycles, change Settings, step, otherwise, unread int, late bool) string {
	out := []string{
		from.Says,
		"Each cycle is decided again by the code of the manager, with the changed settings, on what was measured then (open loop): " +
			"what other replicas would have done to the load, and to later decisions, is not in it",
	}
	if from.Sparse {
		out = append(out, "Between two of these cycles the decision is taken to stand; what other settings would have changed in the cycles between them is not known")
	} else {
		out = append(out, fmt.Sprintf("Costs count each decision until the next cycle, %d intervals at most", gapIntervals*max(1, step)))
	}
	if step > 1 {
		out = append(out, fmt.Sprintf("Of every %d cycles one is decided", step))
	}
	if otherwise > 0 {
		out = append(out, fmt.Sprintf("%d cycles were decided otherwise by the version that recorded them; the old line is what this program decides", otherwise))
	}
	if unread > 0 {
		out = append(out, fmt.Sprintf("%d cycles could not be read", unread))
	}
	if late {
		out = append(out, fmt.Sprintf("The time of %s was up: older cycles are left out", whatifLimit))
	}
	engine := cmp.Or(settings.EngineOf(last.Configuration[of].Engine), settings.Saturation)
	if (change.TTFT != nil || change.ITL != nil || change.Attainment != nil) && engine != settings.Hybrid && engine != settings.Queueing {
		out = append(out, fmt.Sprintf("The engine %s does not size by objectives, so that they change little or nothing", engine))
	}
	return strings.Join(out, ". ") + "."
}
