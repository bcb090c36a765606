//go:build !race

package profile

// bytesAtMost is how much learning one variant may allocate in a cycle.
const bytesAtMost = 2 << 10
