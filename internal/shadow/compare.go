package shadow

import (
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// heldFor limits how long a cycle counts if no other follows, in intervals: then cycles were not
	// recorded, or no manager ran.
	heldFor = 3
	// heldAtLeast is the smallest such limit.
	heldAtLeast = time.Minute
	// AssumedStartUp is the start-up of a variant of which none was measured.
	AssumedStartUp = 2 * time.Minute
	// Most is the largest number of listed differences.
	Most = 5
)

// Options are the parameters of a comparison.
type Options struct {
	// To is the end of the last cycle, within the limit of a cycle; zero means one interval after the
	// cycle.
	To time.Time
	// MissPrice is the price of one request that misses its objectives, in units of the costs, >= 0.
	MissPrice float64
}

// Side is one course of replicas.
type Side struct {
	ReplicaHours float64 `json:"replicaHours"`
	GPUHours     float64 `json:"gpuHours"`
	Cost         float64 `json:"cost"`
	// Measured is the part of the requests that met their objectives by measurement, Expected by
	// the model of a replica. Both are zero where unknown.
	Measured Share `json:"measured,omitzero"`
	Expected Share `json:"expected,omitzero"`
	// Regret is the cost of this course and of its misses beyond those of Hindsight; unknown where
	// Expected is.
	Regret Value `json:"regret,omitzero"`
}

// Share is a part of requests.
type Share struct {
	Requests float64 `json:"requests"` // those of which it is known
	Within   float64 `json:"within"`   // those of them within the objectives
}

// Part returns the share as a ratio, and false where it counts no request.
func (s Share) Part() (float64, bool) {
	if !(s.Requests > 0) {
		return 0, false
	}
	return s.Within / s.Requests, true
}

// plus returns s with requests added, a part of which is within.
func (s Share) plus(requests, part float64) Share {
	return Share{s.Requests + requests, s.Within + requests*part}
}

// Value is a number that may be unknown.
type Value struct {
	Known bool    `json:"known"`
	Value float64 `json:"value"`
}

// Model is the comparison of one model.
type Model struct {
	Model     scaling.ModelKey     `json:"model"`
	Objective scaling.Objective    `json:"objective,omitzero"`
	From      time.Time            `json:"from"`
	To        time.Time            `json:"to"`
	Hours     float64              `json:"hours"`             // compared
	Unknown   float64              `json:"unknown,omitempty"` // hours left out because something is unknown
	Advisory  float64              `json:"advisory"`          // those of Hours in which decisions were advice
	Requests  float64              `json:"requests"`          // that arrived, as far as known
	Ran       Side                 `json:"ran"`
	Decided   Side                 `json:"decided"`
	Hindsight Side                 `json:"hindsight"`
	Differ    []Difference         `json:"differ,omitempty"` // the greatest first, at most Most
	Course    []Moment             `json:"-"`                // for curves
	Variants  []scaling.VariantKey `json:"variants"`
}

// Difference is a period in which the number decided on for a variant and the number that ran
// differed.
type Difference struct {
	Variant scaling.VariantKey `json:"variant"`
	At      time.Time          `json:"at"`
	Hours   float64            `json:"hours"`
	Cycle   scaling.CycleID    `json:"cycle,omitempty"` // the first of the period
	Ran     scaling.Replicas   `json:"ran"`             // on average, rounded
	Decided scaling.Replicas   `json:"decided"`
	// Cost is the cost of the decision less that of what ran.
	Cost   float64        `json:"cost"`
	GPUs   float64        `json:"gpuHours"` // likewise
	Reason scaling.Reason `json:"reason,omitempty"`
	Detail string         `json:"detail,omitempty"`
}

// Moment is a ModelCycle with the replicas of each course, in the order of its variants.
type Moment struct {
	At               time.Time
	Cycle            ModelCycle
	Ran, Ready       []scaling.Replicas // asked for by the targets, and Ready
	Decided, Serving []scaling.Replicas // decided on, and Ready by then if they had been ordered
	Hindsight        []scaling.Replicas
}

// Compare compares the courses of one model. cycles are in order of time.
func Compare(model scaling.ModelKey, objective scaling.Objective, cycles []ModelCycle, o Options) Model {
	c := comparison{Model: Model{Model: model, Objective: objective, Variants: variantsOf(cycles)}, Options: o}
	if len(cycles) == 0 {
		return c.Model
	}
	c.serving = newServing(c.Variants)
	c.From = cycles[0].At
	for i, l := range cycles {
		stands, gap := length(cycles, i, o.To)
		c.Model.To = l.At.Add(stands)
		c.Unknown += gap.Hours()
		if l.Usable() {
			c.add(l, stands)
		} else {
			c.Unknown += stands.Hours()
		}
		if gap > 0 || !l.Usable() {
			c.differ.end()
		}
	}
	return c.sum()
}

// comparison is a Model that is being computed.
type comparison struct {
	Model
	Options
	serving *serving
	differ  differences
	regret  struct {
		known        bool
		ran, decided float64
	}
}

// add adds a usable cycle that counts for the time stands.
func (c *comparison) add(l ModelCycle, stands time.Duration) {
	hours := stands.Hours()
	m := moment(l, c.serving)
	m.Hindsight = m.Ran
	if l.Rate.Known() && l.Demand.Known() {
		m.Hindsight = l.cheapest(c.MissPrice)
	}
	c.Course = append(c.Course, m)
	c.Hours += hours
	if l.Advisory {
		c.Advisory += hours
	}
	c.Ran = c.Ran.plus(l, m.Ran, hours)
	c.Decided = c.Decided.plus(l, m.Decided, hours)
	c.Hindsight = c.Hindsight.plus(l, m.Hindsight, hours)
	if l.Rate.Known() {
		c.addRequests(l, m, l.Rate.Value*stands.Seconds(), hours)
	}
	c.differ.add(l, m, hours)
}

// addRequests adds the requests of a cycle.
func (c *comparison) addRequests(l ModelCycle, m Moment, requests, hours float64) {
	c.Requests += requests
	if l.Missed.Known() {
		c.Ran.Measured = c.Ran.Measured.plus(requests, 1-l.Missed.Value)
	}
	ran, known := l.carried(m.Ready)
	if !known {
		return
	}
	decided, _ := l.carried(m.Serving)
	best, _ := l.carried(m.Hindsight)
	c.Ran.Expected = c.Ran.Expected.plus(requests, ran)
	c.Decided.Expected = c.Decided.Expected.plus(requests, decided)
	c.Hindsight.Expected = c.Hindsight.Expected.plus(requests, best)
	price := func(replicas []scaling.Replicas, within float64) float64 {
		return costOf(l, replicas)*hours + c.MissPrice*requests*(1-within)
	}
	least := price(m.Hindsight, best)
	c.regret.known = true
	c.regret.ran += price(m.Ran, ran) - least
	c.regret.decided += price(m.Decided, decided) - least
}

// sum returns the finished Model.
func (c *comparison) sum() Model {
	if c.regret.known {
		c.Ran.Regret, c.Decided.Regret, c.Hindsight.Regret = Value{true, c.regret.ran}, Value{true, c.regret.decided}, Value{true, 0}
	} else {
		c.Hindsight = Side{} // it is unknown which replicas carry the load
	}
	c.Differ = c.differ.greatest()
	return c.Model
}

// length returns how long the cycle at i counts, and how much of the time to the next one is
// unknown.
func length(cycles []ModelCycle, i int, to time.Time) (stands, gap time.Duration) {
	most := max(heldAtLeast, heldFor*cycles[i].Interval)
	if i+1 < len(cycles) {
		until := max(0, cycles[i+1].At.Sub(cycles[i].At))
		return min(until, most), max(0, until-most)
	}
	stands = cycles[i].Interval
	if !to.IsZero() {
		stands = max(0, min(to.Sub(cycles[i].At), most))
	}
	return stands, 0
}

// variantsOf returns the variants of all cycles, sorted.
func variantsOf(cycles []ModelCycle) []scaling.VariantKey {
	known := map[scaling.VariantKey]bool{}
	out := []scaling.VariantKey{}
	for _, l := range cycles {
		for _, v := range l.Variants {
			if !known[v.Key] {
				known[v.Key] = true
				out = append(out, v.Key)
			}
		}
	}
	slices.SortFunc(out, scaling.VariantKey.Compare)
	return out
}

// moment returns the replicas of a cycle, and adds the cycle to serving.
func moment(l ModelCycle, serving *serving) Moment {
	m := Moment{At: l.At, Cycle: l}
	for _, v := range l.Variants {
		m.Ran, m.Ready = append(m.Ran, v.Current), append(m.Ready, v.Ready)
		m.Decided, m.Serving = append(m.Decided, v.Target), append(m.Serving, serving.next(l.At, v))
	}
	return m
}

// plus returns s with replicas added that ran for some hours.
func (s Side) plus(l ModelCycle, replicas []scaling.Replicas, hours float64) Side {
	for i, v := range l.Variants {
		n := float64(replicas[i])
		s.ReplicaHours += n * hours
		s.GPUHours += float64(v.GPUs) * n * hours
		s.Cost += v.Cost * n * hours
	}
	return s
}

// costOf returns the cost of replicas per hour.
func costOf(l ModelCycle, replicas []scaling.Replicas) float64 {
	sum := 0.0
	for i, v := range l.Variants {
		sum += v.Cost * float64(replicas[i])
	}
	return sum
}

// serving computes how many of the replicas decided on would have been Ready.
type serving struct {
	of map[scaling.VariantKey][]decidedAt
}

type decidedAt struct {
	at       time.Time
	replicas scaling.Replicas
}

func newServing(variants []scaling.VariantKey) *serving {
	return &serving{of: make(map[scaling.VariantKey][]decidedAt, len(variants))}
}

// next returns how many replicas of v would be Ready at a time: the least number decided on within
// the start-up before it. At the first cycle, these are the Ready ones.
func (s *serving) next(at time.Time, v Seen) scaling.Replicas {
	startUp := v.StartUp
	if startUp <= 0 {
		startUp = AssumedStartUp
	}
	past := s.of[v.Key]
	if past == nil {
		past = []decidedAt{{at.Add(-startUp), v.Ready}}
	}
	past = append(past, decidedAt{at, v.Target})
	// The last decision older than the start-up was still in force when it began.
	first := 0
	for first+1 < len(past) && !past[first+1].at.After(at.Add(-startUp)) {
		first++
	}
	past = past[first:]
	s.of[v.Key] = past
	least := scaling.Replicas(math.MaxInt)
	for _, d := range past {
		least = min(least, d.replicas)
	}
	return least
}
