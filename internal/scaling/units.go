package scaling

// Accelerators counts devices: GPUs or the like. One replica has one or several of them, so that
// a number of replicas is no number of Accelerators: Variant.GPUs says how many they take.
type Accelerators int

// Times returns the accelerators of n nodes, pods or replicas with a each.
func (a Accelerators) Times(n int) Accelerators { return a * Accelerators(n) }

// Per returns what each of n > 0 replicas has of a, rounded down.
func (a Accelerators) Per(n int) Accelerators { return a / Accelerators(n) }
