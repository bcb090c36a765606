// Package race tells tests whether they run under the race detector, which makes each case of a
// test take ten times as long.
package race

// Cases returns how many of n random cases a test runs: all of them without the race detector, and a
// tenth under it, at least one. The cases of one test run the same code: those left out under the
// detector find no race that the others do not, and make test runs them all without it.
func Cases(n int) int {
	if Enabled {
		return max(1, n/10)
	}
	return n
}

// Some returns the first Cases of a list.
func Some[T any](all []T) []T { return all[:Cases(len(all))] }
