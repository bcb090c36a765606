package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// parts returns the variants of prefill and those of decode, the cheapest first, and false unless
// there are both.
func parts(in Observation) (prefill, decode []Variant, ok bool) {
	for _, v := range byCost(in.Variants) {
		switch v.Role {
		case scaling.RolePrefill:
			prefill = append(prefill, v)
		case scaling.RoleDecode:
			decode = append(decode, v)
		default:
		}
	}
	return prefill, decode, len(prefill) > 0 && len(decode) > 0
}

// wanted is the replicas that a rule wants of each role.
type wanted struct {
	prefill, decode scaling.Replicas
	why             string
}

// share gives the wanted replicas of each role to its cheapest variant, and the others their
// minimum. A model without both roles stays as it is.
func share(in Observation, decide func(prefill, decode Variant) wanted) []Target {
	prefill, decode, ok := parts(in)
	if !ok {
		return each(in, func(v Variant) (scaling.Replicas, string) {
			return v.Bounds.Clamp(v.Replicas.Current), "hold, the rule needs variants of prefill and of decode"
		})
	}
	w := decide(prefill[0], decode[0])
	return each(in, func(v Variant) (scaling.Replicas, string) {
		switch v.Key {
		case prefill[0].Key:
			return v.Bounds.Clamp(w.prefill), w.why
		case decode[0].Key:
			return v.Bounds.Clamp(w.decode), w.why
		default:
			return v.Bounds.Min, w.why + "; a cheaper variant has its role"
		}
	})
}

// ratio is prefill replicas for each decode replica. If the operator states none, it is the ratio
// of the profiles at the first known load, and stays.
type ratio struct{ stated, found float64 }

func ratioField(p *float64) field {
	return number("ratio", "prefill replicas for each decode replica, 0 for what the profiles call for at the first load", p, 0, 100)
}

// of returns the ratio, false while it is unknown.
func (r *ratio) of(in Observation, prefill, decode Variant) (float64, bool) {
	switch {
	case r.stated > 0:
		return r.stated, true
	case r.found > 0:
		return r.found, true
	}
	rate, input, output := in.Load.ArrivalRate, in.Load.InputTokens, in.Load.OutputTokens
	if !rate.Known() || rate.Value <= 0 || !input.Known() || !output.Known() || !prefill.Profile.Usable() || !decode.Profile.Usable() || !(in.SLO.ITL > 0) {
		return 0, false
	}
	next := [3]float64{rate.Value, input.Value, output.Value}
	unmeasured := Observation{SLO: in.SLO} // a correction is of the load of now, not of the mix
	compute, _ := engines(demandOf(next, unmeasured, prefill))
	_, generate := engines(demandOf(next, unmeasured, decode))
	r.found = compute / generate
	return r.found, r.found > 0
}

// prefill returns the replicas of prefill beside n of decode, at least one.
func (r *ratio) prefill(in Observation, prefill, decode Variant, n scaling.Replicas) (scaling.Replicas, string) {
	of, ok := r.of(in, prefill, decode)
	if !ok {
		return prefill.Replicas.Current, "the ratio is not known yet"
	}
	return max(1, ceil(of*float64(n)-1e-9)), fmt.Sprintf("%.3g for each of decode", of)
}

// PairedParams are the parameters of an HPA on decode with prefill in a fixed ratio.
type PairedParams struct {
	// Signal is the metric of the decode replicas: "inflight", running and waiting requests, or
	// "kv", KV cache usage.
	Signal string
	// Share is the target per replica, in [0.01, 2]: for "inflight" the part of the requests that
	// the profile decodes within the ITL objective, for "kv" the usage.
	Share float64
	Ratio float64 // prefill replicas for each decode replica, 0 for the profiles' ratio at the first load
	// StabilizeDown is the window down of the HPA, >= 0; Tolerance is its tolerance in [0, 1).
	StabilizeDown time.Duration
	Tolerance     float64
	Sync          time.Duration // of the HPA, >= 1 s
}

// DefaultPairedParams returns the defaults of an HPA, on requests in flight at 80 %.
func DefaultPairedParams() PairedParams {
	h := DefaultHPAParams(1)
	return PairedParams{Signal: "inflight", Share: 0.8, StabilizeDown: h.StabilizeDown, Tolerance: h.Tolerance, Sync: h.Sync}
}

func (p *PairedParams) fields() []field {
	return []field{
		number("share", "target of a decode replica: part of the requests that it decodes within the ITL objective, or KV cache usage", &p.Share, 0.01, 2, "0.5", "0.65", "0.8", "0.9", "1"),
		ratioField(&p.Ratio),
		choice("signal", "of the decode replicas", &p.Signal, []string{"inflight", "kv"}),
		span("stabilize-down", "stabilization window down", &p.StabilizeDown, 0, "60s", "300s"),
		number("tolerance", "ratio by which the target may be missed", &p.Tolerance, 0, 0.99),
		span("sync", "time between decisions", &p.Sync, time.Second),
	}
}

// paired is an HPA on decode, with prefill in a fixed ratio.
type paired struct {
	hpa   *hpaPolicy
	ratio ratio
}

// NewPaired returns a fixed ratio of prefill to decode: a HorizontalPodAutoscaler, or a
// ScaledObject of KEDA with one, on a metric of decode, and prefill = ceil(ratio x decode). The
// rule does not measure the load of prefill.
func NewPaired(p PairedParams) (Autoscaler, error) {
	h := DefaultHPAParams(1)
	h.StabilizeDown, h.Tolerance, h.Sync = p.StabilizeDown, p.Tolerance, p.Sync
	m := metric{name: "KV cache usage", target: fixed(p.Share), pod: kvCacheUsage}
	if p.Signal == "inflight" {
		m = metric{
			name:   "requests in flight",
			target: func(in Observation, v Variant) float64 { return p.Share * objectiveBatch(in, v) },
			total:  func(_ time.Time, _ Observation, v Variant) scaling.Reading { return v.sum(inFlight) },
		}
	}
	return &paired{newHPA(h, m), ratio{stated: p.Ratio}}, check("hpa-paired", p.fields())
}

// objectiveBatch returns how many requests a replica decodes at once within the ITL objective by
// its profile, 0 where that is unknown.
func objectiveBatch(in Observation, v Variant) float64 {
	input, output := in.Load.InputTokens, in.Load.OutputTokens
	if !v.Profile.Usable() || !(in.SLO.ITL > 0) {
		return 0
	}
	return batchWithin(in.SLO.ITL, v, max(1, input.Or(1)), max(1, output.Or(1)))
}

func (r *paired) Interval() time.Duration { return r.hpa.Interval() }

func (r *paired) Decide(now time.Time, in Observation) []Target {
	return share(in, func(prefill, decode Variant) wanted {
		n, why := r.hpa.reconcile(now, in, decode)
		beside, of := r.ratio.prefill(in, prefill, decode, n)
		return wanted{beside, n, why + "; prefill: " + of}
	})
}

// HeteroParams are the parameters of HeteroScale's rule.
type HeteroParams struct {
	// Share is the target, in [0.01, 2]: decode tokens/s of a decode replica, as a part of what the
	// profile generates within the ITL objective.
	Share float64
	Ratio float64 // prefill replicas for each decode replica, 0 for the profiles' ratio at the first load
	// Out and In are how far the tokens/s of a replica may be above and below the target before the
	// fleet grows and shrinks, ratios in [0, 1).
	Out, In float64
	// Trigger is the ratio of the mean ITL to its objective above which the fleet grows by Step, a
	// ratio, whatever its tokens/s; 0 for never.
	Trigger, Step float64
	// CoolOut and CoolIn are the least times from a change until the next growth and the next
	// reduction, >= 0.
	CoolOut, CoolIn time.Duration
	Tick            time.Duration // between decisions, >= 1 s
}

// DefaultHeteroParams returns thresholds of 10 %, growth by 20 % at 1.2 times the objective, and a
// target of 80 % of what the profile generates. The paper leaves targets to measurements of a
// model; the times between changes are ours.
func DefaultHeteroParams() HeteroParams {
	return HeteroParams{
		Share: 0.8, Out: 0.1, In: 0.1, Trigger: 1.2, Step: 0.2,
		CoolOut: time.Minute, CoolIn: 5 * time.Minute, Tick: 15 * time.Second,
	}
}

func (p *HeteroParams) fields() []field {
	return []field{
		number("share", "target: part of the tokens/s that a decode replica generates within the ITL objective", &p.Share, 0.01, 2, "0.5", "0.65", "0.8", "0.9", "1"),
		ratioField(&p.Ratio),
		number("out", "part above the target before it grows", &p.Out, 0, 0.99),
		number("in", "part below the target before it shrinks", &p.In, 0, 0.99),
		number("trigger", "times the ITL objective at which it grows by step, 0 for never", &p.Trigger, 0, 100),
		number("step", "part by which it then grows", &p.Step, 0.01, 10),
		span("cooldown-out", "time since the last change before it grows", &p.CoolOut, 0),
		span("cooldown-in", "time since the last change before it shrinks", &p.CoolIn, 0, "1m", "5m"),
		span("tick", "time between decisions", &p.Tick, time.Second),
	}
}

// hetero is HeteroScale's rule for one model.
type hetero struct {
	p       HeteroParams
	ratio   ratio
	changed time.Time // zero before the first change
}

// NewHetero returns the rule of HeteroScale: proportional control by one signal, decode tokens/s of
// a decode replica, with prefill in a ratio. It also grows when the ITL is far above its objective,
// because a saturated fleet generates no more tokens however many requests wait.
func NewHetero(p HeteroParams) (Autoscaler, error) {
	return &hetero{p: p, ratio: ratio{stated: p.Ratio}}, check("heteroscale", p.fields())
}

func (h *hetero) Interval() time.Duration { return h.p.Tick }

func (h *hetero) Decide(now time.Time, in Observation) []Target {
	return share(in, func(prefill, decode Variant) wanted {
		n, why := h.decode(in, decode)
		present := decode.Replicas.Current
		since := now.Sub(h.changed)
		if !h.changed.IsZero() && (n > present && since < h.p.CoolOut || n < present && since < h.p.CoolIn) {
			n, why = present, why+", and the last change is too recent"
		}
		if n = decode.Bounds.Clamp(n); n != present {
			h.changed = now
		}
		beside, of := h.ratio.prefill(in, prefill, decode, n)
		return wanted{beside, n, "HeteroScale: " + why + "; prefill: " + of}
	})
}

// decode returns the replicas of decode that the rule wants before its cooldowns.
func (h *hetero) decode(in Observation, v Variant) (scaling.Replicas, string) {
	present := v.Replicas.Current
	tokens, most := v.sum(decoded), objectiveBatch(in, v)
	if !tokens.Known() || !(most > 0) || v.Replicas.Ready == 0 {
		return max(1, present), "hold, it needs decode tokens/s, a profile and an ITL objective"
	}
	if itl := in.Load.ITL; h.p.Trigger > 0 && itl.Known() && itl.Value > h.p.Trigger*in.SLO.ITL {
		return present + max(1, ceil(h.p.Step*float64(present)-1e-9)), fmt.Sprintf("an ITL of %.0f ms is above %.3g times the objective", itl.Value, h.p.Trigger)
	}
	target := h.p.Share * most / (v.Profile.Alpha + v.Profile.Beta*most) * 1000
	of := tokens.Value / float64(v.Replicas.Ready) / target
	why := fmt.Sprintf("%.0f decode tokens/s of a replica are %.2f of the target", tokens.Value/float64(v.Replicas.Ready), of)
	if of <= 1+h.p.Out && of >= 1-h.p.In {
		return present, why
	}
	return max(1, ceil(tokens.Value/target-1e-9)), why
}

// RoleCatalogue describes the policies that scale only models with prefill and decode. dynamo-sla
// of Catalogue scales both kinds.
func RoleCatalogue() []Definition {
	all := rolePeers()
	out := make([]Definition, len(all))
	for i, p := range all {
		out[i] = p.describe()
	}
	return out
}

// Find returns the description of a policy by name, from both catalogues.
func Find(name string) (Definition, bool) {
	all := slices.Concat(peers(), rolePeers())
	i := slices.IndexFunc(all, func(p peer) bool { return p.name == name })
	if i < 0 {
		return Definition{}, false
	}
	return all[i].describe(), true
}
