package memory

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// holding returns a snapshot of one replica in which so many requests, with 100 input and 200
// output tokens on average, hold so many of 10,000 tokens.
func holding(after time.Duration, running, tokens float64) scaling.Snapshot {
	s := look(after, scaling.Reading{})
	s.Load.InputTokens, s.Load.OutputTokens = scaling.Measured(100, scaling.Fresh), scaling.Measured(200, scaling.Fresh)
	s.Replicas = []scaling.ReplicaSample{{
		KVCacheUsageNow: scaling.Measured(tokens/10_000, scaling.Fresh), KVCapacity: scaling.Measured(10_000, scaling.Fresh),
		Running: scaling.Measured(running, scaling.Fresh),
	}}
	return s
}

func TestAFootprintIsWhatRequestsHoldBesideTheirMean(t *testing.T) {
	f := Footprint{}.Then(holding(0, 10, 3000))
	if f.Held != 3000 || f.Expected != 10*200 { // 100 + 200/2 each
		t.Fatalf("got %+v, want 3000 held and 2000 expected", f)
	}
	same := f.Then(holding(0, 5, 9999))
	if diff := cmp.Diff(f, same); diff != "" {
		t.Errorf("the same look again (-want +got):\n%s", diff)
	}
	later := f.Then(holding(footprintFades, 10, 1000))
	if held, expected := 3000/math.E+1000, 2000/math.E+2000; math.Abs(later.Held-held) > 1e-6 || math.Abs(later.Expected-expected) > 1e-6 {
		t.Errorf("after the time in which it fades: %+v, want %g held and %g expected", later, held, expected)
	}
	soon := f.Then(holding(15*time.Second, 10, 1000)) // a quarter of a window
	left := math.Exp(-15.0 / 600)
	if held := 3000*left + 250; math.Abs(soon.Held-held) > 1e-6 {
		t.Errorf("after a quarter of a window: %g held, want %g", soon.Held, held)
	}
}

func TestWhatIsNotKnownLeavesNoFootprint(t *testing.T) {
	for name, change := range map[string]func(*scaling.Snapshot){
		"lengths":  func(s *scaling.Snapshot) { s.Load.OutputTokens = scaling.Reading{} },
		"running":  func(s *scaling.Snapshot) { s.Replicas[0].Running = scaling.Reading{} },
		"usage":    func(s *scaling.Snapshot) { s.Replicas[0].KVCacheUsageNow.State = scaling.Stale },
		"capacity": func(s *scaling.Snapshot) { s.Replicas[0].KVCapacity = scaling.Reading{} },
	} {
		s := holding(0, 10, 3000)
		change(&s)
		if got := (Footprint{}).Then(s); got.Held != 0 || got.Expected != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLongAnswersLeaveALargerFootprint draws answers of exponential length and looks at moments. By
// renewal theory a request in a batch holds input + output (1 + 1)/2. If all had the mean length it
// would hold input + output/2.
func TestLongAnswersLeaveALargerFootprint(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var f Footprint
	for i := range 60 {
		tokens := 0.0
		for range 40 {
			// A look meets long answers more often. The length at a look is the sum of two
			// exponential ones, of which a uniform part is over.
			length := 200 * (r.ExpFloat64() + r.ExpFloat64())
			tokens += 100 + length*r.Float64()
		}
		f = f.Then(holding(time.Duration(i)*time.Minute, 40, tokens))
	}
	if got, want := f.Held/f.Expected, 300.0/200; math.Abs(got-want) > 0.1 {
		t.Errorf("requests hold %.2f times what the mean would, want %.2f", got, want)
	}
}
