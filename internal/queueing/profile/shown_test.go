package profile

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// learnedFrom returns the fit of m, with as many requests decoding in each minute as decoding
// lists.
func learnedFrom(m machine, decoding ...float64) (f memory.Fit) {
	for minute, n := range decoding {
		s := snapshot(minute, 500, m.pace(n, 500, 200, 0))
		f = Learn(f, s, s.Variants[0])
	}
	return f
}

var stated = scaling.Profile{Source: "modelProfile", Alpha: 20, Beta: 0.4, Gamma: 10, Delta: 0.04}

// TestShowsWhatSizesAreMadeOf: Show follows the same rules as Of.
func TestShowsWhatSizesAreMadeOf(t *testing.T) {
	variants := []scaling.Variant{{Key: one}, {Key: two}, {Key: scaling.VariantKey{Namespace: "ns", Name: "three"}, Limits: scaling.EngineLimits{MaxBatch: 32}}}
	fits := map[scaling.VariantKey]memory.Fit{
		one: learnedFrom(machine{12, 0.2, 0.04}, 1, 2, 4, 8, 16, 32), two: learnedFrom(machine{24, 0.4, 0.08}, 2, 9),
	}
	sized, known := Of(variants, fits, 500, 200, 0)
	if !known {
		t.Fatal("nothing is learned")
	}
	shown := Show(variants, fits, 500, 200)
	for i, want := range []struct {
		from    Origin
		like    string
		samples float64
	}{{IsLearned, "", 6}, {LearnedAfterLike, "one", 2}, {LikeAnother, "one", 0}} {
		got, p := shown[i], sized.Variants[i].Profile
		if got.From != want.from || got.Like.Name != want.like || math.Abs(got.Samples-want.samples) > 1e-9 {
			t.Errorf("%s: %s, like %q, after %.1f samples; want %+v", got.Variant, got.From, got.Like.Name, got.Samples, want)
		}
		p.MaxBatchSize = variants[i].Limits.MaxBatch // Of also limits the batch by what was seen
		if diff := cmp.Diff(p, got.Profile); diff != "" {
			t.Errorf("%s: the profile (-Of +Show):\n%s", got.Variant, diff)
		}
		at := got.ITL(8)
		// On average a token shares its step with half a prefill more than the requests beside it.
		if d := got.step.mean[2] / 2 * 500 / 199; math.Abs(at.Mean-d-(p.Alpha+8*p.Beta)) > 0.01 || !(at.Low < at.Mean && at.Mean < at.High) {
			t.Errorf("%s: an ITL of %+v, the profile has %.3f", got.Variant, at, p.Alpha+8*p.Beta)
		}
	}
}

func TestOriginsAreNamed(t *testing.T) {
	seen, nothing := learnedFrom(machine{12, 0.2, 0.04}, 1, 2, 4, 8), memory.Fit{}
	for name, tt := range map[string]struct {
		profile scaling.Profile
		fit     memory.Fit
		want    Origin
	}{
		"nothing":       {scaling.Profile{}, nothing, Nowhere},
		"one window":    {scaling.Profile{}, learnedFrom(machine{12, 0.2, 0.04}, 3), Nowhere},
		"stated":        {stated, nothing, IsStated},
		"learned":       {scaling.Profile{}, seen, IsLearned},
		"stated, seen":  {stated, seen, LearnedAfterStated},
		"not to be had": {scaling.Profile{Source: "x", Problem: "no number"}, seen, IsLearned},
	} {
		got := Show([]scaling.Variant{{Key: one, Profile: tt.profile}}, map[scaling.VariantKey]memory.Fit{one: tt.fit}, 500, 200)[0]
		if got.From != tt.want {
			t.Errorf("%s: %s, want %s", name, got.From, tt.want)
		}
		if got.Stated.Usable() != tt.profile.Usable() || (got.From == Nowhere) != (got.Profile == scaling.Profile{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestBandsLieOnALawThatIsKept: where lengths have changed, the bands are shown at the present
// lengths.
func TestBandsLieOnALawThatIsKept(t *testing.T) {
	m := machine{12, 0.2, 0.04}
	f := learnedFrom(m, 0.4, 0.8, 5, 6, 20, 24, 40, 0.4, 0.8, 5, 6, 20)
	for _, prompt := range []float64{500, 2000} {
		shown := Show([]scaling.Variant{{Key: one}}, map[scaling.VariantKey]memory.Fit{one: f}, prompt, 200)[0]
		if len(shown.Bands) != 4 || shown.Highest() != 64 {
			t.Fatalf("%d bands up to %.0f, want 4 up to 64", len(shown.Bands), shown.Highest())
		}
		for _, b := range shown.Bands {
			if b.Concurrency < b.From || b.Concurrency > b.To {
				t.Errorf("a mean concurrency of %.2f in the band from %.0f to %.0f", b.Concurrency, b.From, b.To)
			}
			if math.Abs(b.ITL.Off) > 0.01 || b.ITL.Scatter > 0.01 || math.Abs(b.ITL.Measured-b.ITL.Fit) > 0.01*b.ITL.Fit {
				t.Errorf("%.0f to %.0f: %+v, want what is measured", b.From, b.To, b.ITL)
			}
			if want := shown.ITL(b.Concurrency).Mean; math.Abs(b.ITL.Now-want) > 0.01*want {
				t.Errorf("prompts of %.0f: %.2f ms in the band at %.1f, want %.2f", prompt, b.ITL.Now, b.Concurrency, want)
			}
			if want := shown.TTFT(b.Concurrency).Mean; math.Abs(b.TTFT.Now-want) > 0.1*want {
				t.Errorf("prompts of %.0f: a TTFT of %.2f ms in the band at %.1f, want %.2f", prompt, b.TTFT.Now, b.Concurrency, want)
			}
		}
	}
}

func TestDoubtsAreSaid(t *testing.T) {
	law := machine{12, 0.2, 0.04}
	two := learnedFrom(law, 2, 20, 2, 20)
	for minute := range 16 { // a second model under the same name, half as fast
		m := []machine{law, {24, 0.4, 0.08}}[minute%2]
		s := snapshot(10+minute, 500, m.pace(20, 500, 200, 0))
		two = Learn(two, s, s.Variants[0])
	}
	senseless := memory.Fit{Bands: []memory.Band{{ITL: memory.Sums{Samples: 5, XX00: math.NaN()}}}}
	for name, tt := range map[string]struct {
		fit  memory.Fit
		want string
	}{
		"one band":         {learnedFrom(law, 4, 5, 4, 5), "only one band was seen, of 4 to 8 requests together"},
		"the same lengths": {learnedFrom(law, 1, 5, 20, 40), "b and d cannot be told apart"},
		"two models":       {two, "its replicas do not keep the law"},
		"no numbers":       {senseless, "coefficients that no engine has"},
	} {
		got := Show([]scaling.Variant{{Key: one, Profile: stated}}, map[scaling.VariantKey]memory.Fit{one: tt.fit}, 500, 200)[0]
		if said := strings.Join(append(got.Doubts, got.Refuted), "\n"); !strings.Contains(said, tt.want) {
			t.Errorf("%s: said %q, want %q", name, said, tt.want)
		}
		for _, c := range got.Coefficients {
			if !(c.Low >= 0 && c.Low <= c.Mean && c.Mean <= c.High) {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

func TestMissingSaysWhatKeepsAVariantFromBeingLearned(t *testing.T) {
	pace := machine{12, 0.2, 0.04}.pace(10, 500, 200, 0)
	for want, change := range map[string]func(*scaling.Snapshot){
		"":                                  func(*scaling.Snapshot) {},
		"it has no Ready replica":           func(s *scaling.Snapshot) { s.Variants[0].Replicas.Ready = 0 },
		"how long prompts are is not known": func(s *scaling.Snapshot) { s.Load.InputTokens = scaling.Reading{} },
		"its newest replica is Ready for less than a window: since 12:00:30": func(s *scaling.Snapshot) {
			s.Variants[0].Replicas.NewestReady = s.At.Add(-30 * time.Second)
		},
		"9 requests wait, more than replicas are Ready: what is seen in an overload counts only while nothing else is known": func(s *scaling.Snapshot) {
			s.Replicas[0].QueueLengthNow = scaling.Measured(9, scaling.Fresh)
		},
		"1 replica without a request that decodes, or their pages do not say how many tokens and requests there were": func(s *scaling.Snapshot) {
			s.Replicas[0].Pace = scaling.Pace{}
		},
		"1 replica with a KV cache that is more than 95 % full, or whose use is not known": func(s *scaling.Snapshot) {
			s.Replicas[0].KVCacheUsage = scaling.Reading{}
		},
		"1 replica stuck": func(s *scaling.Snapshot) { s.Replicas[0].Stuck = scaling.Frozen },
	} {
		s := snapshot(1, 500, pace)
		change(&s)
		got := Missing(s, s.Variants[0], learnedFrom(machine{12, 0.2, 0.04}, 10))
		if len(got) == 0 || !strings.HasPrefix(got[0], "1.0 of the 3 windows (1m0s) were seen") || strings.Join(got[1:], "; ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s := snapshot(1, 500, pace)
	if got := Missing(s, s.Variants[0], learnedFrom(machine{12, 0.2, 0.04}, 10, 10, 10)); got != nil {
		t.Errorf("of a variant of which enough was seen %q is missing", got)
	}
}

// TestWhatIsShownNowIsBesideWhatIsKnown: Presents follows the same laws as Show.
func TestWhatIsShownNowIsBesideWhatIsKnown(t *testing.T) {
	m := machine{12, 0.2, 0.04}
	fits := map[scaling.VariantKey]memory.Fit{one: learnedFrom(m, 1, 2, 4, 8, 16, 32)}
	s := snapshot(1, 500, m.pace(5, 500, 200, 0), m.pace(11, 500, 200, 0))
	s.Variants = append(s.Variants, scaling.Variant{Key: two})
	got := Presents(s, fits)
	if want := m.pace(8, 500, 200, 0).ITL; math.Abs(got[0].Measured-want) > 0.01*want || math.Abs(got[0].Learned.Mean-want) > 0.01*want || got[0].Samples != 6 {
		t.Errorf("%+v, want %.2f ms measured and learned", got[0], want)
	}
	if got[1] != (Present{Variant: two}) {
		t.Errorf("of a variant without replicas %+v", got[1])
	}
	if none := Presents(s, nil); none[0].Measured != got[0].Measured || none[0].Learned != (Interval{}) {
		t.Errorf("with nothing learned %+v", none[0])
	}
}

func BenchmarkPresents(b *testing.B) {
	m := machine{12, 0.2, 0.04}
	fits := map[scaling.VariantKey]memory.Fit{one: learnedFrom(m, 1, 2, 4, 8, 16, 32, 64, 128)}
	s := snapshot(1, 500, m.pace(5, 500, 200, 0), m.pace(11, 500, 200, 0))
	for b.Loop() {
		Presents(s, fits)
	}
}
