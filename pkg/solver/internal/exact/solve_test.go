package exact

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scaled is n, or less in a short run.
func scaled(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func random(seed int) Problem {
	return randomProblem(rand.New(rand.NewPCG(uint64(seed), 1)))
}

func mustSolve(t *testing.T, p Problem, params Params) Solution {
	t.Helper()
	s, err := Solve(p, params)
	if err != nil {
		t.Fatalf("Solve(%+v): %v", p, err)
	}
	return s
}

func served(s Solution) []int {
	var n []int
	for _, c := range s.Coverage {
		n = append(n, c.Served)
	}
	return n
}

// total is how many groups of all priorities are served.
func total(s Solution) int {
	n := 0
	for _, c := range s.Coverage {
		n += c.Served
	}
	return n
}

// The costs of random problems are multiples of 1/4, so this tells them apart.
const tolerance = 1e-6

func TestSolveAgreesWithBruteForce(t *testing.T) {
	unserved, branched := 0, 0
	n := scaled(5000)
	for seed := range n {
		p := random(seed)
		got := mustSolve(t, p, Params{})
		wantServed, wantCost := bruteForce(p)
		if got.Status != Optimal || !slices.Equal(served(got), wantServed) || math.Abs(got.Cost-wantCost) > tolerance {
			t.Fatalf("seed %d: got served %v, cost %v, bound %v, %v; want served %v, cost %v, optimal\n%+v", seed,
				served(got), got.Cost, got.Bound, got.Status, wantServed, wantCost, p)
		}
		if able := newSearch(newInstance(p), Params{}).able; len(able) > total(got) {
			unserved++
		}
		if got.Nodes > 3 {
			branched++
		}
	}
	// The problems must be hard enough to mean something.
	if unserved < n/20 || branched < n/20 {
		t.Errorf("of %d problems %d left out groups for want of stock and %d took branching, want %d of each", n, unserved, branched, n/20)
	}
}

// check fails if the solution breaks what every solution promises.
func check(t *testing.T, p Problem, s Solution) {
	t.Helper()
	cost, full := 0.0, 0
	for i, g := range p.Groups {
		for v, n := range s.Counts[i] {
			cost += g.Options[v].price(n)
		}
		if g.serves(s.Counts[i]) {
			full++
		} else if slices.ContainsFunc(s.Counts[i], func(n int) bool { return n != 0 }) {
			t.Errorf("%s is not covered within its bounds but has %v", g.Name, s.Counts[i])
		}
	}
	if full < total(s) {
		t.Errorf("coverage %+v, %d groups are covered", s.Coverage, full)
	}
	for i, left := range p.leftover(s.Counts) {
		if left < 0 {
			t.Errorf("%s is overdrawn by %d", p.Types[i].Name, -left)
		}
	}
	if math.Abs(s.Cost-cost) > tolerance*(1+cost) {
		t.Errorf("got cost %v, the counts cost %v", s.Cost, cost)
	}
	if s.Bound > s.Cost || s.Gap < 0 || s.Gap > 1 {
		t.Errorf("got bound %v and gap %v at cost %v", s.Bound, s.Gap, s.Cost)
	}
	for _, c := range s.Coverage {
		if c.Served > c.AtMost || c.AtMost > c.Groups {
			t.Errorf("got coverage %+v", c)
		}
	}
}

func TestSolutionKeepsItsPromisesWhereverTheSearchEnds(t *testing.T) {
	for seed := range scaled(500) {
		p := random(seed)
		best := mustSolve(t, p, Params{})
		for work := 1; work < 2*best.Work; work = work*3 + 1 {
			s := mustSolve(t, p, Params{MaxWork: work})
			check(t, p, s)
			if slices.Equal(served(s), served(best)) && s.Bound > best.Cost+tolerance {
				t.Fatalf("seed %d: bound %v of a search ended early is above the optimum %v", seed, s.Bound, best.Cost)
			}
		}
	}
}

func TestMoreDemandNeverServesMoreOrCostsLess(t *testing.T) {
	for seed := range scaled(1000) {
		p := random(seed)
		before := mustSolve(t, p, Params{})
		p.Groups[0].Demand = p.Groups[0].Demand*1.2 + 0.5
		after := mustSolve(t, p, Params{})
		if c := slices.Compare(served(after), served(before)); c > 0 || c == 0 && after.Cost < before.Cost-tolerance {
			t.Fatalf("seed %d: served %v at %v became %v at %v", seed, served(before), before.Cost, served(after), after.Cost)
		}
	}
}

func TestMoreStockNeverServesFewerOrCostsMore(t *testing.T) {
	for seed := range scaled(1000) {
		p := random(seed)
		before := mustSolve(t, p, Params{})
		if p.Types[0].Stock == Unlimited {
			continue
		}
		p.Types[0].Stock += 2
		after := mustSolve(t, p, Params{})
		if c := slices.Compare(served(after), served(before)); c < 0 || c == 0 && after.Cost > before.Cost+tolerance {
			t.Fatalf("seed %d: served %v at %v became %v at %v", seed, served(before), before.Cost, served(after), after.Cost)
		}
	}
}

// byName holds the counts that are not 0 by names.
func byName(p Problem, s Solution) map[string]int {
	m := make(map[string]int)
	for i, g := range p.Groups {
		for v, n := range s.Counts[i] {
			if n > 0 {
				m[g.Name+"/"+g.Options[v].Name] = n
			}
		}
	}
	return m
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	for seed := range scaled(1000) {
		p := random(seed)
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		q := Problem{Types: slices.Clone(p.Types), Groups: slices.Clone(p.Groups)}
		to := r.Perm(len(p.Types))
		for i, k := range to {
			q.Types[k] = p.Types[i]
		}
		for i := range q.Groups {
			q.Groups[i].Options = slices.Clone(q.Groups[i].Options)
			for v := range q.Groups[i].Options {
				q.Groups[i].Options[v].Type = to[q.Groups[i].Options[v].Type]
			}
			o := q.Groups[i].Options
			r.Shuffle(len(o), func(a, b int) { o[a], o[b] = o[b], o[a] })
		}
		r.Shuffle(len(q.Groups), func(a, b int) { q.Groups[a], q.Groups[b] = q.Groups[b], q.Groups[a] })
		got, want := mustSolve(t, q, Params{}), mustSolve(t, p, Params{})
		if diff := cmp.Diff(byName(p, want), byName(q, got)); diff != "" || got.Cost != want.Cost || got.Bound != want.Bound {
			t.Fatalf("seed %d: cost %v and bound %v became %v and %v (-before +after):\n%s", seed, want.Cost, want.Bound, got.Cost, got.Bound, diff)
		}
	}
}

func TestInputIsNotModified(t *testing.T) {
	for seed := range 50 {
		p := random(seed)
		mustSolve(t, p, Params{})
		if diff := cmp.Diff(random(seed), p); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestSolutionIsNeverWorseThanTheStart(t *testing.T) {
	for seed := range scaled(500) {
		p := random(seed)
		best := mustSolve(t, p, Params{})
		got := mustSolve(t, p, Params{Start: best.Counts, Stop: func() bool { return true }})
		check(t, p, got)
		if !slices.Equal(served(got), served(best)) || got.Cost > best.Cost+tolerance {
			t.Fatalf("seed %d: start serves %v at %v, got %v at %v", seed, served(best), best.Cost, served(got), got.Cost)
		}
	}
}

func TestLargeFleetIsProvenToItsGap(t *testing.T) {
	for _, ratio := range []float64{1.2, 1, 0.8} {
		p := fleet(t, 1, 100, ratio)
		got := mustSolve(t, p, Params{Gap: 0.02})
		check(t, p, got)
		if got.Status == Bounded || got.Gap > 0.02 {
			t.Errorf("stock %v: got %v, gap %v, coverage %+v", ratio, got.Status, got.Gap, got.Coverage)
		}
		again := mustSolve(t, p, Params{Gap: 0.02})
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("stock %v: a second run differs (-first +second):\n%s", ratio, diff)
		}
	}
}

// two groups want the one type that has stock for one of them.
func contested(stock int, priorities ...int) Problem {
	p := Problem{Types: []Type{{Name: "A100", Stock: stock}}}
	for i, priority := range priorities {
		p.Groups = append(p.Groups, Group{
			Name: string(rune('a' + i)), Priority: priority, Demand: 10,
			Options: []Option{{Name: "v", Units: 2, Capacity: 5, Cost: 1 + float64(i), Max: Unlimited}},
		})
	}
	return p
}

func TestScarceStockGoesToTheImportant(t *testing.T) {
	for _, tc := range []struct {
		name    string
		problem Problem
		want    [][]int
	}{
		{"enough for both", contested(8, 1, 1), [][]int{{2}, {2}}},
		{"the dearer group is more important", contested(7, 2, 1), [][]int{{0}, {2}}},
		{"equals: the cheaper is served", contested(4, 1, 1), [][]int{{2}, {0}}},
		{"none fits", contested(3, 1, 2), [][]int{{0}, {0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := mustSolve(t, tc.problem, Params{})
			if diff := cmp.Diff(tc.want, got.Counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyProblemIsSolved(t *testing.T) {
	if got := mustSolve(t, Problem{}, Params{}); got.Status != Optimal || got.Cost != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestADemandOfNothingIsServedWithoutOptions is a search that went on for ever: no
// counts looked like a group left out.
func TestADemandOfNothingIsServedWithoutOptions(t *testing.T) {
	for _, p := range []Problem{
		{Groups: []Group{{Name: "idle"}}},
		{Groups: []Group{{Name: "idle"}, {Name: "busy", Demand: 1}}},
	} {
		asked := 0
		s, err := Solve(p, Params{Stop: func() bool { asked++; return asked > 10_000 }})
		if err != nil {
			t.Fatal(err)
		}
		if asked > 10_000 || s.Status != Optimal || total(s) != 1 {
			t.Errorf("got %+v after %d questions, want the idle group served", s, asked)
		}
	}
}

// TestABoundHoldsWhateverTheUnitOfCost has two covers that differ by less than the
// prices are rounded to when costs are far below 1.
func TestABoundHoldsWhateverTheUnitOfCost(t *testing.T) {
	for _, unit := range []float64{1e-12, 1e-9, 1e-3, 1, 1e3, 1e9} {
		third := 1.0 / 3
		p := Problem{Types: []Type{{Name: "A100", Stock: 4}}, Groups: []Group{
			{Name: "large", Priority: 2, Demand: 4, Options: []Option{
				{Name: "a", Capacity: third, Max: 2, Cost: unit * 1.0000000001361605},
				{Name: "b", Units: 1, Capacity: 1, Min: 2, Max: Unlimited, RemoveCost: unit, StartCost: 0.15 * unit},
				{Name: "c", Capacity: third, Max: 2, Cost: unit * 1.0000000001021229},
			}},
			{Name: "small", Priority: 1, Demand: 3, Options: []Option{
				{Name: "a", Units: 1, Capacity: 7, Max: 5, Cost: 0.4 * unit},
				{Name: "b", Units: 2, Capacity: 7, Max: 5},
			}},
		}}
		_, best := bruteForce(bounded(p, 4))
		for _, gap := range []float64{0, 0.01, 0.05} {
			s := mustSolve(t, p, Params{Gap: gap})
			if s.Bound > best*(1+1e-9) || s.Cost*(1-gap) > best*(1+1e-7) {
				t.Errorf("unit %g, gap %g: got cost %g and bound %g, the best is %g", unit, gap, s.Cost, s.Bound, best)
			}
		}
	}
}

// bounded is the problem with at most so many replicas of an option.
func bounded(p Problem, most int) Problem {
	out := Problem{Types: p.Types}
	for _, g := range p.Groups {
		g.Options = slices.Clone(g.Options)
		for v := range g.Options {
			g.Options[v].Max = min(limit(g.Options[v].Max), most)
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

func TestSwitchingCostHoldsWhatRuns(t *testing.T) {
	p := Problem{Types: []Type{{Name: "A100", Stock: Unlimited}, {Name: "L40S", Stock: Unlimited}}}
	p.Groups = []Group{{Name: "m", Demand: 4, Options: []Option{
		{Name: "a", Type: 0, Units: 1, Capacity: 2, Cost: 10, Max: Unlimited, Current: 2},
		{Name: "b", Type: 1, Units: 1, Capacity: 2, Cost: 9, Max: Unlimited},
	}}}
	if diff := cmp.Diff([][]int{{0, 2}}, mustSolve(t, p, Params{}).Counts); diff != "" {
		t.Errorf("switching for free (-want +got):\n%s", diff)
	}
	// The published penalty: 0.1*(20+18) outweighs the 2 that moving saves.
	p.Groups[0].Options[1].AddCost = 0.1 * 9
	p.Groups[0].Options[1].StartCost = 0.1 * 20
	if diff := cmp.Diff([][]int{{2, 0}}, mustSolve(t, p, Params{}).Counts); diff != "" {
		t.Errorf("with the penalty (-want +got):\n%s", diff)
	}
}

func TestInvalidInputIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Problem, *Params)
		want   string
	}{
		{"type twice", func(p *Problem, _ *Params) { p.Types = append(p.Types, p.Types[0]) }, `type "A100"`},
		{"group twice", func(p *Problem, _ *Params) { p.Groups[1].Name = "a" }, `group "a"`},
		{"option twice", func(p *Problem, _ *Params) {
			p.Groups[0].Options = append(p.Groups[0].Options, p.Groups[0].Options[0])
		}, `option "v" is there twice`},
		{"demand", func(p *Problem, _ *Params) { p.Groups[0].Demand = math.NaN() }, "demand is NaN"},
		{"capacity", func(p *Problem, _ *Params) { p.Groups[0].Options[0].Capacity = 0 }, "capacity is 0"},
		{"huge need", func(p *Problem, _ *Params) { p.Groups[0].Options[0].Capacity = 1e-12 }, "replicas of capacity"},
		{"type index", func(p *Problem, _ *Params) { p.Groups[0].Options[0].Type = 1 }, "type is 1"},
		{"units", func(p *Problem, _ *Params) { p.Groups[0].Options[0].Units = -1 }, "units is -1"},
		{"max below min", func(p *Problem, _ *Params) {
			p.Groups[0].Options[0].Min, p.Groups[0].Options[0].Max = 2, 1
		}, "max is 1"},
		{"cost", func(p *Problem, _ *Params) { p.Groups[0].Options[0].Cost = math.Inf(1) }, "cost is +Inf"},
		{"gap", func(_ *Problem, o *Params) { o.Gap = -1 }, "gap is -1"},
		{"groups of start", func(_ *Problem, o *Params) { o.Start = [][]int{{2}} }, "start has counts of 1 groups"},
		{"options of start", func(_ *Problem, o *Params) { o.Start = [][]int{{2}, {}} }, `group "b" has 0 counts`},
		{"count of start", func(_ *Problem, o *Params) { o.Start = [][]int{{-2}, {0}} }, "has -2 replicas"},
		{"stock of start", func(_ *Problem, o *Params) { o.Start = [][]int{{2}, {2}} }, `4 units of "A100" more`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, params := contested(4, 1, 1), Params{}
			tc.change(&p, &params)
			if _, err := Solve(p, params); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one about %q", err, tc.want)
			}
		})
	}
}

func FuzzSolve(f *testing.F) {
	for seed := range 20 {
		f.Add(uint64(seed), 100, 7.5, 2.0, 1.0, 0.25, 2)
	}
	f.Add(uint64(1), 1000, 1e9, 1e-1, 1e-300, 1e300, 1)
	f.Add(uint64(2), 1000, 1e-300, 1e300, 0.0, 0.0, 1<<31)
	f.Fuzz(func(t *testing.T, seed uint64, work int, demand, capacity, cost, switching float64, current int) {
		p := randomProblem(rand.New(rand.NewPCG(seed, 4)))
		g := &p.Groups[0]
		g.Demand = demand
		o := &g.Options[0]
		o.Capacity, o.Cost, o.AddCost, o.RemoveCost, o.Current = capacity, cost, switching, switching, current
		s, err := Solve(p, Params{MaxWork: min(max(work, 1), 1e4)})
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		check(t, p, s)
		again := mustSolve(t, p, Params{MaxWork: 1e4, Start: s.Counts})
		check(t, p, again)
		if c := slices.Compare(served(again), served(s)); c < 0 || c == 0 && again.Cost > s.Cost*(1+tolerance)+tolerance {
			t.Errorf("start serves %v at %v, got %v at %v", served(s), s.Cost, served(again), again.Cost)
		}
	})
}
