package metrics

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// predicted adds the latency that an analysis predicts, for each variant of its model.
func (p *press) predicted(variants []scaling.Variant, analyses []scaling.Analysis) {
	for _, a := range analyses {
		if a.Predicted == (scaling.Latency{}) {
			continue
		}
		for _, v := range variants {
			if v.Model == a.Model {
				labels := append(variant(v.Key), Label(v.Model.ID))
				p.add(v.Key, PredictedTTFT, seconds(a.Predicted.TTFT), labels...)
				p.add(v.Key, PredictedITL, seconds(a.Predicted.ITL), labels...)
			}
		}
	}
}

// learned adds the learned and the measured speed of the replicas of each variant.
func (p *press) learned(s scaling.Snapshot, history memory.History) {
	fits := make(map[scaling.VariantKey]memory.Fit, len(s.Variants))
	for _, v := range s.Variants {
		fits[v.Key] = history[v.Key].Fit
	}
	for _, now := range profile.Presents(s, fits) {
		p.add(now.Variant, LearnedWindows, now.Samples, variant(now.Variant)...)
		if now.Measured > 0 {
			p.add(now.Variant, MeasuredITL, seconds(now.Measured), variant(now.Variant)...)
		}
		if !(now.Learned.Mean > 0) {
			continue
		}
		itl := now.Learned
		for _, bound := range []struct {
			name string
			ms   float64
		}{{"low", itl.Low}, {"mean", itl.Mean}, {"high", itl.High}} {
			p.add(now.Variant, LearnedITL, seconds(bound.ms), append(variant(now.Variant), bound.name)...)
		}
	}
}

// objectives adds the objectives of the models.
func (p *press) objectives(all []scaling.ModelObjective) {
	for _, o := range all {
		for _, slo := range []struct {
			name           string
			ms, percentile float64
		}{{ObjectiveTTFT, o.TTFT, o.TTFTPercentile}, {ObjectiveITL, o.ITL, o.ITLPercentile}} {
			if slo.ms > 0 {
				p.put("model "+o.Model.String(), slo.name, seconds(slo.ms), Label(o.Model.Namespace), Label(o.Model.ID), percentile(slo.percentile))
			}
		}
	}
}

// percentile returns a percentile, given as a ratio, as a label value; 0 is the mean.
func percentile(p float64) string {
	if p == 0 {
		return "mean"
	}
	return strconv.FormatFloat(p, 'f', -1, 64)
}

// seconds converts ms to seconds.
func seconds(ms float64) float64 { return ms * time.Millisecond.Seconds() }

// solved adds the duration and the gap of deciding the plan.
func (p *press) solved(r memory.Record) {
	p.single(SolverDuration, r.Deciding.Seconds())
	if r.Gap.Known() {
		p.single(SolverGap, r.Gap.Value)
	}
}

// inventory adds the total and the free accelerators by type.
func (p *press) inventory(i scaling.Inventory) {
	if !i.Known {
		return
	}
	total, free := map[string]scaling.Accelerators{}, map[string]scaling.Accelerators{}
	for _, g := range i.Groups {
		total[Label(g.Accelerator)] += g.Total
		for _, f := range g.Free {
			free[Label(g.Accelerator)] += f.GPUs.Times(f.Nodes)
		}
	}
	for _, accelerator := range slices.Sorted(maps.Keys(total)) {
		p.single(InventoryGPUs, float64(total[accelerator]), accelerator, "total")
		p.single(InventoryGPUs, float64(free[accelerator]), accelerator, "free")
	}
}

// single adds a series that belongs to no variant.
func (p *press) single(name string, value float64, labels ...string) {
	p.page.series = append(p.page.series, prometheus.MustNewConstMetric(p.families[name].desc, prometheus.GaugeValue, value, labels...))
}
