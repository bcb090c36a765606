package analyzer

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// textbook is M/M/1/K by its published formula, which divides by 1-u.
func textbook(arrival, service float64, capacity int) QueueMetrics {
	u, k := arrival/service, float64(capacity)
	uk := math.Pow(u, k)
	m := QueueMetrics{Idle: (1 - u) / (1 - uk*u)}
	m.Blocking = m.Idle * uk
	m.Utilization = 1 - m.Idle
	m.InService = m.Utilization
	m.Throughput = arrival * (1 - m.Blocking)
	m.InSystem = u/(1-u) - (k+1)*uk*u/(1-uk*u)
	m.QueueLength = m.InSystem - m.InService
	m.Response = m.InSystem / m.Throughput
	m.Service = 1 / service
	m.Wait = m.Response - m.Service
	return m
}

func TestMM1KEqualsItsFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		// Away from utilization 1 and from capacities whose power overflows: there the
		// formula loses digits, and the next test judges.
		u := 0.05 + 0.9*rng.Float64()
		if rng.IntN(3) == 0 {
			u = 1.1 + 2*rng.Float64()
		}
		service := math.Exp(20*rng.Float64() - 10)
		capacity := 1 + rng.IntN(200)
		m := MM1KModel{ArrivalRate: u * service, ServiceRate: service, Capacity: capacity}
		got, err := m.Solve()
		if err != nil {
			t.Fatal(err)
		}
		want := textbook(m.ArrivalRate, service, capacity)
		// Differences of the formula cancel: its waits are good to this much of a
		// response.
		for _, c := range compare(got, want) {
			if math.Abs(c.got-c.want) > 1e-9*max(math.Abs(c.want), c.scale) {
				t.Fatalf("%+v: %s is %v, want %v", m, c.name, c.got, c.want)
			}
		}
	}
}

// compared is one field of two QueueMetrics; below scale, errors are absolute.
type compared struct {
	name             string
	got, want, scale float64
}

func compare(got, want QueueMetrics) []compared {
	return []compared{
		{"Throughput", got.Throughput, want.Throughput, 0},
		{"Blocking", got.Blocking, want.Blocking, 0},
		{"Idle", got.Idle, want.Idle, 0},
		{"Utilization", got.Utilization, want.Utilization, 0},
		{"InSystem", got.InSystem, want.InSystem, 0},
		{"InService", got.InService, want.InService, 0},
		{"QueueLength", got.QueueLength, want.QueueLength, 1e-3 * want.InSystem},
		{"Response", got.Response, want.Response, 0},
		{"Wait", got.Wait, want.Wait, 1e-3 * want.Response},
		{"Service", got.Service, want.Service, 0},
	}
}

// exact walks all states of a birth-death chain with 256 bits, which neither overflow
// nor cancel here. rates are r_1 .. r_N.
func exact(arrival float64, rates []float64, capacity int) QueueMetrics {
	const bits = 256
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }
	var (
		weight                                             = number(1)
		total, inSystem, inService, waiting, none, blocked = number(0), number(0), number(0), number(0), number(0), number(0)
		scratch                                            = number(0)
	)
	for n := range capacity + 1 {
		if n > 0 {
			weight.Mul(weight, number(arrival))
			weight.Quo(weight, number(rates[min(n, len(rates))-1]))
		} else {
			none.Copy(weight)
		}
		total.Add(total, weight)
		inSystem.Add(inSystem, scratch.Mul(weight, number(float64(n))))
		inService.Add(inService, scratch.Mul(weight, number(float64(min(n, len(rates))))))
		waiting.Add(waiting, scratch.Mul(weight, number(float64(max(0, n-len(rates))))))
	}
	blocked.Copy(weight)
	ratio := func(a, b *big.Float) float64 {
		f, _ := new(big.Float).SetPrec(bits).Quo(a, b).Float64()
		return f
	}
	admitted := new(big.Float).SetPrec(bits).Sub(total, blocked)
	busy := new(big.Float).SetPrec(bits).Sub(total, none)
	served := new(big.Float).SetPrec(bits).Mul(admitted, number(arrival))
	return QueueMetrics{
		Throughput:  ratio(served, total),
		Blocking:    ratio(blocked, total),
		Idle:        ratio(none, total),
		Utilization: ratio(busy, total),
		InSystem:    ratio(inSystem, total),
		InService:   ratio(inService, total),
		QueueLength: ratio(waiting, total),
		Response:    ratio(inSystem, served),
		Wait:        ratio(waiting, served),
		Service:     ratio(inService, served),
	}
}

// distancesFromOne are |1 - utilization|, from none to half.
var distancesFromOne = []float64{0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.5}

func TestMM1KIsExactAroundUtilizationOne(t *testing.T) {
	worst := 0.0
	for _, e := range distancesFromOne {
		for _, sign := range []float64{-1, 1} {
			for _, capacity := range []int{1, 2, 3, 10, 100, 1024, 3000} {
				const service = 0.37
				arrival := service * (1 + sign*e)
				got, err := MM1KModel{ArrivalRate: arrival, ServiceRate: service, Capacity: capacity}.Solve()
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range compare(got, exact(arrival, []float64{service}, capacity)) {
					if worst = max(worst, distance(c.got, c.want)); distance(c.got, c.want) > 1e-12 {
						t.Errorf("utilization 1%+g, capacity %d: %s is %v, want %v", sign*e, capacity, c.name, c.got, c.want)
					}
				}
			}
		}
	}
	t.Logf("worst relative error %.1e", worst)
}

func TestMM1KFarAboveUtilizationOneIsFinite(t *testing.T) {
	got, err := MM1KModel{ArrivalRate: 1e300, ServiceRate: 1e-5, Capacity: 100_000}.Solve()
	if err != nil {
		t.Fatal(err)
	}
	want := QueueMetrics{
		Throughput: 1e-5, Blocking: 1, Idle: 0, Utilization: 1,
		InSystem: 100_000, InService: 1, QueueLength: 99_999, Response: 1e10, Wait: 9.9999e9, Service: 1e5,
	}
	for _, c := range compare(got, want) {
		if distance(c.got, c.want) > 1e-9 && c.name != "Throughput" {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestStateDependentIsExactAtEveryLoad(t *testing.T) {
	worst := 0.0
	for _, batch := range []int{1, 2, 16, 256, 1024} {
		rates := make([]float64, batch)
		for i := range rates {
			n := float64(i + 1)
			rates[i] = n / (2600 + 65*n) // the published A100 profile, about
		}
		for _, queue := range []int{0, 1, batch, QueuePerBatch * batch} {
			m, err := NewMM1StateDependent(rates, batch+queue)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range []float64{1e-3, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-9, 1, 1 + 1e-9, 1.01, 1.5, 50} {
				arrival := u * rates[batch-1]
				got, err := m.Solve(arrival)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range compare(got, exact(arrival, rates, batch+queue)) {
					d := distance(c.got, c.want)
					if max(c.got, c.want) < 1e-300 {
						continue // below the range of a float64
					}
					if worst = max(worst, d); d > 1e-11 {
						t.Errorf("batch %d, queue %d, utilization %v: %s is %v, want %v", batch, queue, u, c.name, c.got, c.want)
					}
				}
			}
		}
	}
	t.Logf("worst relative error %.1e", worst)
}

func TestStateDependentWithConstantRatesIsMM1K(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		rates := make([]float64, 1+rng.IntN(40))
		service := math.Exp(6*rng.Float64() - 3)
		for i := range rates {
			rates[i] = service
		}
		capacity := len(rates) + rng.IntN(100)
		arrival := service * 2 * rng.Float64()
		many, err := NewMM1StateDependent(rates, capacity)
		if err != nil {
			t.Fatal(err)
		}
		got, err := many.Solve(arrival)
		if err != nil {
			t.Fatal(err)
		}
		want, err := MM1KModel{ArrivalRate: arrival, ServiceRate: service, Capacity: capacity}.Solve()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []compared{
			{"Throughput", got.Throughput, want.Throughput, 0},
			{"Blocking", got.Blocking, want.Blocking, 0},
			{"Utilization", got.Utilization, want.Utilization, 0},
			{"InSystem", got.InSystem, want.InSystem, 0},
			{"Response", got.Response, want.Response, 0},
		} {
			if distance(c.got, c.want) > 1e-11 {
				t.Errorf("%d rates of %v, capacity %d, arrival %v: %s is %v, want %v",
					len(rates), service, capacity, arrival, c.name, c.got, c.want)
			}
		}
	}
}

func TestStateDependentTakesRatesInAnyOrder(t *testing.T) {
	// The server slows down, recovers and slows down: weights with two summits, and a
	// valley between them that underflows.
	rates := []float64{1, 50}
	for range 150 {
		rates = append(rates, 1000)
	}
	for range 200 {
		rates = append(rates, 0.01)
	}
	for _, rates := range [][]float64{{3, 1, 2}, {5, 4, 3, 2, 1}, {1, 9, 1, 9, 1}, rates} {
		for _, arrival := range []float64{0, 0.01, 1, 2.5, 10} {
			t.Run(fmt.Sprintf("%d rates at %v", len(rates), arrival), func(t *testing.T) {
				m, err := NewMM1StateDependent(rates, len(rates)+5)
				if err != nil {
					t.Fatal(err)
				}
				got, err := m.Solve(arrival)
				if err != nil {
					t.Fatal(err)
				}
				if arrival == 0 {
					want := QueueMetrics{Idle: 1, Response: 1 / rates[0], Service: 1 / rates[0]}
					if got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
					return
				}
				for _, c := range compare(got, exact(arrival, rates, len(rates)+5)) {
					if max(c.got, c.want) > 1e-300 && distance(c.got, c.want) > 1e-10 {
						t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
					}
				}
			})
		}
	}
}

func TestStateDependentFarAboveItsRatesIsFull(t *testing.T) {
	for _, rates := range [][]float64{{1e-150, 2e-150}, {2e-150, 1e-150}} {
		m, err := NewMM1StateDependent(rates, 7)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Solve(1e300)
		if err != nil {
			t.Fatal(err)
		}
		want := QueueMetrics{Blocking: 1, Utilization: 1, InSystem: 7, InService: 2, QueueLength: 5}
		if got.Blocking != want.Blocking || got.Utilization != want.Utilization || got.InSystem != want.InSystem ||
			got.InService != want.InService || got.QueueLength != want.QueueLength {
			t.Errorf("rates %v: got %+v, want %+v", rates, got, want)
		}
	}
}

func TestSolversKeepTheRatesTheyWereGiven(t *testing.T) {
	rates := []float64{1, 2}
	m, err := NewMM1StateDependent(rates, 4)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := m.Solve(1)
	rates[0], rates[1] = 100, 100
	if after, _ := m.Solve(1); after != before {
		t.Errorf("the model follows the slice of its caller: %+v, before %+v", after, before)
	}
}

func FuzzMM1StateDependent(f *testing.F) {
	f.Add(1.2, 1.0, 1.8, 2.4, 10)
	f.Add(1.0, 1.0, 1.0, 1.0, 3)
	f.Add(1e300, 1e-150, 1e150, 1.0, 1_000_000)
	f.Add(5e-324, 3.0, 2.0, 1.0, 4)
	f.Fuzz(func(t *testing.T, arrival, first, second, third float64, capacity int) {
		m, err := NewMM1StateDependent([]float64{first, second, third}, capacity)
		if err != nil {
			return
		}
		got, err := m.Solve(arrival)
		if err != nil {
			return
		}
		for _, c := range compare(got, got) {
			if !finite(c.got) || c.got < 0 {
				t.Errorf("%s is %v", c.name, c.got)
			}
		}
		const most = 1 + 1e-12
		if got.Blocking > most || got.Idle > most || got.Utilization > most || got.InService > 3*most ||
			got.InSystem > float64(capacity)*most || got.Throughput > arrival*most {
			t.Errorf("out of bounds: %+v", got)
		}
		if arrival < 1e-250 {
			return // counts below the range of a float64
		}
		if distance(got.InSystem, got.Throughput*got.Response) > 1e-9 {
			t.Errorf("Little's law: %v in the system, %v x %v", got.InSystem, got.Throughput, got.Response)
		}
	})
}
