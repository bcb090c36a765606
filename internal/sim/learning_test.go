package sim

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// learner learns the replicas of the first variant, and lets all replicas be.
type learner struct {
	fit    memory.Fit
	last   scaling.Snapshot
	change func(*scaling.Snapshot) // what is reported wrongly, nil for nothing
	seen   func(scaling.Snapshot)  // told of every look, may be nil
	start  time.Time               // of the run, zero for that of any
}

func (*learner) Name() string            { return "learner" }
func (*learner) Interval() time.Duration { return 15 * time.Second }

func (l *learner) Decide(v View) ([]Target, error) {
	s := v.Snapshots[0]
	if l.change != nil {
		s.Replicas = slices.Clone(s.Replicas)
		l.change(&s)
	}
	if l.fit = profile.Learn(l.fit, s, s.Variants[0]); l.seen != nil {
		l.seen(s)
	}
	if s.Load.InputTokens.Known() {
		l.last = s
	}
	return nil, nil
}

// shown returns what is known at the end for requests of such lengths.
func (l *learner) shown(prompt, answer float64) profile.Shown {
	return profile.Show(l.last.Variants[:1], map[scaling.VariantKey]memory.Fit{l.last.Variants[0].Key: l.fit}, prompt, answer)[0]
}

// chats are the mean lengths of requests, in tokens.
type chats struct{ prompt, answer float64 }

// fullest is about how many requests of such lengths are decoded together, at
// most 48, with 60 % of the KV cache of p.
func (c chats) fullest(p serving.Profile) float64 {
	return min(48, 0.6*float64(p.KVCacheTokens)/(c.prompt+c.answer))
}

// rate is how many requests/s of such lengths keep about n decoding together in a replica of p.
func (c chats) rate(p serving.Profile, n float64) float64 {
	begins := max(0, p.GammaMS-p.AlphaMS)
	return 1000 * n / (c.answer*(p.AlphaMS+p.BetaMS*(n+1)) + n*(begins+p.DeltaMS*c.prompt))
}

const fleetOf = 3 // replicas

// varying is half an hour of rates from next to nothing to what fills replicas of p,
// in a wave of a quarter of an hour, and of other lengths every five.
func varying(tb testing.TB, p serving.Profile, seed uint64) iter.Seq2[workload.Request, error] {
	const stretch = 5 * time.Minute
	draws := rand.New(rand.NewPCG(seed, 30))
	return func(yield func(workload.Request, error) bool) {
		for i, c := range []chats{{400, 200}, {1200, 150}, {200, 300}, {800, 100}, {300, 150}, {600, 200}} {
			high := fleetOf * c.rate(p, c.fullest(p))
			text := fmt.Sprintf("sine(%.4g->%.4g,%ds,%ds)", 0.02*high, high, 900, int(stretch.Seconds())*(i+1))
			for r := range workload.Generate(simtest.Rates(tb, text), simtest.Lengths(tb, c.prompt, c.answer), draws) {
				if r.At >= time.Duration(i)*stretch && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// served is a fleet of replicas of p, and who looks at it.
func served(tb testing.TB, p serving.Profile, requests iter.Seq2[workload.Request, error], seed uint64, l *learner) {
	tb.Helper()
	c := Config{Seed: seed, Models: []Model{testModel(requests)}, Tail: time.Second, Start: l.start}
	v := &c.Models[0].Variants[0]
	v.Profile, v.Replicas = p, fleetOf
	if _, err := Run(tb.Context(), c, l); err != nil {
		tb.Fatal(err)
	}
}

// truth is what replicas of p do while they have a load for long, in means over all that they compute.
type truth struct{ decoding, itl, ttft float64 } // requests, ms, ms

func steady(tb testing.TB, p serving.Profile, c chats, n float64, seed uint64) truth {
	const enough = 1500.0 // requests, in ten minutes at least
	rate := fleetOf * c.rate(p, n)
	text := fmt.Sprintf("constant(%.4g,%.0fs)", rate, max(600, enough/rate))
	requests := workload.WithoutError(workload.Generate(simtest.Rates(tb, text), simtest.Lengths(tb, c.prompt, c.answer), rand.New(rand.NewPCG(seed, 31))))
	var looks, decoding, tokens, started, waited float64
	served(tb, p, requests, seed, &learner{seen: func(s scaling.Snapshot) {
		if s.At.Sub(s.Variants[0].Replicas.NewestReady) < 3*time.Minute {
			return
		}
		for _, r := range s.Replicas {
			looks++
			if r.Pace.ITL > 0 {
				decoding += r.Pace.Decoding
				tokens += r.Pace.Decoding / r.Pace.ITL
			}
			started += r.Pace.Started
			waited += r.Pace.Started * r.Pace.TTFT
		}
	}})
	return truth{decoding / looks, decoding / tokens, waited / started}
}

// accuracy is how far what was learned is off what replicas do, by parts, and how many of the
// intervals hold it.
type accuracy struct {
	itl, ttft                 []float64
	heldITL, heldTTFT, within float64
}

// add learns replicas of p for half an hour and compares that with what they do, from a concurrency of a third to
// the highest that was seen.
func (a *accuracy) add(tb testing.TB, p serving.Profile, seed uint64) {
	tb.Helper()
	var l learner
	served(tb, p, varying(tb, p, seed), seed, &l)
	a.compare(tb, &l, p, seed)
}

// compare compares what was learned with what replicas of p do.
func (a *accuracy) compare(tb testing.TB, l *learner, p serving.Profile, seed uint64) {
	tb.Helper()
	c := chats{600, 200}
	s := l.shown(c.prompt, c.answer)
	for n := 0.35; n < s.Highest() && n <= c.fullest(p); n *= 3 {
		is := steady(tb, p, c, n, seed)
		together := is.decoding + (1+math.Exp(-is.decoding))/2 // see package profile
		itl, ttft := s.ITL(together), s.TTFT(together)
		a.itl, a.ttft = append(a.itl, math.Abs(itl.Mean/is.itl-1)), append(a.ttft, math.Abs(ttft.Mean/is.ttft-1))
		a.within++
		a.heldITL += part(one(itl.Low <= is.itl && is.itl <= itl.High), 1)
		a.heldTTFT += part(one(ttft.Low <= is.ttft && is.ttft <= ttft.High), 1)
	}
}

// check reports what is further off than may be.
func (a accuracy) check(t *testing.T) {
	t.Helper()
	for _, of := range []struct {
		what                        string
		parts                       []float64
		held, medianMost, worstMost float64
	}{{"ITL", a.itl, a.heldITL, 0.05, 0.15}, {"TTFT", a.ttft, a.heldTTFT, 0.10, 0.25}} {
		slices.Sort(of.parts)
		median, worst := of.parts[len(of.parts)/2], of.parts[len(of.parts)-1]
		t.Logf("%s: off by %.1f %% in the median and %.1f %% at worst; %.1f %% of %.0f intervals hold what is", of.what, 100*median, 100*worst, 100*of.held/a.within, a.within)
		if median > of.medianMost || worst > of.worstMost {
			t.Errorf("%s: off by %.3f in the median and %.3f at worst, want at most %.2f and %.2f", of.what, median, worst, of.medianMost, of.worstMost)
		}
	}
}

// engines are replicas of several kinds: slow and quick, with dear and cheap prompts, whose passes with a
// prompt take longer or less long than those without.
func engines() []serving.Profile {
	var out []serving.Profile
	for i, c := range [][4]float64{{18, 0.35, 12, 0.055}, {4.6, 0.03, 9, 0.09}, {28, 0.35, 15, 0.12}, {6.5, 0.3, 15, 0.02}} {
		p := simtest.Profile(1 << 18)
		p.Name, p.AlphaMS, p.BetaMS, p.GammaMS, p.DeltaMS, p.MaxBatchSize = fmt.Sprint("engine ", i), c[0], c[1], c[2], c[3], 256
		out = append(out, p)
	}
	return out
}

// TestHalfAnHourTeachesHowFastReplicasAre: of varying load, with no profile stated.
func TestHalfAnHourTeachesHowFastReplicasAre(t *testing.T) {
	var a accuracy
	for i, p := range race.Some(engines()) {
		a.add(t, p, uint64(i))
	}
	a.check(t)
}

// TestAnotherEngineIsLearnedInHalfAnHour: as after a rollout of another image, half as fast as the one before.
func TestAnotherEngineIsLearnedInHalfAnHour(t *testing.T) {
	var a accuracy
	for i, p := range race.Some(engines()[:2]) {
		seed := uint64(i)
		var l learner
		served(t, p, varying(t, p, seed), seed, &l)
		l.fit = l.fit.For(scaling.Variant{Accelerator: "L40S", GPUsPerReplica: 1, Template: "old"})
		l.fit = l.fit.For(scaling.Variant{Accelerator: "L40S", GPUsPerReplica: 1, Template: "new"})
		l.start = l.fit.At.Add(time.Minute)
		p = simtest.Slower(p, 2)
		served(t, p, varying(t, p, seed+7), seed+7, &l)
		if _, why, numbers := profile.Refuted(l.fit); why != "" {
			t.Fatalf("%s: %s: %s", p.Name, why, numbers)
		}
		a.compare(t, &l, p, seed)
	}
	a.check(t)
}

// TestWhatIsReportedWronglyIsSaidAndNotUsed.
func TestWhatIsReportedWronglyIsSaidAndNotUsed(t *testing.T) {
	p := engines()[0]
	learn := func(change func(look int, s *scaling.Snapshot)) *learner {
		looks := 0
		l := &learner{change: func(s *scaling.Snapshot) {
			if looks++; change != nil {
				change(looks, s)
			}
		}}
		served(t, p, varying(t, p, 3), 3, l)
		return l
	}
	right := learn(nil)
	for name, tt := range map[string]struct {
		change func(look int, s *scaling.Snapshot)
		want   string // part of why it is not used, "" where it is and is right
	}{
		"rightly": {nil, ""},
		"histograms with one bucket": {func(_ int, s *scaling.Snapshot) {
			for _, h := range []*scaling.Histogram{&s.Load.TTFTBuckets, &s.Load.ITLBuckets, &s.Load.RequestITLBuckets} {
				h.Buckets = nil
			}
		}, ""},
		"a counter that is reset at times": {func(look int, s *scaling.Snapshot) {
			if r := s.Replicas; look%30 == 29 {
				r[0].Pace.ITL *= 10
				r[1].Pace.ITL /= 10
			}
		}, ""},
		"chunks of four": {func(_ int, s *scaling.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].Pace.ITL *= 4 // a quarter as many intervals, and as long a time
			}
		}, "chunks"},
		"two models": {func(_ int, s *scaling.Snapshot) {
			s.Replicas[2].Pace.ITL *= 2
		}, "do not keep the law"},
	} {
		l := learn(tt.change)
		_, why, numbers := profile.Refuted(l.fit)
		if !strings.Contains(why, tt.want) || tt.want == "" && why != "" {
			t.Errorf("%s: %q (%s), want %q", name, why, numbers, tt.want)
		}
		shown, is := l.shown(600, 200), right.shown(600, 200)
		if used := shown.From == profile.IsLearned; used != (tt.want == "") || (shown.Refuted == "") != (tt.want == "") {
			t.Errorf("%s: %s, not used since %q", name, shown.From, shown.Refuted)
		}
		for n := 1.0; n < 40 && tt.want == ""; n *= 2 {
			if got, want := shown.ITL(n).Mean, is.ITL(n).Mean; math.Abs(got-want) > 0.03*want {
				t.Errorf("%s: an ITL of %.2f ms with %.0f together, want %.2f", name, got, n, want)
			}
		}
	}
}
