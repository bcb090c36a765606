package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ILPParams are the parameters of AIBrix's GPU optimizer (Melange) and of the
// autoscaler that carries out its plan.
type ILPParams struct {
	Window   time.Duration // of the arrivals that count, >= 10 s
	Slices   int           // pieces of one bucket of lengths, >= 1
	MaxUp    float64       // factor of growth at once, >= 1.1
	MaxDown  float64       // factor of reduction at once, >= 1.1
	Cooldown time.Duration // window of the cooldown down, >= 0
	Resync   time.Duration // between plans, >= 1 s
}

// DefaultILPParams returns AIBrix's defaults: a window of 240 s and a plan every 10 s.
func DefaultILPParams() ILPParams {
	return ILPParams{
		Window: 240 * time.Second, Slices: 1, MaxUp: 2, MaxDown: 2,
		Cooldown: 300 * time.Second, Resync: 10 * time.Second,
	}
}

func (p *ILPParams) fields() []field {
	return []field{
		span("window", "window of the arrivals that count", &p.Window, 10*time.Second, "60s", "120s", "240s", "600s", "1200s"),
		count("slices", "pieces of a bucket of lengths", &p.Slices, 1),
		number("max-up", "most growth at once, a factor", &p.MaxUp, 1.1, unlimited),
		number("max-down", "most reduction at once, a factor", &p.MaxDown, 1.1, unlimited, "1.1", "2"),
		span("cooldown", "window of the cooldown down", &p.Cooldown, 0),
		span("resync", "time between plans", &p.Resync, time.Second),
	}
}

// bucket is a cell of the profile grid, in tokens.
type bucket struct{ input, output float64 }

type ilp struct {
	p     ILPParams
	rates map[bucket]*series
	cools perVariant[cooldown]
}

// NewAIBrixILP returns a rule that buys, every Resync, the cheapest replicas that serve the
// arrivals by length within the objectives, whatever runs now: no hysteresis, and only the cooldown
// of the autoscaler behind it limits changes.
//
// By design it attains little where the load varies. It buys replicas that the arrivals keep full
// all the time, so that none has spare capacity for a queue, and it does not see the queue. Its
// cooldown uses the least recommendation of the window and not the greatest, so that one quiet look
// removes replicas that take minutes to come back.
func NewAIBrixILP(p ILPParams) (Autoscaler, error) {
	return &ilp{p, map[bucket]*series{}, perVariant[cooldown]{}}, check("aibrix-ilp", p.fields())
}

func (o *ilp) Interval() time.Duration { return o.p.Resync }

func (o *ilp) Decide(now time.Time, in Observation) []Target {
	capacity := func(v Variant, b bucket) float64 { return v.rateAt(Workload{b.input, b.output}) }
	slices := o.demand(now, in.Load.Shapes)
	plan, why := planILP(in.Variants, slices, capacity)
	if plan == nil {
		return each(in, func(v Variant) (scaling.Replicas, string) { return v.Replicas.Current, "ILP: hold, " + why })
	}
	return each(in, func(v Variant) (scaling.Replicas, string) {
		current := float64(v.Replicas.Current)
		want := min(max(float64(plan[v.Key]), math.Floor(current/o.p.MaxDown)), max(1, math.Ceil(current*o.p.MaxUp)))
		c := o.cools.of(v.Key, func() *cooldown { return &cooldown{} })
		n := c.apply(now, v.Replicas.Current, v.Bounds.Clamp(scaling.Replicas(want)), 0, o.p.Cooldown)
		return v.Bounds.Clamp(n), fmt.Sprintf("ILP: plans %d for %s", plan[v.Key], why)
	})
}

// demand folds the arrivals into the grid and cuts each bucket into slices. The
// rate of a bucket is the larger of its mean over the window and the latest.
func (o *ilp) demand(now time.Time, shapes []Shape) []slice {
	latest := map[bucket]float64{}
	for _, s := range shapes {
		if s.Rate > 0 && s.InputTokens > 0 && s.OutputTokens > 0 {
			latest[bucket{tick(s.InputTokens, 128), tick(s.OutputTokens, 4)}] += s.Rate
		}
	}
	for b := range latest {
		if o.rates[b] == nil {
			o.rates[b] = &series{}
		}
	}
	// A bucket counts over the whole window: without arrivals it counts 0.
	steps := max(1, math.Round(o.p.Window.Seconds()/o.p.Resync.Seconds()))
	var out []slice
	for b, s := range o.rates {
		s.add(now, latest[b], o.p.Window)
		mean := s.mean(now, o.p.Window) * min(1, float64(len(*s))/steps)
		if rate := max(mean, latest[b]); rate > 0 {
			for range o.p.Slices {
				out = append(out, slice{b, rate / float64(o.p.Slices)})
			}
		} else {
			delete(o.rates, b)
		}
	}
	slices.SortFunc(out, func(x, y slice) int {
		return cmp.Or(cmp.Compare(y.rate, x.rate), cmp.Compare(x.input, y.input), cmp.Compare(x.output, y.output))
	})
	return out
}

// tick returns the point of the grid nearest to v: first times a power of two.
func tick(v, first float64) float64 {
	return max(first*math.Exp2(math.Round(math.Log2(v/first))), first)
}

// slice is a part of the arrivals that goes to one variant.
type slice struct {
	bucket
	rate float64 // requests/s
}

// planILP solves: minimize the sum of cost*y, where every slice goes to one
// variant, the sum of rate/capacity of its slices is at most y, and y is whole.
// The plan is nil, with the reason, if a slice fits no variant.
func planILP(variants []Variant, demand []slice, capacity func(Variant, bucket) float64) (plan map[scaling.VariantKey]scaling.Replicas, why string) {
	s := search{best: math.Inf(1), load: make([]float64, len(variants)), left: searchLimit}
	for _, v := range variants {
		s.cost = append(s.cost, v.Cost)
	}
	for _, d := range demand {
		row := make([]float64, len(variants))
		fits := false
		for j, v := range variants {
			row[j] = math.Inf(1)
			if c := capacity(v, d.bucket); c > 0 {
				row[j], fits = d.rate/c, true
			}
		}
		if !fits {
			return nil, fmt.Sprintf("no variant was measured to serve %.0f input and %.0f output tokens within the objectives", d.input, d.output)
		}
		s.need = append(s.need, row)
	}
	s.bound()
	s.place(0)
	plan = map[scaling.VariantKey]scaling.Replicas{}
	for j, v := range variants {
		plan[v.Key] = s.plan[j]
	}
	return plan, fmt.Sprintf("%d slices of load at a cost of %.4g per hour", len(demand), s.best)
}

// searchLimit bounds the search of one plan. The first descent takes each slice to the variant that
// is cheapest so far, so that a plan always exists. The limit costs at most the gap between that
// plan and the optimum.
const searchLimit = 20000

// search is branch and bound over the assignments, depth first.
type search struct {
	cost []float64
	need [][]float64 // replicas of each variant that a slice takes, +Inf where it does not fit
	rest []float64   // least cost of the slices from an index on, in parts of replicas
	load []float64   // replicas taken so far, by variant
	best float64
	plan []scaling.Replicas
	left int
}

// bound computes rest.
func (s *search) bound() {
	s.rest = make([]float64, len(s.need)+1)
	for i := len(s.need) - 1; i >= 0; i-- {
		least := math.Inf(1)
		for j, n := range s.need[i] {
			if !math.IsInf(n, 1) {
				least = min(least, n*s.cost[j])
			}
		}
		s.rest[i] = s.rest[i+1] + least
	}
}

// whole rounds a load up to replicas; the slack absorbs sums such as 0.1+0.2.
func whole(load float64) float64 { return math.Ceil(load - 1e-9) }

// spent returns the cost of the slices placed so far, in whole replicas or in parts.
func (s *search) spent(round func(float64) float64) float64 {
	var sum float64
	for j, l := range s.load {
		sum += s.cost[j] * round(l)
	}
	return sum
}

// place tries the variants for slice i, the cheapest next cost first.
func (s *search) place(i int) {
	s.left--
	placed := s.spent(whole)
	if i == len(s.need) {
		if placed < s.best {
			s.best = placed
			s.plan = make([]scaling.Replicas, len(s.load))
			for j, l := range s.load {
				s.plan[j] = scaling.Replicas(whole(l))
			}
		}
		return
	}
	parts := s.spent(func(l float64) float64 { return l }) + s.rest[i]
	if max(placed, parts) >= s.best-1e-9 {
		return
	}
	order := make([]int, 0, len(s.cost))
	for j, n := range s.need[i] {
		if !math.IsInf(n, 1) {
			order = append(order, j)
		}
	}
	next := func(j int) float64 {
		return s.cost[j] * (whole(s.load[j]+s.need[i][j]) - whole(s.load[j]))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(next(a), next(b)), cmp.Compare(s.cost[a]*s.need[i][a], s.cost[b]*s.need[i][b]))
	})
	for _, j := range order {
		if s.left <= 0 && s.plan != nil {
			return
		}
		before := s.load[j]
		s.load[j] += s.need[i][j]
		s.place(i + 1)
		s.load[j] = before
	}
}
