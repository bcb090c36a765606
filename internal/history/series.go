package history

import "math"

// instant is a time in tenths of a second since the base of a History.
type instant = uint32

const second instant = 10

// point is a value that holds from an instant until the next point. NaN means unknown.
type point struct {
	at instant
	v  float32
}

// pointBytes is the size of a point.
const pointBytes = 8

// least is the smallest limit of a series.
const least = 12

// series is one quantity over time. It holds a point for each change of the value. Where its limit
// does not allow all of them, the older part is divided into equally long periods, of each of which
// the least, the greatest and the last value remain. The zero value is empty.
type series struct {
	points []point
	// fine is the instant from which on no point was thinned.
	fine instant
	last float32 // the value of the last point, where there is one
}

// add appends the value at an instant after the last one.
func (s *series) add(at instant, v float32, limit int, span instant) {
	if len(s.points) > 0 && same(s.last, v) {
		return
	}
	if len(s.points) >= limit {
		s.thin(limit, at, span)
	}
	if len(s.points) == cap(s.points) {
		s.resize(min(limit, max(8, 2*cap(s.points))))
	}
	s.points, s.last = append(s.points, point{at, v}), v
}

func same(a, b float32) bool { return a == b || unknown(a) && unknown(b) }

func unknown(v float32) bool { return math.IsNaN(float64(v)) }

// resize moves the points to memory for n points, n >= len.
func (s *series) resize(n int) {
	s.points = append(make([]point, 0, n), s.points...)
}

// fit thins s to a limit and frees the memory beyond it.
func (s *series) fit(limit int, at, span instant) {
	if len(s.points) > limit {
		s.thin(limit, at, span)
	}
	if cap(s.points) > limit {
		s.resize(max(len(s.points), min(limit, cap(s.points))))
	}
}

// thin reduces s to at most seven eighths of a limit. It keeps the newest quarter as it is.
func (s *series) thin(limit int, now, span instant) {
	s.forget(now, span)
	keep, extent := limit/4, now-s.points[0].at
	for width := thinned(limit, extent); len(s.points) > limit*7/8; width *= 2 {
		recent := max(0, len(s.points)-keep)
		out, i := 0, 0
		for i < recent {
			j := i + 1
			for j < recent && s.points[j].at/width == s.points[i].at/width {
				j++
			}
			out += compact(s.points[out:], s.points[i:j])
			i = j
		}
		if out < recent {
			s.fine = s.points[recent-1].at + 1
			s.points = append(s.points[:out], s.points[recent:]...)
		}
		if width > extent { // a single period
			break
		}
	}
}

// thinned returns how long the periods are to which the older part of a series is thinned. Each
// keeps up to three points: together half of the limit.
func thinned(limit int, extent instant) instant {
	return instant(max(1, 6*uint64(extent)/uint64(limit)))
}

// forget drops points whose values ended before the span.
func (s *series) forget(now, span instant) {
	if now < span {
		return
	}
	from, drop := now-span, 0
	for drop+1 < len(s.points) && s.points[drop+1].at <= from {
		drop++
	}
	s.points = append(s.points[:0], s.points[drop:]...)
}

// compact writes the points with the least, the greatest and the last value to to, in order of
// time, and returns their number. to may begin where of begins.
func compact(to, of []point) int {
	low, high, last := -1, -1, len(of)-1
	for i, p := range of {
		if unknown(p.v) {
			continue
		}
		if low < 0 || p.v < of[low].v {
			low = i
		}
		if high < 0 || p.v > of[high].v {
			high = i
		}
	}
	first, second := min(low, high), max(low, high)
	n, kept, before := 0, [3]point{}, -1
	for _, i := range [3]int{first, second, last} {
		if i > before { // known, and not yet written
			kept[n], before = of[i], i
			n++
		}
	}
	return copy(to, kept[:n])
}

// value returns the value at an instant, NaN before the first point.
func (s *series) value(at instant) float64 {
	low, high := 0, len(s.points)
	for low < high {
		if mid := (low + high) / 2; s.points[mid].at <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return math.NaN()
	}
	return float64(s.points[low-1].v)
}

// rows returns the value at each instant of at, which is ascending.
func (s *series) rows(at []instant) Column {
	out := make(Column, len(at))
	i := 0
	for n, t := range at {
		for i < len(s.points) && s.points[i].at <= t {
			i++
		}
		out[n] = math.NaN()
		if i > 0 {
			out[n] = float64(s.points[i-1].v)
		}
	}
	return out
}

// pairs returns the least and the greatest value, in order of time, of each of n periods of a
// width, of which the first begins at from and the last ends at end; then the value at end.
func (s *series) pairs(from, width instant, n int, end instant) Column {
	out := make(Column, 0, 2*n+1)
	i := 0
	for range n {
		to := min(from+width, end)
		for i < len(s.points) && s.points[i].at < from {
			i++
		}
		j := i
		for j < len(s.points) && s.points[j].at < to {
			j++
		}
		within := s.points[i:j]
		var buffer [3]point
		if i > 0 && (len(within) == 0 || within[0].at > from && from >= s.fine) {
			buffer[0] = point{from, s.points[i-1].v} // the value of the point before still holds
			within = append([]point{buffer[0]}, within...)
		}
		k := 0
		if len(within) > 0 {
			k = compact(buffer[:], within)
		}
		switch {
		case k == 0:
			out = append(out, math.NaN(), math.NaN())
		case k > 1 && !unknown(buffer[1].v):
			out = append(out, float64(buffer[0].v), float64(buffer[1].v))
		default:
			out = append(out, float64(buffer[0].v), float64(buffer[0].v))
		}
		i, from = j, from+width
	}
	return append(out, s.value(end))
}
