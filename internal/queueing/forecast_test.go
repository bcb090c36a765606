package queueing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// startUp is the start-up of the variants in these tests. With one cycle a minute, a replica is
// Ready after lead: 1m30s + 1m + 15s = 2m45s. The middle of the last window lies half a window
// before now.
const (
	startUp = 90 * time.Second
	lead    = startUp + time.Minute + 15*time.Second
)

// arriving looks at one rate each minute, the last of them now. It returns the last look and what
// is remembered.
func arriving(rates ...float64) (scaling.Snapshot, Memory) {
	var snap scaling.Snapshot
	var past memory.Traffic
	for i, rate := range rates {
		v := variant("v", a100, 2)
		v.StartUp = startUp
		snap = snapshot(rate, v)
		snap.At = at.Add(time.Duration(i-len(rates)+1) * time.Minute)
		past = Remember(past, snap, memory.Backlog{}, time.Minute, objective).Traffic
	}
	return snap, Memory{Traffic: past, Interval: time.Minute}
}

// poisson draws the arrivals of a minute at a rate, and returns them in requests/s.
func poisson(r *rand.Rand, rate float64) float64 {
	n := 0
	for t := r.ExpFloat64() / rate; t < 60; t += r.ExpFloat64() / rate {
		n++
	}
	return float64(n) / 60
}

func TestWhatGrowsIsExtrapolatedToWhenAReplicaIsReady(t *testing.T) {
	snap, past := arriving(100, 200, 300, 400)
	got := Look(snap, past)
	// The mean of the four rates is 250; the squared distances of their times sum up to 5
	// minutes^2.
	growth := 100 - 1.96*math.Sqrt(250.0/60)/math.Sqrt(5)
	want := Forecast{Rate: 400 + growth*(lead+30*time.Second).Minutes(), Growth: growth, In: lead, Lead: lead, Over: 4 * time.Minute}
	got.Rate, got.Growth = math.Round(1e6*got.Rate)/1e6, math.Round(1e6*got.Growth)/1e6
	want.Rate, want.Growth = math.Round(1e6*want.Rate)/1e6, math.Round(1e6*want.Growth)/1e6
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsExtrapolatedFurtherThanItWasSeen(t *testing.T) {
	snap, past := arriving(100, 200, 300, 400)
	snap.Variants[0].StartUp = time.Hour
	f := Look(snap, past)
	if most := 400 + 100*f.Over.Minutes(); f.Rate > most || f.In > f.Over || f.Lead < time.Hour {
		t.Errorf("%+v: more than %g requests/s, four minutes of growth", f, most)
	}
}

// TestALongLeadIsLookedAheadForAsFar: a replica takes ten minutes to start. After as long a time of
// growth, the forecast reaches to the end of the lead.
func TestALongLeadIsLookedAheadForAsFar(t *testing.T) {
	var past memory.Traffic
	var last Forecast
	const slope = 30.0
	for minute := range 60 {
		v := variant("v", a100, 2)
		v.StartUp = 10 * time.Minute
		snap := snapshot(100+slope*max(0, float64(minute)-20), v)
		snap.At = at.Add(time.Duration(minute) * time.Minute)
		m := Remember(past, snap, memory.Backlog{}, time.Minute, objective)
		past, last = m.Traffic, Look(snap, m)
		if most := snap.Load.ArrivalRate.Value + slope*(last.Lead+30*time.Second).Minutes(); last.Rate > most {
			t.Fatalf("minute %d: %g requests/s are expected, growth continued is %g", minute, last.Rate, most)
		}
		if n := len(past.Arrivals); n > 60 {
			t.Fatalf("minute %d: %d rates are remembered", minute, n)
		}
		switch ahead := last.In; {
		case minute < 20 && last.Rate > 0:
			t.Errorf("minute %d: nothing grows, and %g requests/s are expected", minute, last.Rate)
		case minute == 26 && (ahead < 5*time.Minute || ahead > 7*time.Minute):
			t.Errorf("after six minutes of growth it looks ahead for %s", ahead)
		case minute > 36 && ahead != 11*time.Minute+15*time.Second:
			t.Errorf("minute %d: it looks ahead for %s of a lead of %s", minute, ahead, last.Lead)
		}
	}
}

func TestWhatIsNoTrendIsNotExtrapolated(t *testing.T) {
	unknown := func(change func(*scaling.Snapshot, *Memory)) Forecast {
		snap, past := arriving(100, 200, 300, 400)
		change(&snap, &past)
		return Look(snap, past)
	}
	for name, got := range map[string]Forecast{
		"steady":  Look(arriving(50, 50, 50, 50)),
		"falling": Look(arriving(400, 300, 200, 100)),
		"idle":    Look(arriving(0, 0, 0, 0)),
		// 6 requests more in a minute are within the noise of Poisson arrivals of 300 in a minute.
		"noise of arrivals": Look(arriving(5, 5.05, 5.1, 5.15)),
		"noise of its own":  Look(arriving(50, 90, 40, 110)),
		"too short":         Look(arriving(200, 300, 400)),
		"no history":        unknown(func(_ *scaling.Snapshot, m *Memory) { m.Traffic = memory.Traffic{} }),
		"no start-up time":  unknown(func(s *scaling.Snapshot, _ *Memory) { s.Variants[0].StartUp = 0 }),
		"no rate now":       unknown(func(s *scaling.Snapshot, _ *Memory) { s.At = s.At.Add(time.Minute) }),
		"a gap":             unknown(func(_ *scaling.Snapshot, m *Memory) { m.Traffic.Arrivals[1].At = at.Add(-time.Hour) }),
		"another window":    unknown(func(_ *scaling.Snapshot, m *Memory) { m.Traffic.Arrivals[1].Over = 5 * time.Minute }),
	} {
		if got != (Forecast{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAStepIsNoTrend changes the rate from any level to any other at any time within a window. It
// looks a minute apart for as long as the step is in view.
func TestAStepIsNoTrend(t *testing.T) {
	for _, from := range []float64{0, 8, 300} {
		for _, to := range []float64{10, 80, 1000, 5000} {
			for phase := range 60 { // of 60: the part of the window after the step
				partial := from + (to-from)*float64(phase)/60
				for _, rates := range [][]float64{
					{from, from, from, partial}, {from, from, partial, to}, {from, partial, to, to}, {partial, to, to, to},
				} {
					if f := Look(arriving(rates...)); f.Rate > 0 {
						t.Fatalf("%v is taken for a trend: %+v", rates, f)
					}
				}
			}
		}
	}
}

// TestAStepSeenByWokenCyclesAddsLittle draws a step and four cycles, each one to two windows after
// the one before. Two windows that both hold part of the step can look like a line: in one of
// twenty cases, and by a third of the step at worst.
func TestAStepSeenByWokenCyclesAddsLittle(t *testing.T) {
	const cases, from, to = 4000, 80.0, 800.0
	trends, added := 0, 0.0
	for seed := range uint64(cases) {
		r := rand.New(rand.NewPCG(seed, 9))
		at, ends := time.Duration(0), []time.Duration{0}
		for range 3 {
			at += time.Duration((53 + 67*r.Float64()) * float64(time.Second))
			ends = append(ends, at)
		}
		step := time.Duration(r.Float64()*float64(at+time.Minute)) - time.Minute
		var past memory.Traffic
		var snap scaling.Snapshot
		for _, end := range ends {
			v := variant("v", a100, 2)
			v.StartUp = startUp
			snap = snapshot(from+(to-from)*min(1, max(0, (end-step).Minutes())), v)
			snap.At = snap.At.Add(end)
			past = Remember(past, snap, memory.Backlog{}, time.Minute, objective).Traffic
		}
		if f := Look(snap, Memory{Traffic: past, Interval: time.Minute}); f.Rate > to {
			trends++
			added = max(added, (f.Rate-to)/(to-from))
		}
	}
	if part := float64(trends) / cases; part > 0.07 || part == 0 { // measured: 0.05
		t.Errorf("%.3f of the steps are taken for growth beyond them", part)
	}
	if added > 0.4 { // measured: 0.34
		t.Errorf("up to %.2f of a step is expected beyond it", added)
	}
}

// TestAForecastIsBetweenNowAndGrowthContinued holds for random rates.
func TestAForecastIsBetweenNowAndGrowthContinued(t *testing.T) {
	found := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		rates, level, slope := make([]float64, 4+r.IntN(3)), 200*r.Float64(), 40*(r.Float64()-0.3)
		for i := range rates {
			rates[i] = max(0, level+slope*float64(i)+5*r.NormFloat64())
		}
		snap, past := arriving(rates...)
		f := Look(snap, past)
		if f.Rate == 0 {
			continue
		}
		found++
		last := rates[len(rates)-4:]
		steepest := max(last[1]-last[0], last[2]-last[1], last[3]-last[2])
		if f.Rate <= last[3] || f.Rate > last[3]+steepest*(lead+30*time.Second).Minutes() {
			t.Fatalf("seed %d: %v lets expect %+v", seed, last, f)
		}
	}
	if found < 300 {
		t.Errorf("%d of 3000 are trends: nothing was tested", found)
	}
}

// TestNoiseOfArrivalsIsHardlyEverATrend counts false trends at constant Poisson demand, and what
// they would add. A trend needs a slope above 1.96 standard deviations (one case in 40) and a line
// that fits.
func TestNoiseOfArrivalsIsHardlyEverATrend(t *testing.T) {
	for _, rate := range []float64{0.5, 5, 60} {
		r := rand.New(rand.NewPCG(5, uint64(rate)))
		rates := make([]float64, 4000)
		for i := range rates {
			rates[i] = poisson(r, rate)
		}
		alarms, added := 0, 0.0
		for i := range len(rates) - 3 {
			snap, past := arriving(rates[i : i+4]...)
			if f := Look(snap, past); f.Rate > 0 {
				alarms++
				added += f.Rate - rates[i+3]
			}
		}
		deviation := math.Sqrt(rate / 60)
		if part := float64(alarms) / 4000; part > 0.015 || part == 0 { // measured: 0.005 to 0.008
			t.Errorf("%g requests/s: %.4f of the looks find a trend", rate, part)
		}
		if mean := added / float64(max(1, alarms)); mean > 1.5*deviation { // measured: 0.5 to 0.6 deviations
			t.Errorf("%g requests/s: an alarm adds %.3g in the mean, the deviation is %.3g", rate, mean, deviation)
		}
	}
}

func TestTheDemandIsWhatIsExpectedAndSaysSo(t *testing.T) {
	snap, past := arriving(4, 6, 8, 10)
	a := Analyze(snap, objective, Default(), past)
	f := Look(snap, past)
	if f.Rate <= 10 || a.Demand != f.Rate {
		t.Fatalf("demand %g, forecast %+v", a.Demand, f)
	}
	for _, want := range []string{"requests/s are expected in 2m45s (10 arrive, 0 wait now;", "a replica ordered now is Ready in 2m45s)"} {
		if !strings.Contains(a.Detail, want) {
			t.Errorf("got %q, want it to contain %q", a.Detail, want)
		}
	}
	now := Analyze(snap, objective, Default(), Memory{})
	if a.Variants[0].Utilization != now.Variants[0].Utilization || a.Predicted != now.Predicted {
		t.Errorf("a forecast changes what is measured: %+v, without %+v", a, now)
	}
	if now.Demand != 10 || strings.Contains(now.Detail, "expected") {
		t.Errorf("nothing is remembered: demand %g, %s", now.Demand, now.Detail)
	}
}

func TestAForecastBelowWhatIsToBeServedNowDoesNotBind(t *testing.T) {
	snap, past := arriving(4, 4.6, 5.2, 5.8)
	before := Analyze(snap, objective, Default(), Memory{})
	for i := range snap.Replicas {
		snap.Replicas[i].QueueLengthNow = fresh(1000)
	}
	with, without := Analyze(snap, objective, Default(), past), Analyze(snap, objective, Default(), Memory{})
	f := Look(snap, past)
	if f.Rate <= before.Demand || f.Rate >= without.Demand {
		t.Fatalf("the forecast of %g is not between the demands %g and %g", f.Rate, before.Demand, without.Demand)
	}
	if with.Demand != without.Demand || strings.Contains(with.Detail, "expected") {
		t.Errorf("got a demand of %g and %q, want %g", with.Demand, with.Detail, without.Demand)
	}
}
