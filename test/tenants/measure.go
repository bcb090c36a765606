package tenants

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

// spent is the processor time and memory that the process has used so far.
type spent struct {
	cpu       time.Duration
	allocated uint64 // bytes
}

// spend collects garbage and returns what the process has used so far.
func spend() spent {
	runtime.GC()
	return spentSoFar()
}

func spentSoFar() spent {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for this process
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return spent{cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), allocated: m.TotalAlloc}
}

// spendAfterGC collects garbage and returns the bytes of the heap in use.
func spendAfterGC() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// sample keeps in peak, until it is stopped, the most bytes of the heap that a garbage collection
// found in use. Garbage does not count: its amount depends on when collections run, and a process
// near its memory limit runs them sooner.
func sample(peak *uint64) (stop func()) {
	runtime.GC()
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				metrics.Read(heap)
				*peak = max(*peak, heap[0].Value.Uint64())
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// expense judges processor time and memory. It measures again what exceeds its limit.
func expense(t *testing.T, c Case, honest *Honest, got outcome) []Violation {
	t.Helper()
	base, crowded := honest.of(t, c), c
	crowded.Honest = manyHonest
	slow, held := "", ""
	for try := range tries {
		if try > 0 {
			base, got = honest.again(t, c), play(t, c, false)
		}
		if slow, held = base.slower(honest.of(t, crowded), got), base.larger(honest.of(t, crowded), got); slow == "" && held == "" {
			break
		}
	}
	var out []Violation
	if slow != "" {
		out = append(out, Violation{Time, slow})
	}
	if held == "" && base.allocates(got) {
		// Most of it is garbage as a rule: measure how much was in use at a time.
		if a, b := play(t, Case{Honest: c.Honest, Stock: c.Stock, Trust: c.Trust}, true).peak, play(t, c, true).peak; b > a+mayHold(honest.of(t, crowded), got) {
			held = fmt.Sprintf("the heap has %d MB in use at its peak, without the hostile namespace %d MB: want at most %d MB more",
				b>>20, a>>20, mayHold(honest.of(t, crowded), got)>>20)
		}
	}
	if held != "" {
		out = append(out, Violation{Memory, held})
	}
	return out
}

// beyond returns how many variants of the hostile namespace may cost as much as honest ones: the
// served ones beyond mostVariants.
func beyond(got outcome) int {
	return max(0, min(got.variants, budget.DefaultLimits().Variants)-mostVariants)
}

// mayHold returns the bytes that the hostile namespace may hold, by the memory of many honest
// variants.
func mayHold(many, got outcome) uint64 {
	return mostHeld + many.held/manyHonest*uint64(beyond(got))
}

// slower returns which interval takes too long, "" for none. The limit is stated for many honest
// variants: half of their time, and extra.
func (base outcome) slower(many, got outcome) string {
	for n := range got.took {
		each := many.took[n] / manyHonest
		most := base.took[n] + time.Duration((factor-1)*float64(many.took[n])) + extra + each*time.Duration(beyond(got))
		if got.took[n] > most {
			return fmt.Sprintf("interval %d takes %s of processor time, without the hostile namespace %s: want at most %s",
				n, got.took[n].Round(time.Millisecond), base.took[n].Round(time.Millisecond), most.Round(time.Millisecond))
		}
	}
	return ""
}

// larger returns how much memory is held beyond the limit, "" where it is not.
func (base outcome) larger(many, got outcome) string {
	if most := mayHold(many, got); got.held > base.held+most {
		return fmt.Sprintf("the manager holds %d MB, without the hostile namespace %d MB: want at most %d MB more", got.held>>20, base.held>>20, most>>20)
	}
	return ""
}

// allocates reports whether an interval allocated so much that too much may have been in use at a
// time.
func (base outcome) allocates(got outcome) bool {
	for n := range got.allocated {
		if got.allocated[n] > base.allocated[n]+mostHeld {
			return true
		}
	}
	return false
}
