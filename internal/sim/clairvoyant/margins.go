package clairvoyant

import (
	"context"
	"math"
)

// starts runs the schedules of Options.Start.
func (s *search) starts(ctx context.Context) error {
	for _, given := range s.options.Start {
		script := Script{Tick: s.tick}
		for i, m := range s.models {
			for v := range m.prices {
				line := Line{Variant: s.config.Models[i].Variants[v].Spec.Key, Replicas: make([]int32, s.ticks)}
				for t := range line.Replicas {
					line.Replicas[t] = given.at(line.Variant, t, m.least[v])
				}
				script.Lines = append(script.Lines, line)
			}
		}
		if _, err := s.run(ctx, script); err != nil {
			return err
		}
	}
	return nil
}

// family says by model and variant which variants a schedule uses.
type family [][]bool

// families searches with all usable variants, then with each of them alone.
func (s *search) families(ctx context.Context) error {
	all, most := make(family, len(s.models)), 0
	for i, m := range s.models {
		all[i] = m.usable
		most = max(most, count(m.usable))
	}
	families := []family{all}
	for n := range most {
		one := make(family, len(s.models))
		for i, m := range s.models {
			one[i] = only(m.usable, n%count(m.usable))
		}
		if most > 1 {
			families = append(families, one)
		}
	}
	for _, f := range families {
		for _, length := range []int{s.block, 3 * s.block} {
			if err := s.constant(ctx, f, length); err != nil {
				return err
			}
		}
	}
	return nil
}

func count(usable []bool) int {
	n := 0
	for _, u := range usable {
		if u {
			n++
		}
	}
	return n
}

// only returns usable with the n-th true value alone.
func only(usable []bool, n int) []bool {
	out := make([]bool, len(usable))
	for i, u := range usable {
		if u && n == 0 {
			out[i] = true
		}
		if u {
			n--
		}
	}
	return out
}

// constant searches for a schedule with constant counts over blocks of length ticks: the mean
// demand of the block times a margin, the same for all blocks of a model. It narrows the margin
// between the largest that misses the attainment and the smallest that reaches it.
func (s *search) constant(ctx context.Context, f family, length int) error {
	const rounds = 3
	low, high := make([]float64, len(s.models)), make([]float64, len(s.models))
	for i := range low {
		low[i], high[i] = 0.5, math.Inf(1)
	}
	first := []float64{0.9, 1.35, 2, 3}
	tries := make([][]float64, len(first))
	for k, margin := range first {
		for range s.models {
			tries[k] = append(tries[k], margin)
		}
	}
	for range rounds {
		var scripts []Script
		for _, margins := range tries {
			scripts = append(scripts, s.write(f, length, margins))
		}
		out, err := s.run(ctx, scripts...)
		if err != nil {
			return err
		}
		for k, one := range out {
			for i := range s.models {
				if reached(s.reportOf(one.Report, i)) {
					high[i] = min(high[i], tries[k][i])
				} else {
					low[i] = max(low[i], tries[k][i])
				}
			}
		}
		tries = [][]float64{make([]float64, len(low)), make([]float64, len(low))}
		for i := range low {
			ratio := high[i] / low[i]
			if math.IsInf(ratio, 1) || ratio < 1 {
				ratio = 4
			}
			tries[0][i], tries[1][i] = low[i]*math.Cbrt(ratio), low[i]*math.Cbrt(ratio*ratio)
		}
	}
	return nil
}

// write makes a script of constant counts over blocks of length ticks, by the margin of each model.
// It orders the replicas of a tick their lead ahead, and keeps them over shorter gaps.
func (s *search) write(f family, length int, margins []float64) Script {
	script := Script{Tick: s.tick}
	for i, m := range s.models {
		needs := s.counts(m, f[i], length, margins[i])
		for v, lead := range m.lead {
			replicas := make([]int32, s.ticks)
			for t := range replicas { // ordered at tick t+1
				for ahead := t + 1; ahead <= min(t+1+lead, s.ticks-1); ahead++ {
					replicas[t] = max(replicas[t], needs[v][ahead])
				}
				replicas[t] = min(max(replicas[t], m.least[v]), m.most[v])
			}
			script.Lines = append(script.Lines, Line{Variant: s.config.Models[i].Variants[v].Spec.Key, Replicas: replicas})
		}
	}
	return script
}

// counts returns the replicas that a model needs at every tick, by variant.
func (s *search) counts(m *modelSearch, usable []bool, length int, margin float64) [][]int32 {
	prices, need := make([]float64, len(m.prices)), make([]float64, len(m.prices))
	out := make([][]int32, len(m.prices))
	cheapest := -1
	for v := range prices {
		prices[v], out[v] = math.NaN(), make([]int32, s.ticks)
		if usable[v] {
			prices[v] = m.prices[v]
			if cheapest < 0 || prices[v] < prices[cheapest] {
				cheapest = v
			}
		}
	}
	for from := 0; from < s.ticks; from += length {
		to, sum := min(from+length, s.ticks), int32(0)
		for v := range need {
			need[v] = margin * m.demand.mean(v, from, to)
		}
		chosen := cover(need, prices)
		for v, n := range chosen {
			sum += n
			for t := from; t < to; t++ {
				out[v][t] = n
			}
		}
		if sum == 0 { // next to no work is due
			for t := from; t < to; t++ {
				if m.busy[t] {
					out[cheapest][t] = 1
				}
			}
		}
	}
	return out
}
