package history

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Fleet returns the models of the last cycle in the namespaces that the caller may read, the most
// urgent first.
func (h *History) Fleet(may func(namespace string) bool) Fleet {
	h.mu.RLock()
	c, out := h.last, Fleet{Revision: h.revision, Models: []Model{}, Refused: []string{}}
	if h.now > 0 {
		out.From = h.time(h.begins)
	}
	h.mu.RUnlock()
	out.At, out.Cycle, out.Interval = At(c.Now), c.Cycle.Cycle, c.Interval.Seconds()
	ofModel := decisionsOf(c.Plan)
	for i := range c.Snapshots {
		if s := &c.Snapshots[i]; may(s.Model.Namespace) {
			out.Models = append(out.Models, h.modelOf(c, s, ofModel[s.Model]))
		}
	}
	slices.SortFunc(out.Models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Look, a.Look), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Model, b.Model))
	})
	return out
}

func decisionsOf(p *scaling.Plan) map[scaling.ModelKey][]scaling.Decision {
	out := map[scaling.ModelKey][]scaling.Decision{}
	if p != nil {
		for _, d := range p.Decisions {
			out[d.Model] = append(out[d.Model], d)
		}
	}
	return out
}

// modelOf returns a model with its readings and decisions in a cycle.
func (h *History) modelOf(c Cycle, s *scaling.Snapshot, decisions []scaling.Decision) Model {
	settings := c.Configuration[s.Model]
	a := analysisOf(c.Analyses, s.Model)
	columns := measured(s, settings.Objective, a)
	out := Model{
		Namespace: s.Model.Namespace, Model: s.Model.ID, Objective: objectiveOf(settings.Objective), Load: Number(columns[load]),
		Waiting: Number(columns[waiting]), TTFT: Number(columns[ttft]), ITL: Number(columns[itl]), Missed: Number(columns[missed]),
		Cost: Number(columns[cost]), Engine: string(settings.Engine), Advisory: len(s.Variants) > 0 && s.Variants[0].Advisory,
		Troubles: []string{}, Variants: []Variant{},
	}
	var troubles []explain.Trouble
	if t, missed := explain.ObjectiveMissed(*s, settings.Objective); missed {
		troubles = append(troubles, t)
	}
	for _, v := range scaling.ByKey(s.Variants) {
		one, of := h.variantOf(c, s, v, decisions)
		out.Variants = append(out.Variants, one)
		troubles = append(troubles, of...)
	}
	slices.SortStableFunc(troubles, func(a, b explain.Trouble) int { return cmp.Compare(b.Severity, a.Severity) })
	for _, t := range troubles {
		out.Look = max(out.Look, t.Severity)
		if !slices.Contains(out.Troubles, t.Sentence) {
			out.Troubles = append(out.Troubles, t.Sentence)
		}
	}
	return out
}

func objectiveOf(o scaling.Objective) Objective {
	out := Objective{TTFT: Unknown(), ITL: Unknown(), Attainment: Unknown(), Class: o.Class}
	if o.TTFT > 0 {
		out.TTFT = Number(o.TTFT)
	}
	if o.ITL > 0 {
		out.ITL = Number(o.ITL)
	}
	if o.Set() {
		out.Attainment = Number(o.Share())
	}
	return out
}

// variantOf returns a variant with its replicas and decision in a cycle, and its troubles.
func (h *History) variantOf(c Cycle, s *scaling.Snapshot, v scaling.Variant, decisions []scaling.Decision) (Variant, []explain.Trouble) {
	past := c.History[v.Key]
	d := decisionOf(c.Plan, v.Key)
	out := Variant{
		Namespace: v.Key.Namespace, Name: v.Key.Name, Accelerator: v.Accelerator, GPUs: int(v.GPUs(1)), Desired: Unknown(),
		Current: Unknown(), Ready: Unknown(), Ordered: Unknown(), Late: Unknown(), Min: int(v.Bounds.Min), Max: Unknown(),
		Cost: v.Cost, Action: "hold", Troubles: []string{},
	}
	if v.Bounds.Max != math.MaxInt {
		out.Max = Number(v.Bounds.Max)
	}
	wanted := v.Replicas.Current
	if d != nil {
		out.Desired = Number(d.Target())
		wanted = max(wanted, d.Target())
		out.Action, out.Reason = action(*d, past, c.History), reason(*d)
	}
	if r := v.Replicas; r.Observed {
		out.Current, out.Ready = Number(r.Current), Number(r.Ready)
		out.Ordered, out.Late = Number(max(0, wanted-r.Ready)), Number(late(c, v, past))
	}
	troubles := explain.Troubles(h.explanation(c, s, v, decisions))
	if h.options.Troubles != nil {
		troubles = merge(troubles, h.options.Troubles(v.Key))
	}
	for _, t := range troubles {
		out.Look = max(out.Look, t.Severity)
		out.Troubles = append(out.Troubles, t.Sentence)
	}
	return out, troubles
}

// merge returns conditions, and the troubles of other kinds. The conditions of an object know more
// than a cycle.
func merge(troubles, conditions []explain.Trouble) []explain.Trouble {
	out := slices.Clone(conditions)
	for _, t := range troubles {
		if !slices.ContainsFunc(conditions, func(c explain.Trouble) bool { return c.Kind == t.Kind }) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b explain.Trouble) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// action returns whether a decision grows, shrinks or holds the number decided on before.
func action(d scaling.Decision, past memory.Past, history memory.History) string {
	from := d.Current
	if _, known := history[d.Variant]; known {
		from = past.Desired
	}
	switch {
	case d.Target() > from:
		return "grow"
	case d.Target() < from:
		return "shrink"
	}
	return "hold"
}

func reason(d scaling.Decision) string {
	cause := d.Cause()
	return cmp.Or(cause.Detail, string(cause.Reason))
}

// late returns how many replicas were ordered and have been missing for longer than twice the usual
// start-up. The optimizer waits as long.
func late(c Cycle, v scaling.Variant, past memory.Past) scaling.Replicas {
	n := scaling.Replicas(0)
	for _, m := range past.Waits.Missing(v.Replicas.Ready, past.Desired, past.DecidedAt) {
		if !m.WasReady && c.Now.Sub(m.Since) > past.Patience(v, 2) {
			n += m.Replicas
		}
	}
	return n
}

// explanation returns the explanation of the decision for a variant in a cycle.
func (h *History) explanation(c Cycle, s *scaling.Snapshot, v scaling.Variant, decisions []scaling.Decision) explain.Explanation {
	e := explain.Explanation{
		Cycle: c.Cycle.Cycle, At: c.Now, Interval: explain.Duration(c.Interval), Variant: v, Past: c.History[v.Key], Snapshot: *s, Model: decisions,
	}
	if d := decisionOf(c.Plan, v.Key); d != nil {
		e.Decision, e.Decided = *d, true
		if !d.Fallback {
			e.AnalyzedAt = c.Now
		}
	}
	if informed := e.Past.Informed; e.AnalyzedAt.IsZero() && len(informed) > 0 {
		for _, i := range informed {
			if i.At.After(e.AnalyzedAt) {
				e.AnalyzedAt = i.At
			}
		}
	}
	part := v.PartOf(s.Variants)
	first, _ := slices.BinarySearchFunc(c.Analyses, s.Model, func(a scaling.Analysis, m scaling.ModelKey) int { return a.Model.Compare(m) })
	for _, a := range c.Analyses[first:] {
		switch {
		case a.Model != s.Model:
			return e
		case a.Part() != part:
		case e.Analysis.Analyzer == "":
			e.Analysis = a
		}
		if a.Part() == part && a.Analyzer == queueing.Name {
			e.Sizing = a
		}
	}
	return e
}
