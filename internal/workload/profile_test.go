package workload

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
)

// mixed uses every kind of segment, silence included.
const mixed = "ramp(0.5->8,60s),constant(8,60s),ramp(8->0,30s),constant(0,10s),step(1->20,20s,40s),sine(0->6,25s,100s),onoff(9,20s,15s,90s),flash(1->30,20s,8s,60s),gamma(5,60s,cv=2)"

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func parse(t *testing.T, text string) Profile {
	t.Helper()
	p, err := ParseProfile(text)
	if err != nil {
		t.Fatalf("ParseProfile(%q): %v", text, err)
	}
	return p
}

func TestProfilePrintsAsItIsWritten(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"constant(8,60s)", "constant(8,1m)"},
		{" ramp( 0.5 -> 8 , 60s ) , constant(8,1h30m)\t", "ramp(0.5->8,1m),constant(8,1h30m)"},
		{"step(1->8,0s,2h)", "step(1->8,0s,2h)"},
		{"sine(1->8,30s,2m1s)", "sine(1->8,30s,2m1s)"},
		{"onoff(4, 5m, 10m, 1h)", "onoff(4,5m,10m,1h)"},
		{"flash(1->20,2m,45s,10m)", "flash(1->20,2m,45s,10m)"},
		{"gamma(1e2,1500ms, cv = 3)", "gamma(100,1.5s,cv=3)"},
	} {
		p := parse(t, test.text)
		if got := p.String(); got != test.want {
			t.Errorf("ParseProfile(%q) prints %q, want %q", test.text, got, test.want)
		}
		if diff := cmp.Diff(p.Segments(), parse(t, p.String()).Segments()); diff != "" {
			t.Errorf("%q reads back differently (-first +second):\n%s", test.text, diff)
		}
	}
}

func TestWrongProfileNamesColumnAndProblem(t *testing.T) {
	for _, test := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, `found "", want a segment such as constant(8,60s)`},
		{"8", 1, `found "8", want a segment such as constant(8,60s)`},
		{"constant(8,60s", 15, `constant( is not closed, want )`},
		{"constant(8,60s),", 17, `found "", want a segment such as constant(8,60s)`},
		{"constant(8,60s)ramp(1->2,3s)", 16, `found "r", want a comma or the end`},
		{"constant(8,60s),rump(1->2,3s)", 17, `"rump" is not a segment, want constant, ramp, step, sine, onoff, flash or gamma`},
		{"constant(8)", 1, `constant has too few arguments, want constant(RATE,DURATION)`},
		{"constant(8,60s,cv=3)", 16, `found "cv=3", want constant(RATE,DURATION)`},
		{"constant(eight,60s)", 10, `"eight" is not a number, want constant(RATE,DURATION)`},
		{"constant(8,60)", 12, `"60" is not a duration such as 90s or 1m30s, want constant(RATE,DURATION)`},
		{"constant((8),60s)", 10, `found "(", want a comma or )`},
		{"constant(-1,60s)", 1, `constant: the rate -1 is not in [0, 1e+06] requests/s`},
		{"constant(NaN,60s)", 1, `constant: the rate NaN is not in [0, 1e+06] requests/s`},
		{"constant(1,0s)", 1, `constant: the duration 0s is not in (0, 10000h]`},
		{"ramp(1-8,60s)", 6, `found "1-8", want two rates such as 0.5->8 in ramp(FROM->TO,DURATION)`},
		{"ramp(1->,60s)", 6, `"" is not a number, want ramp(FROM->TO,DURATION)`},
		{"step(1->8,3m,60s)", 1, `step: the step at 3m is outside the duration 1m`},
		{"sine(8->1,30s,60s)", 1, `sine: the low rate 8 is above the high rate 1`},
		{"onoff(1,5s,0s,60s)", 1, `onoff: the time off 0s is not in (0, 10000h]`},
		{"onoff(1,5s,60s)", 1, `onoff has too few arguments, want onoff(RATE,ON,OFF,DURATION)`},
		{"flash(9->1,5s,5s,60s)", 1, `flash: the low rate 9 is above the high rate 1`},
		{"flash(1->9,2m,5s,60s)", 1, `flash: the jump at 2m is outside the duration 1m`},
		{"gamma(8,60s,3)", 13, `found "3", want cv=NUMBER in gamma(RATE,DURATION,cv=CV)`},
		{"gamma(8,60s,cv=1000)", 1, `gamma: the cv 1000 is not in [0.01, 100]`},
		{"gamma(0,60s,cv=2)", 1, `gamma: the rate is 0: write constant(0,1m) for silence`},
		{"constant(1,9000h),constant(1,9000h)", 19, `the profile is longer than 10000h`},
	} {
		_, err := ParseProfile(test.text)
		got, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("ParseProfile(%q): got %v, want a SyntaxError", test.text, err)
			continue
		}
		if diff := cmp.Diff(&SyntaxError{Column: test.column, Problem: test.want}, got); diff != "" {
			t.Errorf("ParseProfile(%q) (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestNewProfileRefusesWhatTheGrammarRefuses(t *testing.T) {
	for _, segments := range [][]Segment{
		nil,
		{Constant{Rate: 1}},
		{Ramp{From: math.Inf(1), To: 1, Duration: time.Second}},
		{Constant{Rate: 1, Duration: 9000 * time.Hour}, Constant{Rate: 1, Duration: 9000 * time.Hour}},
	} {
		if p, err := NewProfile(segments...); err == nil {
			t.Errorf("NewProfile(%v): got %s, want an error", segments, p)
		}
	}
	if _, err := NewProfile(Constant{Rate: 1, Duration: time.Second}); err != nil {
		t.Error(err)
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, text := range []string{mixed, "", "constant(8,60s", "gamma(1,1s,cv=0.5)", "sine(0->0x1p3,1ns,1h)", "a(b(c))", ",,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProfile(text)
		if syntax, ok := errors.AsType[*SyntaxError](err); ok && (syntax.Column < 1 || syntax.Column > len(text)+1) {
			t.Fatalf("%q: the error is at column %d, outside the text", text, syntax.Column)
		}
		if err != nil {
			return
		}
		again, err := ParseProfile(p.String())
		if err != nil {
			t.Fatalf("%q prints %q: %v", text, p, err)
		}
		if diff := cmp.Diff(p.Segments(), again.Segments()); diff != "" {
			t.Fatalf("%q prints %q, which reads differently:\n%s", text, p, diff)
		}
		var last time.Duration
		n := 0
		for at := range p.Arrivals(random(1)) {
			if at < last || at >= p.Duration() {
				t.Fatalf("%q: arrival at %s after %s in a profile of %s", p, at, last, p.Duration())
			}
			if last = at; n > 100 {
				break
			}
			n++
		}
	})
}

// TestExpectedArrivalsIntegrateTheRate compares the closed forms with a
// midpoint sum; its error is below h²·|r”|/24 per unit of time away from jumps
// and below h·jump at one, less than the 0.1 allowed with h = 5 ms.
func TestExpectedArrivalsIntegrateTheRate(t *testing.T) {
	p := parse(t, mixed)
	const h = 5 * time.Millisecond
	var sum float64
	for at := time.Duration(0); at < p.Duration(); at += h {
		sum += p.RateAt(at+h/2) * h.Seconds()
		if got := p.ArrivalsBy(at + h); math.Abs(got-sum) > 0.1 {
			t.Fatalf("ArrivalsBy(%s) = %g, the integral is %g", at+h, got, sum)
		}
	}
	if p.RateAt(-1) != 0 || p.RateAt(p.Duration()) != 0 {
		t.Error("the rate is not 0 outside the profile")
	}
}

func TestArrivalsStayInOrderAndInside(t *testing.T) {
	p := parse(t, mixed)
	silence := [2]time.Duration{150 * time.Second, 160 * time.Second} // constant(0,10s)
	for seed := range uint64(50) {
		var last time.Duration
		for at := range p.Arrivals(random(seed)) {
			if at < last || at >= p.Duration() {
				t.Fatalf("seed %d: arrival at %s after %s in a profile of %s", seed, at, last, p.Duration())
			}
			if at >= silence[0] && at < silence[1] {
				t.Fatalf("seed %d: arrival at %s while the rate is 0", seed, at)
			}
			last = at
		}
	}
}

// TestPoissonCountsHaveTheirMeanAndVariance draws 1000 runs. A Poisson count
// has equal mean and variance; their estimates have standard errors
// sqrt(m/1000) and m·sqrt(2/1000). The seed is fixed, 4 standard errors allow
// for the choice of it.
func TestPoissonCountsHaveTheirMeanAndVariance(t *testing.T) {
	const runs = 1000
	for _, text := range []string{
		"constant(5,10s)", "ramp(0->10,10s)", "ramp(10->0,10s)", "step(1->9,5s,10s)",
		"sine(0->10,4s,9s)", "ramp(0.5->8,6s),constant(8,6s)", "gamma(5,10s,cv=1)",
	} {
		p := parse(t, text)
		counts := make([]float64, runs)
		for i := range counts {
			for range p.Arrivals(random(uint64(i))) {
				counts[i]++
			}
		}
		want := p.ArrivalsBy(p.Duration())
		mean, variance := stat.MeanVariance(counts, nil)
		if math.Abs(mean-want) > 4*math.Sqrt(want/runs) {
			t.Errorf("%s: %g arrivals on average, want %g", text, mean, want)
		}
		if math.Abs(variance-want) > 4*want*math.Sqrt(2.0/runs) {
			t.Errorf("%s: the variance of arrivals is %g, want %g", text, variance, want)
		}
	}
}

// TestArrivalsFollowTheRateOverTime uses that R(t)/R(end) of the arrivals of a
// Poisson process is uniform: the Kolmogorov-Smirnov distance of n of them is
// below 1.95/sqrt(n) with probability 0.999.
func TestArrivalsFollowTheRateOverTime(t *testing.T) {
	for _, text := range []string{
		"constant(50,100s)", "ramp(0->100,100s)", "ramp(100->10,100s)", "step(10->90,30s,100s)",
		"sine(5->95,17s,100s)", "ramp(1->80,60s),constant(80,60s),ramp(80->1,30s),constant(1,60s)",
	} {
		p := parse(t, text)
		total := p.ArrivalsBy(p.Duration())
		var uniform []float64
		for at := range p.Arrivals(random(7)) {
			uniform = append(uniform, p.ArrivalsBy(at)/total)
		}
		var distance float64
		n := float64(len(uniform))
		for i, u := range uniform {
			distance = max(distance, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
		}
		if distance > 1.95/math.Sqrt(n) {
			t.Errorf("%s: the distance of %g arrivals from the rate is %g, want below %g", text, n, distance, 1.95/math.Sqrt(n))
		}
	}
}

// TestGammaGapsHaveTheirMeanAndVariation checks one long run. With n gaps the
// relative standard error of the mean is cv/sqrt(n); that of the cv, from the
// fourth moment of a Gamma (kurtosis 3+6cv²), is about sqrt((2+6cv²)/n)/2 plus
// the mean's: 4 times their sum is allowed.
func TestGammaGapsHaveTheirMeanAndVariation(t *testing.T) {
	for _, cv := range []float64{0.2, 1, 3, 8} {
		p, err := NewProfile(Gamma{Rate: 100, CV: cv, Duration: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var gaps []float64
		last := time.Duration(-1)
		for at := range p.Arrivals(random(3)) {
			if last >= 0 {
				gaps = append(gaps, (at - last).Seconds())
			}
			last = at
		}
		mean, deviation := stat.MeanStdDev(gaps, nil)
		n := float64(len(gaps))
		meanError := cv / math.Sqrt(n)
		if got := mean * 100; math.Abs(got-1) > 4*meanError {
			t.Errorf("cv %g: the mean gap is %g of 1/rate", cv, got)
		}
		if got, margin := deviation/mean/cv, 4*(meanError+math.Sqrt((2+6*cv*cv)/n)/2); math.Abs(got-1) > margin {
			t.Errorf("cv %g: the gaps' variation is %g of it, want 1 ± %g", cv, got, margin)
		}
	}
}

// TestGammaBurstsStartInEquilibrium: a stationary process expects rate ×
// duration arrivals in a short window too, where an ordinary start with cv = 4
// would add (16-1)/2 = 7.5 to 20. Counts have a standard deviation near
// sqrt(20)·4 = 18, their mean over 4000 runs 0.28.
func TestGammaBurstsStartInEquilibrium(t *testing.T) {
	const runs = 4000
	p := parse(t, "gamma(10,2s,cv=4)")
	var sum float64
	for seed := range uint64(runs) {
		for range p.Arrivals(random(seed)) {
			sum++
		}
	}
	if got := sum / runs; math.Abs(got-20) > 4*0.28 {
		t.Errorf("%g arrivals on average, want 20", got)
	}
}

func TestArrivalsCanBeAbandoned(t *testing.T) {
	for range parse(t, mixed).Arrivals(random(1)) {
		break
	}
	if got := slices.Collect(Profile{}.Arrivals(random(1))); len(got) != 0 {
		t.Errorf("the empty profile has arrivals %v", got)
	}
}
