// Package spelling finds the name that a writer may have meant, shows what is in a text
// that a terminal would obey, and writes durations.
package spelling

import "strings"

// longest bounds the names that are compared, in bytes: the longest names of
// Kubernetes have 253, those of models fewer.
const longest = 256

// mostWork bounds what one search compares, in pairs of bytes: some 10 ms, or 4,000
// names of 30 bytes that are all near each other in length.
const mostWork = 1 << 22

// Nearest returns the known name with the fewest edits to name, case and
// separators aside, or "" if none is near: more than a third of it would have
// to change. Of equals the first wins. A name of more than 256 bytes has no nearest
// and is none. Its work is bounded: of very many known names the last are not
// compared.
func Nearest(name string, known []string) string {
	if len(name) > longest {
		return ""
	}
	best, fewest := "", 0
	from := plain(name)
	work := 0
	for _, candidate := range known {
		if len(candidate) > longest {
			continue
		}
		to := plain(candidate)
		if work += len(candidate) + 1; work > mostWork {
			break
		}
		allowed := max(1, len(to)/3)
		if max(len(from), len(to))-min(len(from), len(to)) > allowed {
			continue
		}
		if work += len(from) * len(to); work > mostWork {
			break
		}
		if d := distance(from, to); d <= allowed && (best == "" || d < fewest) {
			best, fewest = candidate, d
		}
	}
	return best
}

// Hint returns "; did you mean X?" with the name that is Nearest, "" where none is.
func Hint(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// plain drops what writers confuse most: case and separators.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance is the number of bytes to insert, delete or replace, or of neighbours
// to swap, that turns a into b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
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
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
