package analyzer

import (
	"math"
	"testing"
)

func TestMG1IsPollaczekKhinchine(t *testing.T) {
	for _, c := range []struct {
		name string
		m    MG1Model
		wait float64
	}{
		// M/M/1: u/(1-u) x S = 0.8/0.2 x 2.
		{"exponential", MG1Model{ArrivalRate: 0.4, ServiceTime: 2, SCV: 1}, 8},
		// M/D/1: half of that.
		{"constant", MG1Model{ArrivalRate: 0.4, ServiceTime: 2, SCV: 0}, 4},
		{"irregular", MG1Model{ArrivalRate: 0.4, ServiceTime: 2, SCV: 4}, 20},
		{"no arrivals", MG1Model{ArrivalRate: 0, ServiceTime: 2, SCV: 4}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.m.Solve()
			if err != nil {
				t.Fatal(err)
			}
			if distance(got.Wait, c.wait) > 1e-14 {
				t.Errorf("wait is %v, want %v", got.Wait, c.wait)
			}
			if distance(got.InSystem, got.Throughput*got.Response) > 1e-14 {
				t.Errorf("Little's law: %v in the system, %v arrive x %v", got.InSystem, got.Throughput, got.Response)
			}
		})
	}
}

func TestMG1KWithExponentialServiceIsMM1K(t *testing.T) {
	for _, u := range []float64{0, 1e-3, 0.3, 0.99, 1 - 1e-9, 1, 1 + 1e-9, 1.2, 7} {
		for _, capacity := range []int{1, 2, 3, 20, 500} {
			got, err := MG1KModel{ArrivalRate: u / 3, ServiceTime: 3, SCV: 1, Capacity: capacity}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			want, err := MM1KModel{ArrivalRate: u / 3, ServiceRate: 1. / 3, Capacity: capacity}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range compare(got, want) {
				c.scale = max(c.scale, 1e-6)
				if math.Abs(c.got-c.want) > 1e-8*max(c.want, c.scale) {
					t.Errorf("load %v, capacity %d: %s is %v, want %v", u, capacity, c.name, c.got, c.want)
				}
			}
		}
	}
}

func TestMG1KWithAHugeQueueIsMG1(t *testing.T) {
	for _, scv := range []float64{0, 0.5, 1, 3} {
		for _, u := range []float64{0.1, 0.5, 0.9} {
			got, err := MG1KModel{ArrivalRate: u, ServiceTime: 1, SCV: scv, Capacity: 5000}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			want, err := MG1Model{ArrivalRate: u, ServiceTime: 1, SCV: scv}.Solve()
			if err != nil {
				t.Fatal(err)
			}
			if distance(got.Wait, want.Wait) > 1e-9 {
				t.Errorf("SCV %v, load %v: wait is %v, want %v", scv, u, got.Wait, want.Wait)
			}
		}
	}
}

// embedded solves M/G/1/K exactly, for a mean time in service of 1, from the chances
// arrive(k) of k arrivals during one service (the chain at departures).
func embedded(u float64, capacity int, arrive func(int) float64) (blocking, inSystem float64) {
	left := make([]float64, capacity) // weights of what a departure leaves behind
	left[0] = 1
	for j := range capacity - 1 {
		// Balance between j and less on one side, more on the other.
		up := left[0] * tailOf(arrive, j)
		for i := 1; i <= j; i++ {
			up += left[i] * tailOf(arrive, j-i+1)
		}
		left[j+1] = up / arrive(0)
	}
	total := 0.0
	for _, w := range left {
		total += w
	}
	none := left[0] / total
	blocking = 1 - 1/(none+u)
	for j, w := range left {
		inSystem += float64(j) * w / total / (none + u)
	}
	return blocking, inSystem + float64(capacity)*blocking
}

// tailOf is the chance of more than k arrivals.
func tailOf(arrive func(int) float64, k int) float64 {
	sum := 1.0
	for i := range k + 1 {
		sum -= arrive(i)
	}
	return max(sum, 0)
}

func TestMG1KErrorsStayWithinWhatTheReadmeSays(t *testing.T) {
	constant := func(u float64) func(int) float64 {
		return func(k int) float64 {
			g, _ := math.Lgamma(float64(k + 1))
			return math.Exp(float64(k)*math.Log(u) - u - g)
		}
	}
	// Two exponential phases.
	erlang := func(u float64) func(int) float64 {
		p := 2 / (2 + u)
		return func(k int) float64 { return float64(k+1) * p * p * math.Pow(1-p, float64(k)) }
	}
	// One of two exponential times with means of balance.
	irregular := func(u float64) func(int) float64 {
		const scv = 4
		share := (1 + math.Sqrt((scv-1.)/(scv+1.))) / 2
		return func(k int) float64 {
			sum := 0.0
			for _, s := range []float64{share, 1 - share} {
				load := u / (2 * s)
				sum += s * math.Pow(load/(1+load), float64(k)) / (1 + load)
			}
			return sum
		}
	}
	for _, c := range []struct {
		name                 string
		scv                  float64
		arrive               func(float64) func(int) float64
		throughput, response float64 // greatest relative error, README
	}{
		{"constant", 0, constant, 0.045, 0.035},
		{"erlang", 0.5, erlang, 0.02, 0.015},
		{"hyperexponential", 4, irregular, 0.095, 0.10},
	} {
		t.Run(c.name, func(t *testing.T) {
			throughput, response := 0.0, 0.0
			for _, u := range []float64{0.2, 0.5, 0.8, 0.95, 1, 1.2, 1.5} {
				for _, capacity := range []int{2, 3, 5, 10, 20} {
					blocking, inSystem := embedded(u, capacity, c.arrive(u))
					got, err := MG1KModel{ArrivalRate: u, ServiceTime: 1, SCV: c.scv, Capacity: capacity}.Solve()
					if err != nil {
						t.Fatal(err)
					}
					served := u * (1 - blocking)
					throughput = max(throughput, distance(got.Throughput, served))
					response = max(response, distance(got.Response, inSystem/served))
				}
			}
			t.Logf("greatest relative errors: throughput %.3f, response %.3f", throughput, response)
			if throughput > c.throughput || response > c.response {
				t.Errorf("throughput is %v off and response %v, want at most %v and %v", throughput, response, c.throughput, c.response)
			}
		})
	}
}
