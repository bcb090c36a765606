package day

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// deviations is the half width of an error bar, in standard deviations of single runs.
const deviations = 3

// Spread is a quantity over runs that differ in their seed.
type Spread struct {
	Mean, Deviation float64 // of single runs
}

// spread returns the mean and the deviation of two or more values.
func spread(values []float64) Spread {
	var s Spread
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	for _, v := range values {
		s.Deviation += (v - s.Mean) * (v - s.Mean) / float64(len(values)-1)
	}
	s.Deviation = math.Sqrt(s.Deviation)
	return s
}

// Holds reports whether a value is within the error bars.
func (s Spread) Holds(v float64) bool { return math.Abs(v-s.Mean) <= deviations*s.Deviation }

// Comparison is a day measured in a cluster, and simulated days like it.
type Comparison struct {
	Day       Day
	Machinery Machinery
	Measured  Outcome
	Curve     []Outcome // simulated days of the same curve, two or more
	Same      []Outcome // simulated days with the requests that were sent, two or more
}

// quantity is one of the numbers that are compared.
type quantity struct {
	name, format string
	judged       bool
	of           func(Outcome) float64
}

func quantities() []quantity {
	return []quantity{
		{"attained, %", "%.2f", true, func(o Outcome) float64 { return 100 * o.Attained }},
		{"cost", "%.2f", true, func(o Outcome) float64 { return o.Cost }},
		{"replica-hours", "%.3f", false, func(o Outcome) float64 { return o.ReplicaHours }},
		{"requests", "%.0f", false, func(o Outcome) float64 { return float64(o.Requests) }},
		{"mean TTFT, ms", "%.1f", false, func(o Outcome) float64 { return o.TTFT }},
		{"mean ITL, ms", "%.2f", false, func(o Outcome) float64 { return o.ITL }},
		{"most replicas", "%.1f", false, func(o Outcome) float64 { return float64(o.Most) }},
		{"changes of replicas", "%.1f", false, func(o Outcome) float64 { return float64(o.Changes) }},
	}
}

// over returns the mean and the deviation of the quantity over runs.
func (q quantity) over(runs []Outcome) Spread {
	values := make([]float64, len(runs))
	for i, o := range runs {
		values[i] = q.of(o)
	}
	return spread(values)
}

// Outside names which of attainment and cost are outside the error bars of the days with the same
// curve.
func (c Comparison) Outside() []string {
	var out []string
	for _, q := range quantities() {
		s, v := q.over(c.Curve), q.of(c.Measured)
		if q.judged && !s.Holds(v) {
			out = append(out, fmt.Sprintf("%s: "+q.format+" measured, "+q.format+" ± "+q.format+" simulated (%d standard deviations of a run)",
				q.name, v, s.Mean, deviations*s.Deviation, deviations))
		}
	}
	return out
}

// String returns a table of the quantities, and one of the replicas over the day.
func (c Comparison) String() string {
	var b strings.Builder
	m := c.Machinery
	fmt.Fprintf(&b, "A day in %s: cycles every %s, scrapes every %s, HPA every %s, start-up %.1f s with a standard deviation of %.2f s.\n",
		c.Day.Length, m.Interval, m.Scrape, m.Sync, m.StartUp.Mean.Seconds(), m.StartUp.Deviation.Seconds())
	fmt.Fprintf(&b, "Simulated: mean ± one standard deviation of single runs, %d days of the same curve, %d of the same requests.\n\n", len(c.Curve), len(c.Same))
	fmt.Fprintf(&b, "%-20s %9s   %-18s %s\n", "", "cluster", "same curve", "same requests")
	for _, q := range quantities() {
		fmt.Fprintf(&b, "%-20s %9s   %-18s %s\n", q.name, fmt.Sprintf(q.format, q.of(c.Measured)), q.text(c.Curve), q.text(c.Same))
	}
	fmt.Fprintf(&b, "\n%-4s  %5s  %7s   %-14s %s\n", "hour", "req/s", "cluster", "same curve", "same requests")
	rates, err := c.Day.Rates()
	if err != nil {
		return b.String() + err.Error()
	}
	for hour := range 24 {
		replicas := quantity{format: "%.2f", of: func(o Outcome) float64 { return o.within(hour) }}
		begin, end := c.Day.hour(hour), c.Day.hour(hour+1)
		rate := (rates.ArrivalsBy(end) - rates.ArrivalsBy(begin)) / (end - begin).Seconds()
		fmt.Fprintf(&b, "%4d  %5.2f  %7.2f   %-14s %s\n", hour, rate, replicas.of(c.Measured), replicas.text(c.Curve), replicas.text(c.Same))
	}
	return b.String()
}

// text formats the mean and the deviation of the quantity over runs.
func (q quantity) text(runs []Outcome) string {
	s := q.over(runs)
	return fmt.Sprintf(q.format+" ± "+q.format, s.Mean, s.Deviation)
}

// hour returns when an hour of the day begins.
func (d Day) hour(n int) time.Duration { return time.Duration(n) * d.Length / 24 }

// within returns the mean number of replicas in an hour of the day.
func (o Outcome) within(hour int) float64 {
	begin, end := hour*len(o.Replicas)/24, (hour+1)*len(o.Replicas)/24
	sum := scaling.Replicas(0)
	for _, n := range o.Replicas[begin:end] {
		sum += n
	}
	return float64(sum) / float64(max(1, end-begin))
}
