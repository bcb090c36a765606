package zoo

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// MaxRequests is about the largest number of requests of a case, unless a Stock says otherwise. A
// case of constant load, which runs for long, has up to twice as many.
const MaxRequests = 100_000

// attempts is how many fleets and loads Draw tries to keep within the requests, before it lowers
// the number of replicas.
const attempts = 40

// Draw returns the case of a seed and an index. Equal arguments give equal cases.
func Draw(seed uint64, index int, s Stock) Case {
	d := dice.New(seed, uint64(index))
	size := d.Around(1, 200)
	kind, goal := s.kind(d), drawGoal(d)
	var best draft
	for i := range attempts {
		one := s.draft(d, kind, size, goal)
		if i == 0 || one.rank() < best.rank() {
			best = one
		}
		if best.rank() <= 1 {
			break
		}
	}
	best.size /= max(1, best.over())
	c := best.finish(d)
	c.Name = fmt.Sprintf("zoo-%d-%d", seed, index)
	c.Description = fmt.Sprintf("%s, about %.0f replicas at the peak, %d requests in %s.",
		c.Drawn.Traffic, math.Ceil(c.Drawn.Replicas), c.Drawn.Requests, c.Drawn.Window)
	return c
}

// draft is a fleet with its traffic, without the parts that do not change the work.
type draft struct {
	goal
	most    float64 // requests
	size    float64 // replicas that the peak needs
	traffic traffic
	models  []served
}

// goal is the target of a case.
type goal struct {
	target     float64 // share of the requests that should meet their objectives
	percentile bool    // our policies know the target
}

// drawGoal draws a target. One of four users states no percentile.
func drawGoal(d dice.Dice) goal {
	if d.IntN(4) == 0 {
		return goal{target: lab.DefaultTarget}
	}
	return goal{dice.Pick(d, lab.DefaultTarget, lab.DefaultTarget, lab.DefaultTarget, 0.9, 0.99), true}
}

// draft draws traffic of a kind and a fleet for it, over a window as long as the limit of requests
// allows.
func (s Stock) draft(d dice.Dice, kind string, size float64, g goal) draft {
	form := s.form(d, kind)
	out := draft{goal: g, most: cmp.Or(float64(s.Requests), MaxRequests), size: size, models: s.fleet(d, form.lengths, g.target)}
	least := 2 * time.Hour
	if size > 30 {
		least = time.Hour
	}
	window := form.window(d.Span(least, 24*time.Hour, 10*time.Minute), least)
	out.traffic = form.over(window)
	for range 3 { // the peak depends on the window
		if over := out.over(); over > 1 {
			window = form.window(time.Duration(float64(window)/over).Truncate(10*time.Minute), least)
			out.traffic = form.over(window)
		}
	}
	return out
}

// fleet draws one model or two, with 1 to 4 variants together.
func (s Stock) fleet(d dice.Dice, l Lengths, target float64) []served {
	variants := dice.Pick(d, 1, 1, 1, 2, 2, 3, 4)
	if variants == 1 || d.IntN(4) > 0 {
		return []served{s.served(d, l, 1, variants, target)}
	}
	return []served{s.served(d, l, 2, variants-variants/2, target), s.served(d, l, dice.Pick(d, 1.0, 2), variants/2, target)}
}

// peak returns the rate of the busiest ten minutes, requests/s, for which the first variants need
// as many replicas as the draft has.
func (f draft) peak() float64 {
	shares, need := 0.0, 0.0
	for _, m := range f.models {
		shares += m.share
		need += m.share / m.speed
	}
	return f.size * shares / need
}

// requests returns about the number of requests.
func (f draft) requests() float64 {
	return f.peak() * f.traffic.mean / f.traffic.peak * f.traffic.window.Seconds()
}

// over returns the number of requests over its limit.
func (f draft) over() float64 {
	if f.traffic.kind == constant {
		return f.requests() / (2 * f.most)
	}
	return f.requests() / f.most
}

// rank orders drafts, the best first: a draft whose judged part has less than a third of the mean
// load is worse than one with too many requests.
func (f draft) rank() float64 {
	const third, worse = 1. / 3, 1e6
	if f.traffic.judged < third {
		return worse + f.over()
	}
	return f.over()
}

// need returns the replicas of the first variant that the peak of a model needs.
func (f draft) need(m served) float64 {
	shares := 0.0
	for _, o := range f.models {
		shares += o.share
	}
	return f.peak() * m.share / shares / m.speed
}
