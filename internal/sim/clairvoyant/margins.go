package clairvoyant

import (
	"context"
	"math"
)

// family is the variants that a schedule is made of, by model and variant.
type family [][]bool

// families searches with all variants, then with each of them alone.
func (s *search) families(ctx context.Context) error {
	all, most := make(family, len(s.models)), 0
	for i, m := range s.models {
		all[i] = m.usable
		most = max(most, count(m.usable))
	}
	if err := s.family(ctx, all); err != nil || most < 2 {
		return err
	}
	for n := range most {
		one := make(family, len(s.models))
		for i, m := range s.models {
			one[i] = only(m.usable, n%count(m.usable))
		}
		if err := s.family(ctx, one); err != nil {
			return err
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

// only leaves the n-th of those usable.
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

// level is what one margin came to, by model and block.
type level struct{ cost, misses [][]float64 }

// family finds a schedule made of some variants.
func (s *search) family(ctx context.Context, f family) error {
	needs := s.needs(f)
	levels, err := s.levels(ctx, needs)
	if err != nil {
		return err
	}
	const rounds = 7
	low, high, budget := make([]float64, len(s.models)), make([]float64, len(s.models)), make([]float64, len(s.models))
	for i := range budget {
		budget[i], high[i] = 1, math.Inf(1)
	}
	for range rounds {
		choice := make([][]int, len(s.models))
		for i, m := range s.models {
			choice[i] = choose(levels, i, budget[i]*m.allow)
		}
		out, err := s.run(ctx, s.write(needs, choice))
		if err != nil {
			return err
		}
		for i := range s.models {
			if reached(s.reportOf(out, i)) {
				low[i] = budget[i]
			} else {
				high[i] = budget[i]
			}
			if math.IsInf(high[i], 1) {
				budget[i] *= 2
			} else {
				budget[i] = (low[i] + high[i]) / 2
			}
		}
	}
	return nil
}

// needs returns the replicas of every margin, by margin, line and tick.
func (s *search) needs(f family) [][][]int32 {
	out := make([][][]int32, len(margins))
	for l, margin := range margins {
		for i, m := range s.models {
			prices := make([]float64, len(m.prices))
			lines := make([][]int32, len(m.prices))
			for v := range prices {
				prices[v], lines[v] = math.NaN(), make([]int32, s.ticks)
				if f[i][v] {
					prices[v] = m.prices[v]
				}
			}
			for t := range s.ticks {
				for v, n := range m.demand.cover(t, margin, prices) {
					lines[v][t] = n
				}
			}
			out[l] = append(out[l], lines...)
		}
	}
	return out
}

// levels runs every margin for the whole time. Without replicas every request
// is missed, which takes no run.
func (s *search) levels(ctx context.Context, needs [][][]int32) ([]level, error) {
	levels := make([]level, len(margins))
	for l := range margins {
		choice := make([][]int, len(s.models))
		for i := range choice {
			choice[i] = make([]int, s.blocks)
			for b := range choice[i] {
				choice[i][b] = l
			}
		}
		script := s.write(needs, choice)
		levels[l].cost = s.costs(script)
		if l == 0 {
			levels[0].misses = s.arrivals()
			continue
		}
		out, err := s.run(ctx, script)
		if err != nil {
			return nil, err
		}
		levels[l].misses = out.misses
	}
	return levels, nil
}

// arrivals counts requests by model and block.
func (s *search) arrivals() [][]float64 {
	out := make([][]float64, len(s.models))
	for i, m := range s.models {
		out[i] = make([]float64, s.blocks)
		for t, n := range m.demand.arrived {
			out[i][min(t/s.block, s.blocks-1)] += n
		}
	}
	return out
}

// costs returns what a script costs, by model and block, in prices times ticks.
func (s *search) costs(script Script) [][]float64 {
	out := make([][]float64, len(s.models))
	for i, m := range s.models {
		out[i] = make([]float64, s.blocks)
		for v, price := range m.prices {
			for t, n := range script.Lines[s.firstLine(i)+v].Replicas {
				out[i][t/s.block] += price * float64(n)
			}
		}
	}
	return out
}

// choose returns the margin of each block with the least cost for a model, if
// about allow requests may miss: the price of a miss is the least with which no
// more do.
func choose(levels []level, model int, allow float64) []int {
	blocks := len(levels[0].cost[model])
	choice := make([]int, blocks)
	at := func(price float64) (misses float64) {
		for b := range blocks {
			best := math.Inf(1)
			for l := range levels {
				if c := levels[l].cost[model][b] + price*levels[l].misses[model][b]; c < best {
					best, choice[b] = c, l
				}
			}
			misses += levels[choice[b]].misses[model][b]
		}
		return misses
	}
	low, high := -40.0, 40.0 // of the binary logarithm of the price
	for range 60 {
		if mid := (low + high) / 2; at(math.Exp2(mid)) > allow {
			low = mid
		} else {
			high = mid
		}
	}
	at(math.Exp2(high))
	return choice
}

// write makes a script of the margins chosen by model and block. What is needed
// at a tick is ordered its lead ahead, and is kept over a gap that is shorter.
func (s *search) write(needs [][][]int32, choice [][]int) Script {
	script := Script{Tick: s.tick}
	line := 0
	for i, m := range s.models {
		for v, lead := range m.lead {
			need := make([]int32, s.ticks+1)
			for t := range s.ticks {
				need[t] = needs[choice[i][t/s.block]][line][t]
			}
			replicas := make([]int32, s.ticks)
			for t := range replicas { // asked for at tick t+1
				for ahead := t + 1; ahead <= min(t+1+lead, s.ticks); ahead++ {
					replicas[t] = max(replicas[t], need[ahead])
				}
			}
			script.Lines = append(script.Lines, Line{Variant: s.config.Models[i].Variants[v].Spec.Key, Replicas: replicas})
			line++
		}
	}
	return script
}
