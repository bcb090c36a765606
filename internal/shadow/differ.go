package shadow

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// differences collects the periods in which the number decided on and the number that ran differed.
type differences struct {
	open map[scaling.VariantKey]*episode
	done []Difference
}

// episode is a Difference that has not ended, with the replica-hours that ran.
type episode struct {
	Difference
	ran float64
}

// add adds the differences of a cycle. A period ends when another number is decided on, or when the
// number decided on runs.
func (d *differences) add(l ModelCycle, m Moment, hours float64) {
	if d.open == nil {
		d.open = map[scaling.VariantKey]*episode{}
	}
	for i, v := range l.Variants {
		e := d.open[v.Key]
		if e != nil && (e.Decided != v.Target || m.Ran[i] == v.Target) {
			d.close(v.Key)
			e = nil
		}
		if m.Ran[i] == v.Target {
			continue
		}
		if e == nil {
			e = &episode{Difference: Difference{
				Variant: v.Key, At: l.At, Cycle: l.Cycle, Decided: v.Target, Reason: v.Why.Reason, Detail: v.Why.Detail,
			}}
			d.open[v.Key] = e
		}
		more := float64(v.Target-m.Ran[i]) * hours
		e.Hours += hours
		e.ran += float64(m.Ran[i]) * hours
		e.Cost += more * v.Cost
		e.GPUs += more * float64(v.GPUs)
	}
}

// end ends all periods.
func (d *differences) end() {
	for key := range d.open {
		d.close(key)
	}
}

func (d *differences) close(key scaling.VariantKey) {
	e := d.open[key]
	delete(d.open, key)
	if e.Hours > 0 {
		e.Ran = scaling.Replicas(math.Round(e.ran / e.Hours))
		d.done = append(d.done, e.Difference)
	}
}

// greatest ends all periods and returns the greatest differences.
func (d *differences) greatest() []Difference {
	d.end()
	return greatest(d.done)
}
