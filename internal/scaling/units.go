package scaling

import "fmt"

// Accelerators counts devices such as GPUs. One replica has one or several; Variant.GPUs converts.
type Accelerators int

// Times returns the accelerators of n nodes, pods or replicas that have a each.
func (a Accelerators) Times(n int) Accelerators { return a * Accelerators(n) }

// Per returns the accelerators of each of n > 0 replicas that share a, rounded down.
func (a Accelerators) Per(n Replicas) Accelerators { return a / Accelerators(n) }

// Replicas counts replicas, in units of the scale subresource of their target. A replica is a
// serving engine with its accelerators, in one pod or in several.
type Replicas int

// Of returns the accelerators of n replicas that have a each.
func (a Accelerators) Of(n Replicas) Accelerators { return a * Accelerators(n) }

// Text writes a number of replicas: "1 replica", "3 replicas".
func (n Replicas) Text() string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}
