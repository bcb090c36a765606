//go:build race

package lab

import "time"

// halfDay is how long a constant load is watched: the detector takes twenty times
// as long, and finds no race that the first hour has not.
const halfDay = 90 * time.Minute
