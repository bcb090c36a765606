package clairvoyant

import (
	"cmp"
	"context"
	"slices"
)

// joinBest runs the best of every model together.
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

// stretch is some ticks of one model.
type stretch struct {
	model, from, to int
	slack           float64 // replicas over those that are busy
}

// trim takes replicas away from the best script, some ticks at a time, for as
// long as runs are left and a pass finds one to take: from long stretches to
// short ones, those with the most slack first. A replica may be replaced by one
// of a cheaper variant.
func (s *search) trim(ctx context.Context) error {
	for s.best.Reached {
		before := costOf(s.best.Report)
		for width := min(s.ticks, 4*s.block); width >= 1; width /= 2 {
			for _, one := range s.stretches(width) {
				if err := s.trimStretch(ctx, one); err != nil {
					return err
				}
			}
		}
		if costOf(s.best.Report) == before {
			return nil
		}
	}
	return nil
}

// stretches returns those of a width, half overlapping, the most slack first.
func (s *search) stretches(width int) []stretch {
	var out []stretch
	for i := range s.models {
		for from := 0; from < s.ticks; from += max(1, width/2) {
			one := stretch{model: i, from: from, to: min(from+width, s.ticks)}
			one.slack = s.slack(one)
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b stretch) int { return cmp.Compare(b.slack, a.slack) })
	return out
}

// slack returns what the best script has over what is busy. What it asks for at
// a tick is there about a start-up later, which is neglected.
func (s *search) slack(one stretch) float64 {
	m := s.models[one.model]
	have, busy := 0.0, 0.0
	for v := range m.prices {
		line := s.best.Script.Lines[s.firstLine(one.model)+v].Replicas
		for t := one.from; t < one.to; t++ {
			have += float64(line[t])
			if line[t] > 0 {
				busy += m.demand.at(v, t)
			}
		}
	}
	if have == 0 {
		return 0
	}
	return have / max(busy, 1e-3)
}

// trimStretch tries every change within a stretch, a replica less until it does
// not help.
func (s *search) trimStretch(ctx context.Context, one stretch) error {
	m, first := s.models[one.model], s.firstLine(one.model)
	for v := range m.prices {
		for improved := true; improved; {
			var err error
			if improved, err = s.tryLess(ctx, first+v, -1, one.from, one.to); err != nil {
				return err
			}
		}
		for other := range m.prices {
			if m.usable[other] && m.prices[other] < m.prices[v] {
				if _, err := s.tryLess(ctx, first+v, first+other, one.from, one.to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tryLess runs the best script with a replica less on a line within a window,
// and one more on another line unless that is -1.
func (s *search) tryLess(ctx context.Context, line, other, from, to int) (improved bool, err error) {
	script := s.best.Script.clone()
	changed := false
	for t := from; t < to; t++ {
		if script.Lines[line].Replicas[t] > 0 {
			script.Lines[line].Replicas[t]--
			changed = true
			if other >= 0 {
				script.Lines[other].Replicas[t]++
			}
		}
	}
	if !changed {
		return false, nil
	}
	before := costOf(s.best.Report)
	if _, err := s.run(ctx, script); err != nil {
		return false, err
	}
	return costOf(s.best.Report) < before, nil
}
