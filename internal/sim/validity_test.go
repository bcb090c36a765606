package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// runs is how many independent runs a confidence interval is made of, and
// quantile that of Student's t with runs-1 degrees of freedom for 99.9 % (two
// sides).
const (
	runs     = 10
	quantile = 4.781
)

// within checks that a confidence interval of samples contains want, and that it
// is narrow enough to mean something: within a tenth of want.
func within(t *testing.T, what string, samples []float64, want float64) {
	t.Helper()
	var mean, square float64
	for _, s := range samples {
		mean += s / float64(len(samples))
	}
	for _, s := range samples {
		square += (s - mean) * (s - mean)
	}
	half := quantile * math.Sqrt(square/float64(len(samples)-1)/float64(len(samples)))
	if math.Abs(mean-want) > half {
		t.Errorf("%s is %.4g +- %.2g, want %.4g", what, mean, half, want)
	}
	if half > want/10 {
		t.Errorf("%s is %.4g +- %.2g: the interval says too little", what, mean, half)
	}
}

// erlang returns the mean number in an M/M/c/K system and the probability that
// an arrival finds it full, from the balance equations (Kleinrock, Queueing
// Systems I, 1975, section 3.8): p(n+1) = p(n) * a / min(n+1, c).
func erlang(offered float64, servers, room int) (number, blocked float64) {
	p := []float64{1}
	sum := 1.0
	for n := range room {
		p = append(p, p[n]*offered/float64(min(n+1, servers)))
		sum += p[n+1]
	}
	for n := range p {
		number += float64(n) * p[n] / sum
	}
	return number, p[room] / sum
}

// TestExponentialServiceMatchesErlang runs M/M/1/K and M/M/c (with room for so
// many that none is turned away).
func TestExponentialServiceMatchesErlang(t *testing.T) {
	const mean = 100 * time.Millisecond
	for _, tt := range race.Some([]struct {
		rate          float64 // requests/s
		servers, room int
	}{
		{rate: 6, servers: 1, room: 400},
		{rate: 8, servers: 1, room: 5},
		{rate: 15, servers: 1, room: 3},
		{rate: 24, servers: 3, room: 400},
		{rate: 35, servers: 5, room: 8},
	}) {
		t.Run(fmt.Sprintf("%g per s, %d servers, room for %d", tt.rate, tt.servers, tt.room), func(t *testing.T) {
			number, blocked := erlang(tt.rate*mean.Seconds(), tt.servers, tt.room)
			response := number / (tt.rate * (1 - blocked)) * 1000 // ms, by Little's law
			var responses, blocks, numbers []float64
			for seed := range uint64(runs) {
				c := testConfig(simtest.Chat(t, fmt.Sprintf("constant(%g,30m)", tt.rate), seed))
				c.Interval = 4 * time.Second
				c.Models[0].Variants[0].Replica = func() (Replica, error) {
					return &exponential{servers: tt.servers, room: tt.room, mean: mean, draws: rand.New(rand.NewPCG(seed, 1))}, nil
				}
				var inFlight, samples float64
				c.OnInterval = func(i Interval) {
					if i.End > time.Minute && i.End <= 30*time.Minute {
						inFlight += float64(i.InFlight)
						samples++
					}
				}
				r, err := Run(t.Context(), c, hold())
				if err != nil {
					t.Fatal(err)
				}
				m := r.Models[0]
				responses = append(responses, m.Response.Mean)
				blocks = append(blocks, float64(m.Counts.Rejected)/float64(m.Counts.Arrived))
				numbers = append(numbers, inFlight/samples)
			}
			within(t, "the response time [ms]", responses, response)
			within(t, "the number in the system", numbers, number)
			if blocked > 1e-6 {
				within(t, "the probability of being turned away", blocks, blocked)
			} else if slices.Max(blocks) > 0 {
				t.Errorf("turned away %v of the requests, want none", slices.Max(blocks))
			}
		})
	}
}

// TestServingReplicaMatchesPollaczekKhinchine runs the real machine where a
// closed form exists: one request at a time, all of one length, is M/D/1, whose
// mean wait is rho*D / (2*(1-rho)).
func TestServingReplicaMatchesPollaczekKhinchine(t *testing.T) {
	const input, output = 200, 20
	p := testProfile()
	p.MaxBatchSize = 1
	service := p.GammaMS + p.DeltaMS*input + (output-1)*(p.AlphaMS+p.BetaMS) // ms
	const rho = 0.7
	want := service + rho*service/(2*(1-rho))
	var responses []float64
	for seed := range uint64(runs) {
		rates := simtest.Rates(t, fmt.Sprintf("constant(%g,2h)", rho*1000/service))
		c := testConfig(workload.WithoutError(workload.Generate(rates, simtest.Alike(t, input, output), rand.New(rand.NewPCG(seed, 2)))))
		c.Models[0].Variants[0].Profile = p
		r, err := Run(t.Context(), c, hold())
		if err != nil {
			t.Fatal(err)
		}
		responses = append(responses, r.Models[0].Response.Mean)
	}
	within(t, "the response time [ms]", responses, want)
}

// TestSketchIsWithinOnePercent compares with sorted values.
func TestSketchIsWithinOnePercent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s Sketch
	var all []float64
	for range 20_000 {
		v := math.Exp(2 * rng.NormFloat64())
		s.Add(v)
		all = append(all, v)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
		if got := s.Quantile(q); math.Abs(got/want-1) > 0.0101 {
			t.Errorf("quantile %g is %g, want %g within 1 %%", q, got, want)
		}
	}
	if got := s.Summary().Max; got != all[len(all)-1] {
		t.Errorf("the largest is %g, want %g", got, all[len(all)-1])
	}
	if got := (&Sketch{}).Summary(); got != (Latency{}) {
		t.Errorf("an empty sketch says %+v", got)
	}
}

var _ Replica = (*exponential)(nil)

func TestMergedSketchIsThatOfAllValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var parts [3]Sketch
	var all Sketch
	for i := range 3000 {
		ms := rng.ExpFloat64() * 100
		parts[i%3].Add(ms)
		all.Add(ms)
	}
	var merged Sketch
	for i := range parts {
		merged.Merge(&parts[i])
	}
	got, want := merged.Summary(), all.Summary()
	if math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean { // sums in another order
		t.Errorf("mean %g, want %g", got.Mean, want.Mean)
	}
	if got.Mean = want.Mean; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
