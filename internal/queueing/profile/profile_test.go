package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var (
	at  = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	one = scaling.VariantKey{Namespace: "ns", Name: "one"}
	two = scaling.VariantKey{Namespace: "ns", Name: "two"}
)

// machine is a replica that keeps the law, with its coefficients in ms.
type machine struct{ a, b, d float64 }

// pace returns the pace of m with a number of requests decoding, prompts and answers of so many
// tokens, and measurements that are off by a part.
func (m machine) pace(decoding, prompt, answer, off float64) scaling.Pace {
	step := m.a + m.b*meets(decoding) + m.d*prompt*decoding/(answer-1)
	itl, started := step*(1+off), 1000*decoding/((answer-1)*step*(1+off))
	first := dot([3]float64{5, 1, m.d}, firstOf(decoding, step, m.d*started*prompt/1000, prompt))
	return scaling.Pace{Decoding: decoding, ITL: itl, Started: started, TTFT: first * (1 + off/2)}
}

// snapshot is a sample of replicas of one variant.
func snapshot(minute int, prompt float64, paces ...scaling.Pace) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	s := scaling.Snapshot{At: at.Add(time.Duration(minute) * time.Minute), Window: time.Minute}
	s.Load.InputTokens = fresh(prompt)
	s.Variants = []scaling.Variant{{Key: one, Replicas: scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(len(paces)), Ready: scaling.Replicas(len(paces))}}}
	for i, p := range paces {
		s.Replicas = append(s.Replicas, scaling.ReplicaSample{
			Pod: fmt.Sprint("p", i), Variant: one, Ready: true, Pace: p,
			KVCacheUsage: fresh(0.5), QueueLength: fresh(0), QueueLengthNow: fresh(0),
		})
	}
	return s
}

// TestAReplicaIsLearned: half an hour of varying load tells the time of a step at every concurrency
// that occurred, whatever the belief before.
func TestAReplicaIsLearned(t *testing.T) {
	for name, tt := range map[string]struct {
		truth          machine
		prompt, answer float64
		before         Belief
	}{
		"nothing is known":               {machine{12, 0.2, 0.04}, 500, 200, Unknown()},
		"long prompts and short answers": {machine{18, 0.1, 0.1}, 2000, 30, Unknown()},
		"a large model":                  {machine{40, 0.7, 0.4}, 300, 300, Unknown()},
		"a profile half as slow":         {machine{12, 0.2, 0.04}, 500, 200, Stated(scaling.Profile{Source: "x", Alpha: 6, Beta: 0.1, Gamma: 5, Delta: 0.02}, 500)},
		"a profile twice as slow":        {machine{12, 0.2, 0.04}, 500, 200, Stated(scaling.Profile{Source: "x", Alpha: 24, Beta: 0.4, Gamma: 20, Delta: 0.08}, 500)},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var f memory.Fit
			for minute := range 30 {
				decoding := 4 + 3*math.Sin(float64(minute)/4)
				if minute%2 == 0 {
					decoding *= 6
				}
				s := snapshot(minute, tt.prompt, tt.truth.pace(decoding, tt.prompt, tt.answer, 0.02*r.NormFloat64()))
				f = Learn(f, s, s.Variants[0])
			}
			b := tt.before.After(f)
			p := b.Profile(tt.prompt, tt.answer)
			for decoding := 1.0; decoding <= 42; decoding *= 1.5 {
				n := decoding + 1 // including the request itself
				itl := tt.truth.a + tt.truth.b*n + tt.truth.d*tt.prompt*decoding/(tt.answer-1)
				if got := p.Alpha + p.Beta*n; math.Abs(got-itl) > 0.05*itl && p.Alpha > 0 {
					t.Errorf("%.0f decoding: an ITL of %.2f ms, want %.2f", decoding, got, itl)
				}
				want := 5 + 1.5*itl + tt.truth.d*tt.prompt
				if got := p.Gamma + p.Delta*tt.prompt*n; math.Abs(got-want) > 0.15*want {
					t.Errorf("%.0f decoding: a TTFT of %.1f ms, want %.1f", decoding, got, want)
				}
			}
		})
	}
}

// TestWhatIsNoOrdinaryStepTeachesNothing: an overload teaches only while nothing else is known.
func TestWhatIsNoOrdinaryStepTeachesNothing(t *testing.T) {
	pace := machine{12, 0.2, 0.04}.pace(10, 500, 200, 0)
	known := memory.Fit{}
	for minute := range 5 {
		s := snapshot(minute, 500, pace)
		known = Learn(known, s, s.Variants[0])
	}
	if !known.Informed() {
		t.Fatalf("five windows are not enough: %+v", known)
	}
	queue := func(s *scaling.Snapshot) { s.Replicas[0].QueueLengthNow = scaling.Measured(9, scaling.Fresh) }
	for name, tt := range map[string]struct {
		past   memory.Fit
		change func(*scaling.Snapshot)
		want   float64 // windows that are added
	}{
		"an ordinary step":                {known, func(*scaling.Snapshot) {}, 1},
		"requests wait":                   {known, queue, 0},
		"requests wait, nothing is known": {memory.Fit{}, queue, 1},
		"requests wait, a profile is stated": {memory.Fit{}, func(s *scaling.Snapshot) {
			queue(s)
			s.Variants[0].Profile = scaling.Profile{Source: "x", Alpha: 1}
		}, 0},
		"a replica is new":     {known, func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = s.At.Add(-time.Second) }, 0},
		"the KV cache is full": {known, func(s *scaling.Snapshot) { s.Replicas[0].KVCacheUsage = scaling.Measured(0.99, scaling.Fresh) }, 0},
		"the replica is stuck": {known, func(s *scaling.Snapshot) { s.Replicas[0].Stuck = scaling.Frozen }, 0},
		"another variant":      {known, func(s *scaling.Snapshot) { s.Replicas[0].Variant = two }, 0},
		"idle":                 {known, func(s *scaling.Snapshot) { s.Replicas[0].Pace = scaling.Pace{} }, 0},
		"no length is known":   {known, func(s *scaling.Snapshot) { s.Load.InputTokens = scaling.Reading{} }, 0},
		"the same instant":     {known, func(s *scaling.Snapshot) { s.At = known.At }, 0},
	} {
		s := snapshot(10, 500, pace)
		tt.change(&s)
		before, _ := tt.past.Sums()
		f := Learn(tt.past, s, s.Variants[0])
		after, _ := f.Sums()
		if got := after.Samples + f.Over.Samples - before.Samples - tt.past.Over.Samples; math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: counts for %.2f windows, want %.2f", name, got, tt.want)
		}
	}
}

// TestIdleHoursDoNotDrownBusyOnes: a change is still learned within half an hour.
func TestIdleHoursDoNotDrownBusyOnes(t *testing.T) {
	was, is := machine{12, 0.2, 0.04}, machine{24, 0.4, 0.08}
	var f memory.Fit
	sample := func(minute int, m machine, decoding float64) {
		s := snapshot(minute, 500, m.pace(decoding, 500, 200, 0))
		f = Learn(f, s, s.Variants[0])
	}
	for minute := range 20 {
		sample(minute, was, 40)
	}
	for minute := 20; minute < 600; minute++ {
		sample(minute, was, 1)
	}
	expect := func(when string, m machine, decoding, off float64) {
		t.Helper()
		p := Unknown().After(f).Profile(500, 200)
		if got, want := p.Alpha+p.Beta*(decoding+1), m.pace(decoding, 500, 200, 0).ITL; math.Abs(got-want) > off*want {
			t.Errorf("%s: an ITL of %.2f ms with %.0f decoding, want %.2f", when, got, decoding, want)
		}
	}
	expect("after a night", was, 40, 0.02)
	for minute := 600; minute < 630; minute++ {
		sample(minute, is, 40)
		sample(minute, is, 40) // a second sample at the same time counts for nothing
	}
	expect("half an hour after the change", is, 40, 0.15)
}

// TestAnotherImageIsLearnedWithinSomeWindows: until then the fit of the image before is the best
// guess, at every concurrency. For another accelerator, learning starts from nothing.
func TestAnotherImageIsLearnedWithinSomeWindows(t *testing.T) {
	was, is := machine{24, 0.4, 0.08}, machine{12, 0.2, 0.04}
	concurrency := []float64{1, 5, 20, 40}
	for name, tt := range map[string]struct {
		change func(*scaling.Variant)
		known  bool // after the first window
	}{
		"image":       {func(v *scaling.Variant) { v.Template = "b" }, true},
		"accelerator": {func(v *scaling.Variant) { v.Accelerator = "L40S" }, false},
	} {
		var f memory.Fit
		sample := func(minute int, m machine, change func(*scaling.Variant)) {
			s := snapshot(minute, 500, m.pace(concurrency[minute%4], 500, 200, 0))
			s.Variants[0].Template, s.Variants[0].Accelerator, s.Variants[0].GPUsPerReplica = "a", "H100", 1
			change(&s.Variants[0])
			f = Learn(f, s, s.Variants[0])
		}
		off := func(m machine) float64 {
			worst := 0.0
			p := Unknown().After(f).Profile(500, 200)
			for _, n := range concurrency {
				want := m.pace(n, 500, 200, 0).ITL
				worst = max(worst, math.Abs(p.Alpha+p.Beta*(n+1)-want)/want)
			}
			return worst
		}
		for minute := range 60 {
			sample(minute, was, func(*scaling.Variant) {})
		}
		if by := off(was); by > 0.02 {
			t.Fatalf("%s: before the change the fit is off by %.0f %%", name, 100*by)
		}
		sample(60, is, tt.change)
		if f.Informed() != tt.known {
			t.Errorf("%s: after a window it counts: %t, want %t", name, f.Informed(), tt.known)
		}
		if by := off(was); tt.known && by > 0.4 {
			t.Errorf("%s: after a window it is off by %.0f %% from the image before", name, 100*by)
		}
		for minute := 61; minute < 80; minute++ {
			sample(minute, is, tt.change)
		}
		if by := off(is); by > 0.15 {
			t.Errorf("%s: after 20 windows it is off by %.0f %%, want at most 15", name, 100*by)
		}
	}
}

// TestVariantsThatWereNotSeen: a variant that was never seen has its stated profile, or else
// resembles the one that was seen. The stated profile of a variant that was seen gives way to the
// measurements.
func TestVariantsThatWereNotSeen(t *testing.T) {
	fits := map[scaling.VariantKey]memory.Fit{}
	for minute := range 20 {
		s := snapshot(minute, 500, machine{20, 0.4, 0.08}.pace(float64(1+minute), 500, 200, 0))
		fits[one] = Learn(fits[one], s, s.Variants[0])
	}
	stated := scaling.Profile{Source: "x", Alpha: 5, Beta: 0.1, Gamma: 5, Delta: 0.01}
	of := func(a, b scaling.Profile) (scaling.Profile, scaling.Profile) {
		out, known := Of([]scaling.Variant{{Key: one, Profile: a}, {Key: two, Profile: b}}, fits, 500, 200, 0)
		if !known {
			t.Fatal("nothing is learned")
		}
		return out.Variants[0].Profile, out.Variants[1].Profile
	}
	if a, b := of(scaling.Profile{}, scaling.Profile{}); math.Abs(a.Alpha-b.Alpha) > 1e-9 || math.Abs(a.Beta-b.Beta) > 1e-9 || a.Source != Source {
		t.Errorf("a variant of which nothing is known has %+v where the other has %+v", b, a)
	}
	if a, b := of(scaling.Profile{}, stated); a.Source != Source || b != stated {
		t.Errorf("learned %+v beside %+v, want the second as it is stated", a, b)
	}
	if a, b := of(stated, scaling.Profile{}); !Believed(b) || math.Abs(a.Alpha+20*a.Beta-b.Alpha-20*b.Beta) > 1 {
		t.Errorf("%+v beside %+v, want both as was seen of the first", a, b)
	}
	if _, known := Of([]scaling.Variant{{Key: two}}, fits, 500, 200, 0); known {
		t.Error("a profile is learned of what was never seen")
	}
	// The first variant has alpha 20, beta 0.4 and 0.08 ms for each prompt token; a request has 500
	// prompt tokens and 200 steps.
	twice := func(p scaling.Profile) scaling.Profile {
		p.Alpha, p.Beta, p.Gamma, p.Delta = 2*p.Alpha, 2*p.Beta, 2*p.Gamma, 2*p.Delta
		return p
	}
	itl := func(p scaling.Profile) float64 { return p.Alpha + 20*p.Beta }
	first := scaling.Profile{Source: "x", Alpha: 20, Beta: 0.6, Gamma: 20, Delta: 0.04}
	second := scaling.Profile{Source: "x", Alpha: 10, Beta: 0.3, Gamma: 10, Delta: 0.02}
	a, right := of(first, second)
	if times := itl(a) / itl(right); times < 1.7 || times > 2.3 {
		t.Errorf("a variant that is stated to be twice as fast as one that was seen is taken to be %.2f times as fast", times)
	}
	a, wrong := of(twice(first), twice(second))
	if times := itl(a) / itl(wrong); times < 1.7 || times > 2.3 || math.Abs(itl(wrong)/itl(right)-1) > 0.1 || wrong.Source != SourceOthers {
		t.Errorf("stated twice too slow it is %+v, want about the %+v of when it is stated rightly", wrong, right)
	}
}

// TestAVariantThatNeverRanDiffersAsTheAcceleratorsDo: an H100 reads 1.64 times as fast as an A100.
// What is neither reading nor computing takes as long.
func TestAVariantThatNeverRanDiffersAsTheAcceleratorsDo(t *testing.T) {
	on := func(key scaling.VariantKey, accelerator string) scaling.Variant {
		return scaling.Variant{Key: key, Model: scaling.ModelKey{ID: "Qwen/Qwen3-14B"}, Accelerator: accelerator, GPUsPerReplica: 1}
	}
	fits := map[scaling.VariantKey]memory.Fit{}
	for minute := range 20 {
		s := snapshot(minute, 500, machine{30, 0.2, 0.1}.pace(float64(1+minute), 500, 200, 0))
		fits[one] = Learn(fits[one], s, s.Variants[0])
	}
	times := func(other string) (step, token float64) {
		t.Helper()
		out, known := Of([]scaling.Variant{on(one, "A100"), on(two, other)}, fits, 500, 200, 0)
		if !known {
			t.Fatal("nothing is learned")
		}
		a, b := out.Variants[0].Profile, out.Variants[1].Profile
		return a.Alpha / b.Alpha, a.Beta / b.Beta
	}
	if step, token := times("NVIDIA-H100-80GB-HBM3"); step < 1.3 || step > 1.65 || token < 1.64 || token > 3.17 {
		t.Errorf("an H100 is %.2f times as fast alone and %.2f times with others, want 1.3 to 1.65 and 1.64 to 3.17", step, token)
	}
	if step, token := times("L40S"); step > 0.5 || token > 1.2 {
		t.Errorf("an L40S is %.2f times as fast alone and %.2f times with others, want no more than 0.5 and 1.2", step, token)
	}
	if step, token := times("G2"); math.Abs(step-1) > 1e-9 || math.Abs(token-1) > 1e-9 {
		t.Errorf("an accelerator that is not known is %.2f and %.2f times as fast, want as fast", step, token)
	}
	stated := on(one, "A100")
	stated.Profile = scaling.Profile{Source: "x", Alpha: 30, Beta: 0.2, Gamma: 10, Delta: 0.1}
	out, known := Of([]scaling.Variant{on(two, "H100"), stated}, nil, 500, 200, 0)
	if !known || out.Variants[1].Profile != stated.Profile || out.Variants[0].Profile.Source != SourceOthers || !(out.Variants[0].Profile.Alpha < 0.8*stated.Profile.Alpha) {
		t.Errorf("beside a stated profile of an A100, an H100 is %+v, want it faster from the first sample on", out.Variants)
	}
	out, known = Of([]scaling.Variant{on(two, "H100")}, nil, 500, 200, 0)
	if !known || out.Variants[0].Profile.Source != SourceComputed {
		t.Errorf("an H100 of which nothing else is known is %+v, want it computed", out.Variants)
	}
	out, _ = Of([]scaling.Variant{on(one, "A100"), on(two, "L40S")}, fits, 8000, 2000, 0)
	if got := out.Variants[1].Profile.MaxBatchSize; got < 3 || got > 8 {
		t.Errorf("an L40S that never ran computes %d requests of 10,000 tokens together, want the 3 to 8 that fit into 12 GB", got)
	}
}

// TestWhatIsMissingForAPriorIsSaid: so is what a prior is computed from.
func TestWhatIsMissingForAPriorIsSaid(t *testing.T) {
	for _, tt := range []struct {
		model, accelerator string
		gpus               scaling.Accelerators
		want               string
	}{
		{"Qwen/Qwen3-32B", "H100", 1, "computed from 32 billion parameters of 16 bits and the memory bandwidth of 1 x H100, 3350 GB/s; may be off by a factor of 2.5"},
		{"Qwen/Qwen3-30B-A3B-FP8", "L40S", 2, "computed from 30 billion parameters (3 billion active) of 8 bits and the memory bandwidth of 2 x L40S, 1728 GB/s; may be off by a factor of 2.4"},
		{"chat", "H100", 1, `the name of model "chat" does not say its size`},
		{"chat", "", 1, "the name of model \"chat\" does not say its size\nno accelerator is named"},
		{"Qwen/Qwen3-32B", "G2", 1, `accelerator "G2" is not in the table`},
		{"Qwen/Qwen3-32B", "L4", 2, "its 64 GB of parameters do not fit into 39.2 GB on 2 x L4"},
	} {
		p, err := Computed(scaling.Variant{Model: scaling.ModelKey{ID: tt.model}, Accelerator: tt.accelerator, GPUsPerReplica: tt.gpus}, 500, 200)
		got := p.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s on %d of %q: %s\nwant %s", tt.model, tt.gpus, tt.accelerator, got, tt.want)
		}
	}
}

// TestAReplicaIsNotTakenForTooSlowByWhatWasSeenOfFullOnes: all measurements have 40 or more
// requests decoding. Only small batches meet the wanted ITL.
func TestAReplicaIsNotTakenForTooSlowByWhatWasSeenOfFullOnes(t *testing.T) {
	fast := machine{3, 1.2, 0.03}
	fits := map[scaling.VariantKey]memory.Fit{}
	for minute := range 6 {
		s := snapshot(minute, 300, fast.pace(40+float64(minute), 300, 900, 0))
		fits[one] = Learn(fits[one], s, s.Variants[0])
	}
	out, known := Of([]scaling.Variant{{Key: one}}, fits, 300, 900, 9.7)
	if p := out.Variants[0].Profile; !known || p.Alpha+p.Beta > 9.7 {
		t.Errorf("alone a replica is believed to have an ITL of %.1f ms, want less than the 9.7 that are wanted", p.Alpha+p.Beta)
	}
}

// TestSumsOfAnythingGiveAProfile: from any measurements, coefficients are finite, and no time is
// negative.
func TestSumsOfAnythingGiveAProfile(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		var f memory.Fit
		for minute := range r.IntN(40) {
			p := scaling.Pace{
				Decoding: math.Exp(8 * r.NormFloat64()), ITL: math.Exp(8 * r.NormFloat64()),
				Started: math.Exp(8 * r.NormFloat64()), TTFT: math.Exp(8 * r.NormFloat64()),
			}
			s := snapshot(minute, math.Exp(8*r.Float64()), p)
			f = Learn(f, s, s.Variants[0])
		}
		variants := []scaling.Variant{{Key: one}, {Key: two}}
		out, known := Of(variants, map[scaling.VariantKey]memory.Fit{one: f}, math.Exp(8*r.Float64()), math.Exp(6*r.Float64()), 20*r.Float64())
		if known && !f.Informed() {
			t.Fatalf("seed %d: a profile of %+v", seed, f)
		}
		if _, err := json.Marshal(Show(variants, map[scaling.VariantKey]memory.Fit{one: f}, 500, 200)); err != nil {
			t.Fatalf("seed %d: what is shown: %v", seed, err)
		}
		for _, v := range out.Variants {
			for _, c := range []float64{v.Profile.Alpha + v.Profile.Beta, v.Profile.Beta, v.Profile.Gamma, v.Profile.Delta} {
				if !(c >= 0) || math.IsInf(c, 0) {
					t.Fatalf("seed %d: %+v", seed, v.Profile)
				}
			}
		}
	}
}

// cycles returns a function that learns the four variants of a model and sizes by that, once a
// minute.
func cycles() (cycle func(minute int), variants int) {
	s := snapshot(1, 500)
	s.Variants = nil
	for _, name := range []string{"a", "b", "c", "d"} {
		of := snapshot(1, 500, machine{12, 0.2, 0.04}.pace(10, 500, 200, 0))
		of.Variants[0].Key.Name, of.Replicas[0].Variant.Name = name, name
		of.Variants[0].Model.ID, of.Variants[0].Accelerator = "meta-llama/Llama-3.1-8B-Instruct", "NVIDIA-H100-80GB-HBM3"
		s.Variants, s.Replicas = append(s.Variants, of.Variants[0]), append(s.Replicas, of.Replicas[0])
	}
	var fits map[scaling.VariantKey]memory.Fit
	return func(minute int) {
		s.At = at.Add(time.Duration(minute) * time.Minute)
		past := fits
		fits = make(map[scaling.VariantKey]memory.Fit, len(s.Variants))
		for _, v := range s.Variants {
			fits[v.Key] = Learn(past[v.Key], s, v)
		}
		Of(s.Variants, fits, 500, 200, 40)
	}, len(s.Variants)
}

// BenchmarkLearn measures one variant in one cycle.
func BenchmarkLearn(b *testing.B) {
	cycle, variants := cycles()
	b.ReportAllocs()
	for i := range b.N {
		if i%variants == 0 {
			cycle(i)
		}
	}
}

// TestLearningAllocatesLittle: a variant allocates at most 2 KiB in a cycle.
func TestLearningAllocatesLittle(t *testing.T) {
	bytesAtMost := 2.0 * 1024
	if race.Enabled {
		bytesAtMost *= 16 // the race detector moves values from the stack to the heap
	}
	const runs = 500
	cycle, variants := cycles()
	cycle(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range runs {
		cycle(i + 1)
	}
	runtime.ReadMemStats(&after)
	if got := float64(after.TotalAlloc-before.TotalAlloc) / float64(runs*variants); got > bytesAtMost {
		t.Errorf("a variant takes %.0f bytes in a cycle, want at most %.0f", got, bytesAtMost)
	}
}
