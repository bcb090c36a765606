package record

import "strings"

// nearest returns the known name with the fewest edits to name, case aside, or
// "" if more than a third of it would have to change. Of equals the first wins.
func nearest(name string, known []string) string {
	best, fewest := "", 0
	from := strings.ToLower(name)
	for _, candidate := range known {
		allowed := max(1, len(candidate)/3)
		if max(len(from), len(candidate))-min(len(from), len(candidate)) > allowed {
			continue // and a name without end costs nothing
		}
		if d := distance(from, strings.ToLower(candidate)); d <= allowed && (best == "" || d < fewest) {
			best, fewest = candidate, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace that turns a into
// b (Levenshtein).
func distance(a, b string) int {
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
		}
		last, row = row, last
	}
	return last[len(b)]
}
