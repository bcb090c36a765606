//go:build !race

package lab

import "time"

// halfDay is how long a constant load is watched.
const halfDay = 12 * time.Hour
