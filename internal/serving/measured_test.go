package serving

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

// measurement is a profile of the shared profiles.json with what was measured on
// GPUs: times in ms, by batch size or by tokens of prompt.
type measurement struct {
	ID      string             `json:"id"`
	Quality string             `json:"quality"`
	Alpha   float64            `json:"alpha_ms"`
	Beta    float64            `json:"beta_ms"`
	Gamma   float64            `json:"gamma_ms"`
	Delta   float64            `json:"delta_ms_per_input_token"`
	Decode  map[string]float64 `json:"raw_decode_ms_by_batch"`
	Prompt  map[string]float64 `json:"raw_prefill_ms_by_prompt_tokens_batch1"`
	Prompts map[string]float64 `json:"raw_prefill_ms_by_batch_prompt512"`
}

// profile is the machine's, with the parameters that the file gives. A gamma
// below 0 is none.
func (m measurement) profile() Profile {
	return Profile{
		Name: m.ID, Accelerator: "any", AlphaMS: m.Alpha, BetaMS: m.Beta, GammaMS: max(0, m.Gamma), DeltaMS: m.Delta,
		MaxBatchSize: 256, MaxBatchedTokens: 1 << 20, KVCacheTokens: 1 << 22, BlockSize: 16, MaxModelLen: 1 << 20,
	}
}

// measurements returns those with points, or skips the test where the file is
// not at hand.
func measurements(t *testing.T) []measurement {
	t.Helper()
	content, err := os.ReadFile(goldentest.Shared(t, "traces", "profiles.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Profiles []measurement }
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	measured := slices.DeleteFunc(file.Profiles, func(m measurement) bool { return len(m.Decode) == 0 })
	if len(measured) < 10 {
		t.Fatalf("%d profiles with points, want 10 or more", len(measured))
	}
	return measured
}

// together runs n prompts of input tokens at once, two tokens each, and returns the
// TTFT of the last and the ITL in ms.
func together(t *testing.T, p Profile, n, input int) (ttft, itl float64) {
	t.Helper()
	r, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id := range n {
		r.Submit(0, Request{ID: uint64(id + 1), InputTokens: input, OutputTokens: 2})
	}
	r.Advance(time.Hour, nil)
	s := r.Stats()
	if s.Finished != uint64(n) {
		t.Fatalf("%d of %d requests finished", s.Finished, n)
	}
	ms := func(d time.Duration, of uint64) float64 { return d.Seconds() * 1000 / float64(of) }
	return ms(s.TTFT, s.FirstTokens), ms(s.ITL, s.InterTokens)
}

// point is a measured time at n requests or tokens, in ms.
type point struct{ n, ms float64 }

func points(t *testing.T, table map[string]float64) []point {
	t.Helper()
	var out []point
	for text, ms := range table {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n < 1 || !(ms > 0) {
			t.Fatalf("point %q: %v ms (%v), want a count from 1 and a time above 0", text, ms, err)
		}
		out = append(out, point{n, ms})
	}
	slices.SortFunc(out, func(a, b point) int { return cmp.Compare(a.n, b.n) })
	return out
}

// errorsOf returns the errors of a law relative to what was measured, as ratios
// in growing order.
func errorsOf(measured []point, law func(n float64) float64) []float64 {
	var out []float64
	for _, p := range measured {
		out = append(out, math.Abs(law(p.n)/p.ms-1))
	}
	slices.Sort(out)
	return out
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

func worst(sorted []float64) float64 { return sorted[len(sorted)-1] }

// bestLine returns the least worst error that any gamma + delta*n reaches. The
// worst error is convex in both.
func bestLine(measured []point) float64 {
	least := func(low, high float64, of func(float64) float64) float64 {
		for range 80 {
			a, b := low+(high-low)/3, high-(high-low)/3
			if of(a) < of(b) {
				high = b
			} else {
				low = a
			}
		}
		return of(low)
	}
	last := measured[len(measured)-1]
	return least(0, 2*last.ms/last.n, func(delta float64) float64 {
		return least(0, 2*last.ms, func(gamma float64) float64 {
			return worst(errorsOf(measured, func(n float64) float64 { return gamma + delta*n }))
		})
	})
}

// TestDecodeTimesAreThoseMeasuredOnGPUs holds the ITL of the machine, at every
// batch size, against the measurements.
func TestDecodeTimesAreThoseMeasuredOnGPUs(t *testing.T) {
	for _, m := range measurements(t) {
		errs := errorsOf(points(t, m.Decode), func(n float64) float64 {
			_, itl := together(t, m.profile(), int(n), 128)
			return itl
		})
		t.Logf("%-32s %-8s ITL by batch: median %4.1f %%, worst %4.1f %%", m.ID, m.Quality, 100*median(errs), 100*worst(errs))
		if m.Quality == "good" && (median(errs) > 0.05 || worst(errs) > 0.15) {
			t.Errorf("%s: the ITL is off by %.3f (median) and %.3f (worst), want 0.05 and 0.15 or less", m.ID, median(errs), worst(errs))
		}
	}
}

// floorOf returns the floor and the delta, in ms, with which the worst error of
// max(floor, delta*n) is least. It goes downhill by factors that grow smaller.
func floorOf(measured []point) (floor, delta float64) {
	last := measured[len(measured)-1]
	floor, delta = measured[0].ms, last.ms/last.n
	miss := func(floor, delta float64) float64 {
		return worst(errorsOf(measured, func(n float64) float64 { return max(floor, delta*n) }))
	}
	for step := 0.5; step > 1e-4; {
		moved := false
		for _, by := range []point{{1 + step, 1}, {1 / (1 + step), 1}, {1, 1 + step}, {1, 1 / (1 + step)}} {
			if miss(floor*by.n, delta*by.ms) < miss(floor, delta)-1e-12 {
				floor, delta, moved = floor*by.n, delta*by.ms, true
			}
		}
		if !moved {
			step /= 2
		}
	}
	return floor, delta
}

// TestPrefillTimesWithAFloor holds the TTFT of a machine with a PrefillFloorMS
// against what was measured of single prompts.
func TestPrefillTimesWithAFloor(t *testing.T) {
	for _, m := range measurements(t) {
		prompts := points(t, m.Prompt)
		line, p := m.profile(), m.profile()
		p.GammaMS = 0
		p.PrefillFloorMS, p.DeltaMS = floorOf(prompts)
		machine := func(p Profile) []float64 {
			return errorsOf(prompts, func(n float64) float64 { ttft, _ := together(t, p, 1, int(n)); return ttft })
		}
		before, errs := machine(line), machine(p)
		t.Logf("%-32s %-8s TTFT by tokens: a line %4.1f %% and %4.1f %% (median, worst), with a floor of %.1f ms %4.1f %% and %4.1f %%",
			m.ID, m.Quality, 100*median(before), 100*worst(before), p.PrefillFloorMS, 100*median(errs), 100*worst(errs))
		if m.Quality == "good" && (median(errs) > 0.06 || worst(errs) > 0.15) {
			t.Errorf("%s: the TTFT is off by %.3f (median) and %.3f (worst), want 0.06 and 0.15 or less", m.ID, median(errs), worst(errs))
		}
	}
}

// TestPrefillTimesAreAsNearAsALineComes holds the TTFT of the machine against
// the measurements. A prefill costs a pass over the weights until it is large
// enough to be bound by arithmetic, and grows faster than its length after that,
// which no line follows. So the machine must be where its line is, and a profile
// may be off by more than 15 % only where every line is. Batches of the SageServe
// profiles take as long with 2 prompts as with 32, and a tenth of what one prompt
// of as many tokens takes: no law of tokens says both.
func TestPrefillTimesAreAsNearAsALineComes(t *testing.T) {
	for _, m := range measurements(t) {
		p := m.profile()
		var all []point // by tokens
		prompts, batches := points(t, m.Prompt), points(t, m.Prompts)
		all = append(all, prompts...)
		for _, b := range batches {
			all = append(all, point{b.n * 512, b.ms})
		}
		best := bestLine(all)
		for _, table := range []struct {
			name    string
			points  []point
			machine func(n float64) float64
			tokens  float64 // of one of n
		}{
			{"by tokens", prompts, func(n float64) float64 { ttft, _ := together(t, p, 1, int(n)); return ttft }, 1},
			{"by batch of 512", batches, func(n float64) float64 { ttft, _ := together(t, p, int(n), 512); return ttft }, 512},
		} {
			for _, one := range table.points {
				got, want := table.machine(one.n), p.GammaMS+p.DeltaMS*one.n*table.tokens
				if math.Abs(got-want) > 1e-3*want {
					t.Errorf("%s, prefill %s %v: the machine takes %.3f ms, its profile says %.3f ms", m.ID, table.name, one.n, got, want)
				}
			}
			errs := errorsOf(table.points, table.machine)
			t.Logf("%-32s %-8s TTFT %-16s median %6.1f %%, worst %6.1f %%; the best line: %5.1f %% (for both tables %5.1f %%)",
				m.ID, m.Quality, table.name+":", 100*median(errs), 100*worst(errs), 100*bestLine(table.points), 100*best)
			if m.Quality == "good" && worst(errs) > 0.15 && best <= 0.15 {
				t.Errorf("%s, prefill %s: off by %.3f where a line is off by %.3f: gamma and delta are wrong", m.ID, table.name, worst(errs), best)
			}
		}
	}
}
