package cycle

import (
	"fmt"
	"math/rand/v2"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// letters form no word and are not mistaken for one another, like the letters of names that
// Kubernetes generates.
const letters = "bcdfghjklmnpqrstvwxz2456789"

// processLength is the length of the name of a process. With 27 letters there
// are 2.8e11 names: two of 10,000 processes share one with a probability of
// 2e-4.
const processLength = 8

// NewProcess draws a name for a process; the ids of its cycles start with it. r must be
// seeded differently in every process.
func NewProcess(r *rand.Rand) string {
	name := make([]byte, processLength)
	for i := range name {
		name[i] = letters[r.IntN(len(letters))]
	}
	return string(name)
}

// id returns the name of the nth cycle of a process, counted from 1.
func id(process string, n int64) scaling.CycleID {
	return scaling.CycleID(fmt.Sprintf("%s-%d", process, n))
}
