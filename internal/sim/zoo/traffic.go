package zoo

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// The kinds of traffic.
const (
	logs     = "log"
	mixed    = "mix"
	curves   = "curve"
	constant = "constant"
	day      = "day"
	steps    = "steps"
	ramps    = "ramps"
	flash    = "flash"
	onOff    = "on and off"
	bursts   = "bursts"
)

// kind draws the kind of traffic. Half of it has records.
func (s Stock) kind(d dice.Dice) string {
	kinds := []string{constant, constant, day, day, steps, ramps, flash, onOff, bursts, bursts}
	if len(s.logs()) > 0 {
		kinds = append(kinds, logs, logs, logs, logs, logs, logs, mixed, mixed)
	}
	if len(s.curves()) > 0 {
		kinds = append(kinds, curves, curves, curves)
	}
	return dice.Pick(d, kinds...)
}

// form is traffic without its length and its scale.
type form struct {
	kind    string
	lengths Lengths
	parts   []part
}

// traffic is a form over a window.
type traffic struct {
	kind       string
	window     time.Duration
	peak, mean float64 // requests/s of the busiest ten minutes, and of the window
	judged     float64 // mean rate of the judged part, over mean
	parts      func(times float64) []Part
}

// part is one of the workloads of a form.
type part interface {
	// over returns the part's rates over a window in bins of ten minutes, in any scale.
	over(window time.Duration) []float64
	// text returns the part with those rates times a factor.
	text(window time.Duration, times float64) Part
	// most returns the longest window that the part can fill.
	most() time.Duration
}

// form draws traffic of a kind.
func (s Stock) form(d dice.Dice, kind string) form {
	switch kind {
	case logs:
		one := dice.Pick(d, s.logs()...)
		return form{kind, lengthsOf(one.Requests), []part{stretchOf(d, one)}}
	case curves:
		l := someLengths(d)
		one := stretchOf(d, dice.Pick(d, s.curves()...))
		one.lengths = l
		return form{kind, l, []part{one}}
	case mixed:
		one := dice.Pick(d, s.logs()...)
		parts := []part{stretchOf(d, one)}
		if d.IntN(2) == 0 {
			other := dice.Pick(d, s.logs()...)
			return form{kind, lengthsOf(one.Requests).with(lengthsOf(other.Requests)), append(parts, stretchOf(d, other))}
		}
		l := someLengths(d)
		made := generated{draw(d, dice.Pick(d, day, steps, flash, onOff, bursts)), l}
		return form{kind, lengthsOf(one.Requests).with(l), append(parts, made)}
	}
	l := someLengths(d)
	return form{kind, l, []part{generated{draw(d, kind), l}}}
}

// logs returns the logs, those longer than half an hour three times, so that they are drawn more
// often.
func (s Stock) logs() []lab.Record {
	var out []lab.Record
	for _, r := range s.Traces {
		if r.Requests == nil {
			continue
		}
		if out = append(out, r); r.Span() > 30*time.Minute {
			out = append(out, r, r)
		}
	}
	return out
}

// curves returns the curves of rates.
func (s Stock) curves() []lab.Record {
	return slices.DeleteFunc(slices.Clone(s.Traces), func(r lab.Record) bool { return r.Requests != nil })
}

// someLengths draws the mean lengths of requests.
func someLengths(d dice.Dice) Lengths {
	return chat(dice.Digits(d.Around(80, 3000), 2), dice.Digits(d.Around(40, 1500), 2))
}

// window returns the window that is nearest to asked, no shorter than least unless a part is shorter.
func (f form) window(asked, least time.Duration) time.Duration {
	if f.kind == constant {
		return 12 * time.Hour // six to settle, six to judge
	}
	asked = max(asked, least)
	for _, p := range f.parts {
		asked = min(asked, p.most())
	}
	return asked
}

// over returns the traffic of the form over a window. Parts have the same mean rate.
func (f form) over(window time.Duration) traffic {
	t := traffic{kind: f.kind, window: window}
	var sum, scale []float64
	for _, p := range f.parts {
		bins := p.over(window)
		mean := 0.0
		for _, rate := range bins {
			mean += rate / float64(len(bins))
		}
		if sum == nil {
			sum = make([]float64, len(bins))
		}
		scale = append(scale, 1/max(mean, 1e-9))
		for i, rate := range bins {
			sum[i] += rate * scale[len(scale)-1]
		}
	}
	first := len(sum) * int(lab.FirstPart(window).Seconds()) / int(window.Seconds())
	for i, rate := range sum {
		t.mean += rate / float64(len(sum))
		t.peak = max(t.peak, rate)
		if i >= first {
			t.judged += rate / float64(len(sum)-first)
		}
	}
	t.judged /= max(t.mean, 1e-9)
	t.parts = func(times float64) []Part {
		var out []Part
		for i, p := range f.parts {
			out = append(out, p.text(window, dice.Digits(times*scale[i], 3)))
		}
		return out
	}
	return t
}

// stretch is a part of a record.
type stretch struct {
	lab.Record
	from    time.Duration
	lengths Lengths // of a curve
}

func stretchOf(d dice.Dice, r lab.Record) stretch {
	return stretch{Record: r, from: time.Duration(d.Between(0, r.Span().Seconds())) * time.Second}
}

func (s stretch) over(window time.Duration) []float64 { return rates(s.Record, s.from, window) }

func (s stretch) text(window time.Duration, times float64) Part {
	return Part{File: s.Name, From: s.from, For: window, Times: times, InputTokens: s.lengths.Input, OutputTokens: s.lengths.Output}
}

// most returns three times the length of the record, which repeats, or two hours.
func (s stretch) most() time.Duration { return max(3*s.Span(), 2*time.Hour) }

// generated is a part of a generator.
type generated struct {
	draw    func(window time.Duration, times float64) workload.Profile
	lengths Lengths
}

func (g generated) over(window time.Duration) []float64 {
	p := g.draw(window, 1)
	bin := min(10*time.Minute, window)
	var out []float64
	for at := time.Duration(0); at < window; at += bin {
		end := min(window, at+bin)
		out = append(out, (p.ArrivalsBy(end)-p.ArrivalsBy(at))/(end-at).Seconds())
	}
	return out
}

func (g generated) text(window time.Duration, times float64) Part {
	return Part{Generator: g.draw(window, times).String(), InputTokens: g.lengths.Input, OutputTokens: g.lengths.Output}
}

func (g generated) most() time.Duration { return 24 * time.Hour }
