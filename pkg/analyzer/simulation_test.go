package analyzer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// served is what one simulated request experienced, in ms, and how many were turned
// away since the one before.
type served struct{ ttft, wait, itl, refused float64 }

// simulate plays the queue event by event: Poisson arrivals, departures at the rate of
// the batch, first come first served. It returns the requests that found room.
func simulate(c Config, rate float64, requests int, rng *rand.Rand) (done []served) {
	var (
		now, arrival = 0.0, rate / 1000
		waiting      []float64 // times of arrival
		batch        int
		refused      float64
	)
	enter := func(since float64) {
		batch++
		b := float64(batch)
		wait := now - since
		done = append(done, served{wait + c.Service.FirstToken(b, c.Size), wait, c.Service.Decode(b, c.Size), refused})
		refused = 0
	}
	for len(done) < requests {
		leave := 0.0
		if batch > 0 {
			leave = float64(batch) / c.Service.Total(float64(batch), c.Size)
		}
		now += rng.ExpFloat64() / (arrival + leave)
		switch arrives := rng.Float64()*(arrival+leave) < arrival; {
		case !arrives:
			batch--
			if len(waiting) > 0 {
				since := waiting[0]
				waiting = waiting[1:]
				enter(since)
			}
		case batch < c.MaxBatch:
			enter(now)
		case len(waiting) < c.MaxQueue:
			waiting = append(waiting, now)
		default:
			refused++
		}
	}
	return done
}

// interval is the mean of samples with its standard error, from the means of batches
// that are long enough to be independent.
func interval(samples []served, value func(served) float64) (mean, stderr float64) {
	const batches = 40
	size := len(samples) / batches
	var sum, squares float64
	for i := range batches {
		m := 0.0
		for _, s := range samples[i*size : (i+1)*size] {
			m += value(s) / float64(size)
		}
		sum += m
		squares += m * m
	}
	mean = sum / batches
	return mean, math.Sqrt(max(0, squares/batches-mean*mean) / (batches - 1))
}

func TestASimulationOfTheQueueAgrees(t *testing.T) {
	const requests, warmUp, rare = 200_000, 10_000, 5. / 200_000
	for _, c := range []Config{
		{
			MaxBatch: 8, MaxQueue: 20, Size: RequestSize{InputTokens: 100, OutputTokens: 10},
			Service: FourParameter{Alpha: 1, Beta: 0.1, Gamma: 2, Delta: 0.01},
		},
		{
			MaxBatch: 4, MaxQueue: 100, Size: RequestSize{InputTokens: 512, OutputTokens: 128},
			Service: ThreeParameter{Alpha: 8, Beta: 0.033, Gamma: 0.00033},
		},
	} {
		for _, load := range []float64{0.5, 0.85, 1} {
			t.Run(fmt.Sprintf("%T at %v", c.Service, load), func(t *testing.T) {
				q := mustAnalyzer(t, c)
				_, most := q.RateRange()
				rate := load * most
				m, err := q.Analyze(rate)
				if err != nil {
					t.Fatal(err)
				}
				done := simulate(c, rate, requests, rand.New(rand.NewPCG(7, 8)))
				agree := func(what string, want float64, value func(served) float64) {
					t.Helper()
					// Four standard errors: the chance of a false alarm is below 1 in
					// 10,000 a seed, and the seed is fixed. Events that are too rare to
					// be seen have no standard error.
					mean, stderr := interval(done[warmUp:], value)
					if math.Abs(mean-want) > 4*stderr+rare {
						t.Errorf("%s is %v, the simulation has %v, standard error %v", what, want, mean, stderr)
					}
				}
				agree("TTFT", m.TTFT, func(s served) float64 { return s.ttft })
				agree("wait", m.Wait, func(s served) float64 { return s.wait })
				agree("ITL", m.ITL, func(s served) float64 { return s.itl })
				for _, p := range []float64{0.5, 0.9, 0.99} {
					limit, err := q.PercentileTTFT(rate, p)
					if err != nil {
						t.Fatal(err)
					}
					share, err := q.ShareWithinTTFT(rate, limit)
					if err != nil {
						t.Fatal(err)
					}
					if share < p-1e-9 {
						t.Errorf("percentile %v is %v ms, which only the share %v keeps", p, limit, share)
					}
					agree(fmt.Sprintf("share within percentile %v", p), share, func(s served) float64 {
						if s.ttft <= limit*(1+1e-12) {
							return 1
						}
						return 0
					})
				}
				agree("requests refused for each admitted", m.Blocking/(1-m.Blocking), func(s served) float64 { return s.refused })
			})
		}
	}
}
