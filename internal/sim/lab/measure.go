package lab

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Measures are the measures of a policy: numbers of one run, or their Spread over the seeds.
type Measures[T any] struct {
	Attainment     T `json:"attainment"`     // share of the requests that met both objectives
	WorstHour      T `json:"worstHour"`      // attainment of the worst hour, see worstHour
	TTFTAttainment T `json:"ttftAttainment"` // share that met the TTFT objective
	ITLAttainment  T `json:"itlAttainment"`  // share that met the ITL objective
	Goodput        T `json:"goodput"`        // requests/s that met both
	TTFTP50        T `json:"ttftP50"`        // ms
	TTFTP90        T `json:"ttftP90"`        // ms
	TTFTP99        T `json:"ttftP99"`        // ms
	ITLP50         T `json:"itlP50"`         // ms
	ITLP90         T `json:"itlP90"`         // ms
	ITLP99         T `json:"itlP99"`         // ms
	ReplicaHours   T `json:"replicaHours"`   // from a node taken to a node freed
	Cost           T `json:"cost"`           // cost units
	ScaleEvents    T `json:"scaleEvents"`    // times that replicas of a variant were added or removed
	ColdStarts     T `json:"coldStarts"`     // times that a variant grew while none of its model was ready
	Lost           T `json:"lost"`           // requests whose replica ended
	Failed         T `json:"failed"`         // requests rejected, expired or not finished at the end
	Abandoned      T `json:"abandoned"`      // requests taken back by clients whose patience was over
	Violation      T `json:"violation"`      // share of the time in violation
}

// fields returns a pointer to every measure, in the order of quantities.
func (m *Measures[T]) fields() []*T {
	return []*T{
		&m.Attainment, &m.WorstHour, &m.TTFTAttainment, &m.ITLAttainment, &m.Goodput,
		&m.TTFTP50, &m.TTFTP90, &m.TTFTP99, &m.ITLP50, &m.ITLP90, &m.ITLP99,
		&m.ReplicaHours, &m.Cost, &m.ScaleEvents, &m.ColdStarts, &m.Lost, &m.Failed, &m.Abandoned, &m.Violation,
	}
}

// quantities returns the names of the measures with their units, in the order of Measures.fields.
func quantities() []string {
	return []string{
		"attainment_ratio", "worst_hour_attainment_ratio", "ttft_attainment_ratio", "itl_attainment_ratio", "goodput_requests_per_s",
		"ttft_p50_ms", "ttft_p90_ms", "ttft_p99_ms", "itl_p50_ms", "itl_p90_ms", "itl_p99_ms",
		"replica_hours", "cost", "scale_events", "cold_starts", "lost_requests", "failed_requests", "abandoned_requests", "violation_ratio",
	}
}

// measure returns the measures of a run.
func measure(r sim.Report) Measures[float64] {
	var (
		m                       Measures[float64]
		arrived, met, ttft, itl uint64
	)
	for _, one := range r.Models {
		c := one.Counts
		arrived, met, ttft, itl = arrived+c.Arrived, met+c.Met, ttft+c.MetTTFT, itl+c.MetITL
		m.Goodput += one.Goodput
		m.Cost += one.Cost
		m.Lost += float64(c.Lost)
		m.Failed += float64(c.Rejected + c.Expired + one.Unfinished)
		m.Abandoned += float64(c.Abandoned)
		if r.Horizon > 0 {
			// Violation after the horizon counts too: at most all of the time.
			m.Violation += min(1, one.Violation.Seconds()/r.Horizon.Seconds()) / float64(len(r.Models))
		}
		for _, v := range one.Variants {
			m.ReplicaHours += v.ReplicaHours
			m.ScaleEvents += float64(v.Grown + v.Shrunk)
			m.ColdStarts += float64(v.ColdStarts)
		}
	}
	m.Attainment, m.TTFTAttainment, m.ITLAttainment = 1, 1, 1
	if arrived > 0 {
		of := float64(arrived)
		m.Attainment, m.TTFTAttainment, m.ITLAttainment = float64(met)/of, float64(ttft)/of, float64(itl)/of
	}
	m.WorstHour = worstHour(r.Models)
	m.TTFTP50, m.TTFTP90, m.TTFTP99 = r.TTFT.P50, r.TTFT.P90, r.TTFT.P99
	m.ITLP50, m.ITLP90, m.ITLP99 = r.ITL.P50, r.ITL.P90, r.ITL.P99
	return m
}

// measureModels returns the measures of each model.
func measureModels(r sim.Report) []ModelMeasures {
	all := make([]ModelMeasures, len(r.Models))
	for i, m := range r.Models {
		alone := r
		alone.Models, alone.TTFT, alone.ITL = r.Models[i:i+1], m.TTFT, m.ITL
		all[i] = ModelMeasures{m.Model, measure(alone)}
	}
	return all
}
