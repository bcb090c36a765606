package policy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// plainHPA is the documented algorithm written down slowly: it keeps everything
// and forgets nothing, and counts in whole thousandths.
type plainHPA struct {
	b       *Behavior
	history []struct {
		t int
		n scaling.Replicas
	}
	changes []struct {
		t  int
		by scaling.Replicas
	}
}

type plainPod struct {
	pending, reports bool
	value            int // thousandths
}

// propose is the Pods metric, by pod.
func (plainHPA) propose(pods []plainPod, target int, current scaling.Replicas) (scaling.Replicas, bool) {
	average := func(values []int) float64 {
		sum := 0
		for _, v := range values {
			sum += v
		}
		return float64(sum/len(values)) / float64(target)
	}
	near := func(r float64) bool { return 0.9 <= r && r <= 1.1 }
	var known []int
	for _, p := range pods {
		if !p.pending && p.reports {
			known = append(known, p.value)
		}
	}
	if len(known) == 0 {
		return 0, false
	}
	before := average(known)
	all := slices.Clone(known)
	for _, p := range pods {
		switch {
		case p.pending && before > 1, !p.pending && !p.reports && before > 1:
			all = append(all, 0)
		case !p.pending && !p.reports && before < 1:
			all = append(all, target)
		}
	}
	after := average(all)
	if near(after) || before < 1 && after > 1 || before > 1 && after < 1 {
		return current, true
	}
	n := up(after * float64(len(all)))
	if len(all) != len(known) && (after < 1 && n > current || after > 1 && n < current) {
		return current, true
	}
	return n, true
}

// up rounds up.
func up(x float64) scaling.Replicas {
	n := scaling.Replicas(x)
	if float64(n) < x {
		n++
	}
	return n
}

func (h *plainHPA) step(now int, current, desired, least, most scaling.Replicas) scaling.Replicas {
	if h.history == nil {
		h.history = append(h.history, struct {
			t int
			n scaling.Replicas
		}{now, current})
	}
	out := h.decide(now, current, desired, least, most)
	if out != current {
		h.changes = append(h.changes, struct {
			t  int
			by scaling.Replicas
		}{now, out - current})
	}
	return out
}

func (h *plainHPA) decide(now int, current, desired, least, most scaling.Replicas) scaling.Replicas {
	if current > most {
		return most
	}
	if current < least {
		return least
	}
	lowest, highest := desired, desired
	for _, r := range h.history {
		if now-r.t < int(h.b.Up.Window/time.Second) {
			lowest = min(lowest, r.n)
		}
		if now-r.t < int(h.b.Down.Window/time.Second) {
			highest = max(highest, r.n)
		}
	}
	h.history = append(h.history, struct {
		t int
		n scaling.Replicas
	}{now, desired})
	n := min(max(current, lowest), highest)
	switch {
	case n > current:
		return min(n, most, max(current, h.reach(now, current, h.b.Up, 1)))
	case n < current:
		return max(n, least, min(current, h.reach(now, current, h.b.Down, -1)))
	}
	return n
}

// reach is how far the policies of a direction allow to go.
func (h *plainHPA) reach(now int, current scaling.Replicas, r Rules, sign int) scaling.Replicas {
	if r.Select == Disabled {
		return current
	}
	var ends []scaling.Replicas
	for _, l := range r.Policies {
		start := current
		for _, c := range h.changes {
			if now-c.t < int(l.Period/time.Second) {
				start -= c.by
			}
		}
		switch {
		case !l.Percent:
			ends = append(ends, start+scaling.Replicas(sign)*l.Value)
		case sign > 0:
			ends = append(ends, up(float64(start)*(1+float64(l.Value)/100)))
		default:
			ends = append(ends, scaling.Replicas(float64(start)*(1-float64(l.Value)/100)))
		}
	}
	if (r.Select == MaxChange) == (sign > 0) {
		return slices.Max(ends)
	}
	return slices.Min(ends)
}

func TestHPAAgreesWithSlowTranscription(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rules := func() Rules {
		r := Rules{Window: time.Duration(rng.IntN(4)*60) * time.Second, Select: Select(rng.IntN(3))}
		for range 1 + rng.IntN(2) {
			r.Policies = append(r.Policies, Limit{
				Percent: rng.IntN(2) == 0, Value: scaling.Replicas(1 + rng.IntN(120)), Period: time.Duration(15*(1+rng.IntN(12))) * time.Second,
			})
		}
		for i := range r.Policies {
			if !r.Policies[i].Percent {
				r.Policies[i].Value = 1 + r.Policies[i].Value%6
			} else if r.Policies[i].Value > 100 {
				r.Policies[i].Value = 100
			}
		}
		return r
	}
	moves := 0
	for run := range 400 {
		b := &Behavior{Up: rules(), Down: rules()}
		if run%4 == 0 {
			b = DefaultBehavior()
		}
		fast, slow := &HPA{Behavior: b}, &plainHPA{b: b}
		bounds := scaling.Bounds{Min: scaling.Replicas(1 + rng.IntN(3)), Max: scaling.Replicas(5 + rng.IntN(40))}
		n, target := scaling.Replicas(1+rng.IntN(10)), 100+rng.IntN(900)
		level := rng.Float64() * 3
		for step, now := 0, 0; step < 60; step++ {
			now += 1 + rng.IntN(30)
			if rng.IntN(8) == 0 {
				level = rng.Float64() * 3
			}
			var pods []plainPod
			var values []float64
			var missing, pending int
			for range n {
				p := plainPod{pending: rng.IntN(10) == 0, reports: rng.IntN(10) > 0, value: int(level * float64(target) * (0.8 + 0.4*rng.Float64()))}
				pods = append(pods, p)
				switch {
				case p.pending:
					pending++
				case p.reports:
					values = append(values, float64(p.value)/1000)
				default:
					missing++
				}
			}
			got, err := PodsAverage(values, missing, pending, n, float64(target)/1000, DefaultTolerance())
			want, ok := slow.propose(pods, target, n)
			if (err == nil) != ok || ok && got != want {
				t.Fatalf("run %d: target %d, current %d, pods %+v: got %d, %v, want %d, %v", run, target, n, pods, got, err, want, ok)
			}
			if !ok {
				continue
			}
			next, why := fast.Reconcile(at(now), Scale{Spec: n, Bounds: bounds}, []Proposal{{Metric: "m", Replicas: got}})
			if plain := slow.step(now, n, want, bounds.Min, bounds.Max); next != plain {
				t.Fatalf("run %d at %d: from %d to %d: got %d (%s), want %d; %+v", run, now, n, want, next, why, plain, b)
			}
			if next != n {
				moves++
			}
			n = next
		}
	}
	if moves < 1000 {
		t.Errorf("only %d decisions moved anything: the sequences are too tame", moves)
	}
}

func TestHPAMetrics(t *testing.T) {
	bounds := scaling.Bounds{Min: 1, Max: 50}
	wants := func(n scaling.Replicas) Proposal { return Proposal{Metric: "a", Replicas: n} }
	gone := Proposal{Metric: "b", Invalid: "absent"}
	for name, c := range map[string]struct {
		spec      scaling.Replicas
		bounds    scaling.Bounds
		proposals []Proposal
		behavior  *Behavior
		want      scaling.Replicas
	}{
		"the largest of two counts":                         {4, bounds, []Proposal{wants(6), {Metric: "b", Replicas: 5}}, DefaultBehavior(), 6},
		"a missing metric allows growth":                    {4, bounds, []Proposal{gone, wants(6)}, DefaultBehavior(), 6},
		"a missing metric stops a reduction":                {4, bounds, []Proposal{wants(2), gone}, instant(), 4},
		"without a missing metric the same is reduced":      {4, bounds, []Proposal{wants(2)}, instant(), 2},
		"nothing known changes nothing":                     {4, bounds, []Proposal{gone}, instant(), 4},
		"no metric changes nothing":                         {4, bounds, nil, instant(), 4},
		"zero replicas stay":                                {0, bounds, []Proposal{wants(9)}, DefaultBehavior(), 0},
		"a minimum of zero is taken for one":                {1, scaling.Bounds{Max: 9}, []Proposal{wants(0)}, instant(), 1},
		"above the maximum it is cut at once":               {60, bounds, []Proposal{wants(60)}, DefaultBehavior(), 50},
		"below the minimum it is raised at once":            {1, scaling.Bounds{Min: 3, Max: 9}, []Proposal{gone}, DefaultBehavior(), 3},
		"without a behavior section one grows to four only": {1, bounds, []Proposal{wants(20)}, nil, 4},
		"with the defaults filled in it grows to five":      {1, bounds, []Proposal{wants(20)}, DefaultBehavior(), 5},
		"the first reduction waits for the window":          {8, bounds, []Proposal{wants(2)}, nil, 8},
	} {
		t.Run(name, func(t *testing.T) {
			h := &HPA{Behavior: c.behavior}
			if got, why := h.Reconcile(begin, Scale{c.spec, c.bounds}, c.proposals); got != c.want {
				t.Errorf("got %d (%s), want %d", got, why, c.want)
			}
		})
	}
}

// instant is a behavior without windows and limits that matter.
func instant() *Behavior {
	free := Rules{Policies: []Limit{{Value: 1000, Period: 15 * time.Second}}}
	return &Behavior{Up: free, Down: free}
}

func TestHPAWithoutBehaviorReducesAfterTheClusterWindow(t *testing.T) {
	h := &HPA{}
	for _, c := range []struct {
		t           int
		wants, want scaling.Replicas
	}{{0, 2, 8}, {150, 2, 8}, {300, 2, 8}, {301, 2, 2}} {
		got, _ := h.Reconcile(at(c.t), Scale{8, scaling.Unbounded()}, []Proposal{{Metric: "m", Replicas: c.wants}})
		if got != c.want {
			t.Errorf("after %d s: got %d, want %d", c.t, got, c.want)
		}
	}
}

func TestValueMultipliesByReadyReplicas(t *testing.T) {
	// A queue of 10 on 3 replicas: as an average 10, as a value 30.
	if got := AverageValue(10, 1, 3, DefaultTolerance()); got != 10 {
		t.Errorf("AverageValue: got %d, want 10", got)
	}
	if got := Value(10, 1, 3, 3, DefaultTolerance()); got != 30 {
		t.Errorf("Value: got %d, want 30", got)
	}
	if got := Value(2.5, 1, 0, 0, DefaultTolerance()); got != 3 {
		t.Errorf("Value from zero: got %d, want 3", got)
	}
}

func TestAverageValueIsMonotone(t *testing.T) {
	for status := scaling.Replicas(1); status <= 40; status++ {
		last := scaling.Replicas(0)
		for total := 0.0; total < 500; total += 0.5 {
			got := AverageValue(total, 10, status, DefaultTolerance())
			if got < last {
				t.Fatalf("status %d: %v wants %d after %d", status, total, got, last)
			}
			last = got
		}
	}
}
