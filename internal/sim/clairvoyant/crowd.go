package clairvoyant

import (
	"slices"
	"time"
)

// second is the width of the buckets in which windows are counted.
const second = time.Second

// crowd counts how many windows touch each bucket of time.
type crowd struct {
	change []int32 // of the count from the bucket before
	counts []int32 // after close
}

// add counts a window. Windows come in any order.
func (c *crowd) add(w window) {
	from := int(w.from / second)
	c.grow(from + 1)
	c.change[from]++
	if w.last == never {
		return
	}
	to := int(w.last/second) + 1
	c.grow(to + 1)
	c.change[to]--
}

func (c *crowd) grow(n int) {
	if n > len(c.change) {
		c.change = append(c.change, slices.Repeat([]int32{0}, max(n, 2*len(c.change))-len(c.change))...)
	}
}

// close ends the counting.
func (c *crowd) close() {
	c.counts = c.change
	c.change = nil
	for i := 1; i < len(c.counts); i++ {
		c.counts[i] += c.counts[i-1]
	}
}

// most returns the largest count in the buckets that a window touches.
func (c *crowd) most(w window) int {
	from := int(w.from / second)
	to := len(c.counts)
	if w.last != never {
		to = min(to, int(w.last/second)+1)
	}
	return int(slices.Max(c.counts[from:to]))
}
