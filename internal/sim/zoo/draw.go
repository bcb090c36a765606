package zoo

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
)

// MaxRequests is how many requests a case has at most, about. A case of constant load,
// which has to be watched for long, has three times as many.
const MaxRequests = 60_000

// attempts is how many fleets and kinds of traffic are drawn to find one that has no more
// requests, before fewer replicas are.
const attempts = 12

// Draw returns the case of a seed and an index. Equal arguments give equal cases.
func Draw(seed uint64, index int, s Stock) Case {
	d := dice.New(seed, uint64(index))
	size := d.Around(1, 200)
	kind := s.kind(d)
	var best draft
	for i := range attempts {
		one := s.draft(d, kind, size)
		if i == 0 || one.over() < best.over() {
			best = one
		}
		if best.over() <= 1 {
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

// draft is a fleet with its traffic, without what does not change the work.
type draft struct {
	size    float64 // replicas that the peak needs
	traffic traffic
	models  []served
}

// draft draws traffic of a kind and a fleet for it, and as long a window as a bounded
// number of requests allows.
func (s Stock) draft(d dice.Dice, kind string, size float64) draft {
	form := s.form(d, kind)
	out := draft{size: size, models: s.fleet(d, form.lengths)}
	window := form.window(d.Span(time.Hour, 24*time.Hour, 10*time.Minute))
	out.traffic = form.over(window)
	for range 3 { // another window has another peak
		if over := out.over(); over > 1 {
			window = form.window(time.Duration(float64(window) / over).Truncate(10 * time.Minute))
			out.traffic = form.over(window)
		}
	}
	return out
}

// fleet draws one model or two with 1 to 4 variants together.
func (s Stock) fleet(d dice.Dice, l Lengths) []served {
	variants := dice.Pick(d, 1, 1, 1, 2, 2, 3, 4)
	if variants == 1 || d.IntN(4) > 0 {
		return []served{s.served(d, l, 1, variants)}
	}
	return []served{s.served(d, l, 2, variants-variants/2), s.served(d, l, dice.Pick(d, 1.0, 2), variants/2)}
}

// peak returns the requests/s of the busiest ten minutes that need as many replicas of
// the first variants as the draft has.
func (f draft) peak() float64 {
	shares, need := 0.0, 0.0
	for _, m := range f.models {
		shares += m.share
		need += m.share / m.speed
	}
	return f.size * shares / need
}

// requests returns how many requests there are, about.
func (f draft) requests() float64 {
	return f.peak() * f.traffic.mean / f.traffic.peak * f.traffic.window.Seconds()
}

// over returns how many times too many requests there are.
func (f draft) over() float64 {
	if f.traffic.kind == constant {
		return f.requests() / (3 * MaxRequests)
	}
	return f.requests() / MaxRequests
}

// need returns the replicas of the first variant of a model that the peak needs.
func (f draft) need(m served) float64 {
	shares := 0.0
	for _, o := range f.models {
		shares += o.share
	}
	return f.peak() * m.share / shares / m.speed
}
