package report

// mostPoints is how many points of a series are kept: one for about two screen pixels.
const mostPoints = 600

// perStretch is how many points one stretch may keep: its first, least, greatest and last value,
// and a gap.
const perStretch = 5

// thin returns the indices of the points to keep, in order: all if they are no more than limit.
// Otherwise it cuts the series into stretches of equal length, and each keeps its first, least,
// greatest and last value and its first gap, a value that is not finite; in all at most limit
// points, or perStretch if that is more.
func thin(values []float64, limit int) []int {
	n := len(values)
	if n <= limit {
		kept := make([]int, n)
		for i := range kept {
			kept[i] = i
		}
		return kept
	}
	stretches := max(1, limit/perStretch)
	var kept []int
	for s := range stretches {
		kept = append(kept, landmarks(values, s*n/stretches, (s+1)*n/stretches)...)
	}
	return kept
}

// landmarks returns the indices in [from, to) that a stretch keeps, in order.
func landmarks(values []float64, from, to int) []int {
	first, last, least, greatest, gap := -1, -1, -1, -1, -1
	for i := from; i < to; i++ {
		if !finite(values[i]) {
			if gap < 0 {
				gap = i
			}
			continue
		}
		if first < 0 {
			first, least, greatest = i, i, i
		}
		last = i
		if values[i] < values[least] {
			least = i
		}
		if values[i] > values[greatest] {
			greatest = i
		}
	}
	var kept []int
	for i := from; i < to; i++ {
		if i == first || i == last || i == least || i == greatest || i == gap {
			kept = append(kept, i)
		}
	}
	return kept
}
