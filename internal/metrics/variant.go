package metrics

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// info adds which model and accelerator the variant is of.
func (p *press) info(v scaling.Variant) {
	p.add(v.Key, VariantInfo, 1, append(variant(v.Key), Label(v.Model.ID), Label(v.Accelerator))...)
}

// states adds what has become of the replicas that each target is asked for.
func (p *press) states(variants []scaling.Variant) {
	for _, v := range variants {
		r := v.Replicas
		if !r.Observed {
			continue
		}
		for _, state := range []struct {
			name     string
			replicas int
		}{{"ready", r.Ready}, {"starting", r.Pending - r.Unschedulable}, {"unschedulable", r.Unschedulable}} {
			p.add(v.Key, Replicas, float64(state.replicas), append(variant(v.Key), state.name)...)
		}
	}
}

// held adds what keeps a variant from the growth that its load calls for.
func (p *press) held(r scaling.Record, v scaling.Variant, d scaling.Decision) {
	analysis, _ := r.Analysis(d.Model) // without one its signal is Unknown
	if reason, held := explain.GrowthHeld(v, d, analysis.Signal); held {
		p.add(d.Variant, GrowthHeld, 1, append(variant(d.Variant), Label(string(reason)))...)
	}
}
