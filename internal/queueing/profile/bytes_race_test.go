//go:build race

package profile

// bytesAtMost is how much learning one variant may allocate in a cycle: the detector puts on the
// heap what is on the stack otherwise.
const bytesAtMost = 32 << 10
