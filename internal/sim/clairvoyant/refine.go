package clairvoyant

import (
	"context"
	"math"
	"slices"
)

// joinBest runs the best lines of every model together.
func (s *search) joinBest(ctx context.Context) error {
	if len(s.models) == 1 {
		return nil
	}
	script := Script{Tick: s.tick}
	for _, m := range s.models {
		if m.best == nil {
			return nil
		}
		script.Lines = append(script.Lines, m.best...)
	}
	_, err := s.run(ctx, script)
	return err
}

// move adds or removes replicas on a line of a script over some ticks, with the measured effect.
type move struct {
	line, from, to int
	by             int32
	cost           float64 // in prices times ticks
	misses         float64
}

// refine changes the best script by one replica over stretches of time, from long ones to short
// ones, while runs are left and a pass improves something.
//
// One run measures the effect of a change in many stretches: those so far apart that a change does
// not affect the requests of another. Then refine makes the changes that save most for their
// misses, while the attainment is kept: the price of a miss decides, the same for all stretches.
func (s *search) refine(ctx context.Context) error {
	longest := 0
	for _, m := range s.models {
		longest = max(longest, slices.Max(m.lead))
	}
	shortest := max(1, longest/2)
	for pass := 0; ; pass++ {
		before := s.missed
		cost := costOf(s.best.Report)
		for width := max(shortest, min(8*s.block, (s.ticks-s.from)/2)); width >= shortest; width /= 2 {
			for v := range s.mostVariants() {
				moves, err := s.measure(ctx, stretches{width: width, shift: pass % 2 * width / 2, apart: s.apart(width, longest)}, v)
				if err != nil {
					return err
				}
				if err := s.make(ctx, moves); err != nil {
					return err
				}
			}
		}
		if costOf(s.best.Report) == cost && s.missed == before {
			return nil
		}
	}
}

// apart returns the distance, in widths, of the stretches that one run changes: three, or as long
// as the effect of a change lasts.
func (s *search) apart(width, lead int) int {
	return max(3, (width+lead+s.block+width-1)/width)
}

func (s *search) mostVariants() int {
	n := 0
	for _, m := range s.models {
		n = max(n, len(m.prices))
	}
	return n
}

// stretches divides the time into stretches of width ticks, of which one run changes every
// apart-th.
type stretches struct{ width, shift, apart int }

// measure runs the best script with one replica more, and with one fewer, in every stretch of one
// variant of each model.
func (s *search) measure(ctx context.Context, cut stretches, variant int) ([]move, error) {
	base := s.best
	var scripts []Script
	var moves [][]move
	for _, by := range []int32{-1, 1} {
		for first := range cut.apart {
			script := base.Script.clone()
			var some []move
			for from := first*cut.width - cut.shift; from < s.ticks; from += cut.apart * cut.width {
				for i := range s.models {
					if m := s.change(script, i, variant, from, from+cut.width, by); m.by != 0 {
						some = append(some, m)
					}
				}
			}
			if len(some) > 0 {
				scripts, moves = append(scripts, script), append(moves, some)
			}
		}
	}
	out, err := s.run(ctx, scripts...)
	var all []move
	for k, one := range out {
		for _, m := range moves[k] {
			model := s.modelOf(m.line)
			until := m.from + cut.apart*cut.width
			m.misses = s.missedIn(one.misses[model], m.from, until) - s.missedIn(base.misses[model], m.from, until)
			all = append(all, m)
		}
	}
	return all, err
}

// change adds by replicas to a variant over some ticks of a script, within its bounds; it never
// removes the last replica that serves requests. The move is zero if nothing changes or the variant
// is not used.
func (s *search) change(script Script, model, variant, from, to int, by int32) move {
	m := s.models[model]
	if variant >= len(m.prices) || !m.usable[variant] {
		return move{}
	}
	first := s.firstLine(model)
	line := script.Lines[first+variant].Replicas
	out := move{line: first + variant, from: max(0, from), to: min(to, s.ticks)}
	for t := max(from, s.from-m.lead[variant], 0); t < out.to; t++ {
		n := line[t] + by
		if n < m.least[variant] || n > m.most[variant] || n == 0 && m.busy[t] && s.total(script, model, t) == 1 {
			continue
		}
		line[t] = n
		out.by = by
		if t >= s.from {
			out.cost += float64(by) * m.prices[variant]
		}
	}
	return out
}

// total returns the replicas of a model at a tick.
func (s *search) total(script Script, model, tick int) int32 {
	n := int32(0)
	first := s.firstLine(model)
	for v := range s.models[model].prices {
		n += script.Lines[first+v].Replicas[tick]
	}
	return n
}

func (s *search) modelOf(line int) int {
	model := 0
	for model+1 < len(s.models) && s.firstLine(model+1) <= line {
		model++
	}
	return model
}

// missedIn returns the misses of the requests that arrive within some ticks.
func (s *search) missedIn(misses []float64, from, to int) float64 {
	sum := 0.0
	for b := max(0, from-s.from) / s.block; b < len(misses) && b*s.block < to-s.from; b++ {
		sum += misses[b]
	}
	return sum
}

// make makes the moves that pay, together; and, in case moves affect each other, those that pay
// with half of the misses that the attainment allows.
func (s *search) make(ctx context.Context, moves []move) error {
	base := s.best
	left := slack(base.Report)
	var scripts []Script
	for _, part := range []float64{1, 0.5} {
		chosen := choose(moves, math.Floor(left*part))
		if len(chosen) == 0 {
			continue
		}
		script := base.Script.clone()
		for _, m := range chosen {
			model := s.modelOf(m.line)
			s.change(script, model, m.line-s.firstLine(model), m.from, m.to, m.by)
		}
		scripts = append(scripts, script)
	}
	_, err := s.run(ctx, scripts...)
	return err
}

// choose returns the moves that lower the cost most for at most so many more misses; if misses is
// negative, those that save as many at the least cost. It takes at most one move for each stretch
// of a line.
func choose(moves []move, misses float64) []move {
	at := func(price float64) (chosen []move, sum float64) {
		type place struct{ line, from int }
		best := map[place]int{}
		for i, m := range moves {
			if gain := m.cost + price*m.misses; gain < 0 {
				at := place{m.line, m.from}
				if j, ok := best[at]; !ok || gain < moves[j].cost+price*moves[j].misses {
					best[at] = i
				}
			}
		}
		for i, m := range moves {
			if j, ok := best[place{m.line, m.from}]; ok && i == j {
				chosen = append(chosen, m)
				sum += m.misses
			}
		}
		return chosen, sum
	}
	low, high := -40.0, 40.0 // of the binary logarithm of the price
	for range 60 {
		mid := (low + high) / 2
		if _, sum := at(math.Exp2(mid)); sum > misses {
			low = mid
		} else {
			high = mid
		}
	}
	chosen, _ := at(math.Exp2(high))
	return chosen
}
