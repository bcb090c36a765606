package soak

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// TestCounterfactualsAreWhatIsDecidedOfTheChangedInput asks why of random decisions, and decides each
// changed input again to find what was announced.
func TestCounterfactualsAreWhatIsDecidedOfTheChangedInput(t *testing.T) {
	announced(t, race.Cases(500))
}

// unsteadyAtMost is the part of the rates and times that were found of which a nearer one may exist that the
// search steps over: decisions are not monotonic in the load, which has headroom once it has risen. Measured: 6 of 1000.
const unsteadyAtMost = 0.01

// announced checks the answers to so many random decisions.
func announced(t *testing.T, decisions int) {
	t.Helper()
	c := checked{answers: map[string]int{}}
	began, asking := time.Now(), time.Duration(0)
	for seed := uint64(1); c.decisions < decisions; seed++ {
		for _, d := range drawDecisions(seed) {
			start := time.Now()
			a, err := counterfactual.Ask(d.setup, d.from, d.variant)
			asking += time.Since(start)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			c.decisions++
			for _, problem := range c.check(d, a) {
				t.Errorf("seed %d, %s at %s, decided %d: %s\n%s", seed, d.variant, d.from.Now.Format(time.TimeOnly), a.Decided, problem, counterfactual.Report(a, d.from.Now))
			}
		}
	}
	t.Logf("%d decisions in %s, an answer in %s; of %d rates %d are not the nearest, of %d times %d; %v", c.decisions, time.Since(began).Round(time.Second),
		(asking / time.Duration(c.decisions)).Round(10*time.Microsecond), c.rates, c.unsteady, c.times, c.unsteadyTimes, c.answers)
	// Those of one case come together: of few cases they say nothing.
	if c.rates >= 500 && float64(c.unsteady) > unsteadyAtMost*float64(c.rates) {
		t.Errorf("%d of %d announced rates are not the nearest, want at most %g of them", c.unsteady, c.rates, unsteadyAtMost)
	}
}

// asked is a decision that is asked about.
type asked struct {
	setup   cycle.Setup
	from    cycle.Case
	variant scaling.VariantKey
	dice    *rand.Rand
}

// drawDecisions draws decisions of the history of a seed: more where something changes. Every fourth
// seed is of two models that share accelerators.
func drawDecisions(seed uint64) []asked {
	dice := rand.New(rand.NewPCG(seed, 11))
	c := Draw(seed)
	models := []plant.Config{c.Plant()}
	if seed%4 == 0 {
		other := Draw(seed + 1<<20)
		other.Tick, other.Length = c.Tick, c.Length
		models = append(models, elsewhere(other.Plant()))
	}
	var ticks [][]plant.Tick
	for _, m := range models {
		var of []plant.Tick
		plant.Run(m, c.Length, func(t plant.Tick) bool {
			of = append(of, t)
			return true
		})
		ticks = append(ticks, of)
	}
	var out []asked
	lastChange := -10
	for i, t := range ticks[0] {
		for _, d := range t.Verdict.Plan.Decisions {
			if d.Target() != t.Case.History[d.Variant].Desired {
				lastChange = i
			}
		}
		one := 150
		if i-lastChange < 4 {
			one = 15
		}
		if dice.IntN(one) > 0 {
			continue
		}
		d := asked{setup: t.Setup, from: t.Case, dice: dice}
		if len(ticks) > 1 {
			d.setup, d.from = limited(t, ticks[1][i], dice)
		}
		for _, v := range d.setup.Decide(d.from).Plan.Decisions {
			d.variant = v.Variant
			out = append(out, d)
		}
	}
	return out
}

// elsewhere returns a plant as one of another model in another namespace.
func elsewhere(p plant.Config) plant.Config {
	const namespace = "elsewhere"
	p.Model.Namespace = namespace
	for i := range p.Variants {
		p.Variants[i].Spec.Key.Namespace = namespace
	}
	for i := range p.Faults {
		p.Faults[i].Variant.Namespace = namespace
	}
	return p
}

// limited returns the cycle of two models that share few accelerators.
func limited(a, b plant.Tick, dice *rand.Rand) (cycle.Setup, cycle.Case) {
	setup := cycle.Setup{Interval: a.Setup.Interval, Models: map[scaling.ModelKey]settings.Model{}, Inventory: scaling.Inventory{Known: true, At: a.Case.Now}}
	from := cycle.Case{Now: a.Case.Now, History: memory.History{}}
	for _, t := range []plant.Tick{a, b} {
		for m, s := range t.Setup.Models {
			s.Limited = true
			setup.Models[m] = s
		}
		maps.Copy(from.History, t.Case.History)
		from.Snapshots = append(from.Snapshots, t.Case.Snapshots...)
	}
	for _, name := range []string{"a", "b", "c"} { // the accelerators are called as the variants
		setup.Inventory.Groups = append(setup.Inventory.Groups, scaling.NodeGroup{
			Accelerator: name, Total: 100, Free: []scaling.FreeNodes{{GPUs: scaling.Accelerators(1 + dice.IntN(3)), Nodes: 1 + dice.IntN(4)}},
		})
	}
	return setup, from
}

// checked counts what was checked.
type checked struct {
	decisions, rates, unsteady int // rates of which a nearer one was found
	times, unsteadyTimes       int // the same of times
	answers                    map[string]int
}

// check returns what is wrong with the answers about a decision.
func (c *checked) check(d asked, a counterfactual.Answers) []string {
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	base := d.setup.Decide(d.from)
	if n := d.target(base, d.variant); n != a.Decided {
		wrong("decided is %d, want %d", a.Decided, n)
	}
	d.fewer(a, base, wrong)
	for _, o := range a.Others {
		c.answers["other "+string(o.Beside)]++
		d.other(a, o, base, wrong)
	}
	c.turn(d, a.Grows, a.Decided, 1, wrong)
	c.turn(d, a.Shrinks, a.Decided, -1, wrong)
	c.late(d, a, base, wrong)
	for question, answer := range map[string]string{"fewer": string(a.Fewer.Why), "grows": string(a.Grows.Kind), "shrinks": string(a.Shrinks.Kind), "late": string(a.Late.Kind)} {
		c.answers[question+" "+answer]++
	}
	return out
}

// of returns the snapshot of the model.
func (d asked) of() scaling.Snapshot {
	i := slices.IndexFunc(d.from.Snapshots, func(s scaling.Snapshot) bool {
		return slices.ContainsFunc(s.Variants, func(v scaling.Variant) bool { return v.Key == d.variant })
	})
	return d.from.Snapshots[i]
}

func (d asked) target(v cycle.Verdict, of scaling.VariantKey) scaling.Replicas {
	for _, one := range v.Plan.Decisions {
		if one.Variant == of {
			return one.Target()
		}
	}
	return 0
}

func (d asked) targets(v cycle.Verdict) map[scaling.VariantKey]scaling.Replicas {
	out := map[scaling.VariantKey]scaling.Replicas{}
	for _, one := range d.of().Variants {
		out[one.Key] = d.target(v, one.Key)
	}
	return out
}

// unlimited is the setup without limits of accelerators.
func (d asked) unlimited() cycle.Setup {
	setup := d.setup
	setup.Models = maps.Clone(setup.Models)
	s := setup.Models[d.of().Model]
	s.Limited = false
	setup.Models[d.of().Model] = s
	return setup
}

// fewer checks why there is not one replica fewer.
func (d asked) fewer(a counterfactual.Answers, base cycle.Verdict, wrong func(string, ...any)) {
	m, f := d.of().Model, a.Fewer
	replicas := d.targets(base)
	replicas[d.variant]--
	switch f.Why {
	case counterfactual.WhyNone:
		if a.Decided != 0 {
			wrong("none is said to be decided")
		}
	case counterfactual.WhyRule:
		setup, without := d.setup, d.from
		for _, r := range f.Rules {
			switch r.Stage {
			case scaling.StageBounds:
				without = counterfactual.MinLifted(without, d.variant, m)
			case scaling.StageStabilize:
				setup = counterfactual.PaceLifted(setup, m)
			case scaling.StageRetention:
				setup = counterfactual.RetentionLifted(setup, m)
			case scaling.StageOptimize, scaling.StageCapacity:
				wrong("%s is no rule that can be lifted", r.Stage)
			}
		}
		if n := d.target(setup.Decide(without), d.variant); n >= a.Decided || n != f.Without {
			wrong("without the rules %v %d are decided, want %d, fewer than %d", f.Rules, n, f.Without, a.Decided)
		}
	case counterfactual.WhyLoad, counterfactual.WhyKept:
		rest, _ := counterfactual.AtRest(d.from, m, replicas)
		orders := scaling.Replicas(0)
		verdict := counterfactual.Unpaced(d.unlimited(), m).Decide(counterfactual.MinLifted(rest, d.variant, m))
		for v, n := range replicas {
			orders += max(0, d.target(verdict, v)-n)
		}
		if (orders > 0) != (f.Why == counterfactual.WhyLoad) {
			wrong("of one fewer %d replicas are ordered, and the answer is %q", orders, f.Why)
		}
	case counterfactual.WhyWaits:
		if len(f.Rules) == 0 {
			wrong("nothing is named that is waited for")
		}
	case counterfactual.WhyUnknown:
		if f.Detail == "" {
			wrong("not known, without a word why")
		}
	}
}

// other checks why another variant does not serve instead.
func (d asked) other(a counterfactual.Answers, o counterfactual.Other, base cycle.Verdict, wrong func(string, ...any)) {
	fleet, known := counterfactual.OnlyGrows(d.from, d.of().Model, d.targets(base), d.variant, o.Variant)
	if known = known && slices.ContainsFunc(d.of().Variants, func(v scaling.Variant) bool { return v.Key == d.variant && v.Replicas.Observed }); !known {
		if o.Beside != counterfactual.BesideUnknown {
			wrong("%s: %q of a fleet that does not report", o.Variant.Name, o.Beside)
		}
		return
	}
	var own, other scaling.Variant
	for _, v := range d.of().Variants {
		if v.Key == d.variant {
			own = v
		}
		if v.Key == o.Variant {
			other = v
		}
	}
	more := d.target(counterfactual.Unpaced(d.setup, d.of().Model).Decide(fleet), o.Variant) - d.target(base, o.Variant)
	cost := other.CostPerHour(o.Replicas) - own.Cost
	ok := true
	switch o.Beside {
	case counterfactual.BesideDearer:
		ok = more >= o.Replicas && cost > 0
	case counterfactual.BesideSame:
		ok = more >= o.Replicas && cost == 0
	case counterfactual.BesideCheaper:
		ok = more >= o.Replicas && cost < 0
	case counterfactual.BesideCannot:
		ok = more <= 0 || more < o.Replicas
	case counterfactual.BesideUnneeded:
		ok = more <= 0
	case counterfactual.BesideUnknown:
		ok = o.Detail != ""
	}
	if !ok {
		wrong("%s is %q with %d at %+g an hour; it gets %d more in the place of one of %s", o.Variant.Name, o.Beside, o.Replicas, cost, more, a.Variant.Name)
	}
}

// calls reports whether the load times factor calls for more (way 1) or fewer (way -1) replicas than n,
// and the decision.
func (d asked) calls(factor float64, n scaling.Replicas, way int) (bool, scaling.Decision) {
	v := d.setup.Decide(counterfactual.Loaded(d.setup, d.from, d.of().Model, factor))
	for _, one := range v.Plan.Decisions {
		if one.Variant != d.variant {
			continue
		}
		return int(wantedOf(one)-n)*way > 0, one
	}
	return false, scaling.Decision{}
}

// wantedOf returns what the load calls for, within the bounds.
func wantedOf(d scaling.Decision) scaling.Replicas {
	wanted := d.Current
	for _, s := range d.Steps {
		if s.Stage != scaling.StageStabilize && s.Stage != scaling.StageCapacity {
			wanted = s.To
		}
	}
	return wanted
}

// turn checks the rate at which the number changes.
func (c *checked) turn(d asked, t counterfactual.Turn, n scaling.Replicas, way int, wrong func(string, ...any)) {
	name := map[int]string{1: "grows", -1: "shrinks"}[way]
	switch t.Kind {
	case counterfactual.TurnUnknown:
		if t.Detail == "" {
			wrong("%s: not known, without a word why", name)
		}
		return
	case counterfactual.TurnAlready:
		if calls, _ := d.calls(1, n, way); !calls || t.Held == nil {
			wrong("%s: the load of now is said to call for it", name)
		}
		return
	case counterfactual.TurnLater:
		base := d.setup.Decide(d.from)
		calls := func(by time.Duration) bool {
			v := d.setup.Decide(counterfactual.Later(d.from, base, by))
			i := slices.IndexFunc(v.Plan.Decisions, func(one scaling.Decision) bool { return one.Variant == d.variant })
			return i >= 0 && int(wantedOf(v.Plan.Decisions[i])-n)*way > 0
		}
		if by := t.At.Sub(d.from.Now); !calls(by) || calls(by-time.Second) || t.Until == nil {
			wrong("%s: at %s is said to call for it, until then held by %v", name, t.At, t.Until)
		}
		return
	case counterfactual.TurnFound:
		calls, at := d.calls(t.Factor, n, way)
		moved := int(at.Target()-n)*way > 0
		if !calls || !moved && (t.Held == nil || !slices.Contains(at.Steps, *t.Held)) {
			wrong("%s: at %g requests/s %d of %d are decided, by %v; held: %v", name, t.Rate, at.Target(), n, at.Steps, t.Held)
		}
		if calls, _ := d.calls(t.Last/t.Now, n, way); calls {
			wrong("%s: at %g requests/s already, before %g", name, t.Last, t.Rate)
		}
		if apart := math.Abs(t.Rate-t.Last) / min(t.Rate, t.Last); apart > counterfactual.Precision {
			wrong("%s: %g and %g requests/s are %g apart, want %g", name, t.Rate, t.Last, apart, counterfactual.Precision)
		}
	case counterfactual.TurnNone:
	}
	c.rates++
	for range 3 {
		factor := 1 + (t.Last/max(t.Now, 1e-9)-1)*d.dice.Float64()
		if calls, _ := d.calls(factor, n, way); calls && factor > 0 {
			c.unsteady++
			break
		}
	}
}

// late checks when the order is late.
func (c *checked) late(d asked, a counterfactual.Answers, base cycle.Verdict, wrong func(string, ...any)) {
	faulty := func(from cycle.Case, v cycle.Verdict) bool {
		for _, one := range v.Plan.Decisions {
			for _, s := range one.Steps {
				if one.Variant == d.variant && (s.Reason == scaling.ReasonPodsNotReady || s.Reason == scaling.ReasonPodsUnschedulable ||
					s.Reason == scaling.ReasonTargetNotMoving || s.Reason == scaling.ReasonOrderCancelled) {
					return true
				}
			}
		}
		// What is late does not count, so that more is ordered than if it were not.
		just := d.setup.Decide(counterfactual.JustOrdered(from, d.variant))
		for i, one := range v.Plan.Decisions {
			if one.Model == d.of().Model && wantedOf(one) > wantedOf(just.Plan.Decisions[i]) {
				return true
			}
		}
		return false
	}
	at := func(by time.Duration) bool {
		from := counterfactual.Later(d.from, base, by)
		return faulty(from, d.setup.Decide(from))
	}
	switch l := a.Late; l.Kind {
	case counterfactual.LateAt:
		by := l.At.Sub(d.from.Now)
		if !at(by) {
			wrong("late at %s, and not then", l.At)
		}
		c.times++
		if at(by-time.Second) || at(max(0, time.Duration(d.dice.Int64N(int64(by)))-time.Second)) {
			c.unsteadyTimes++
		}
	case counterfactual.LateAlready:
		if !faulty(d.from, base) {
			wrong("late already, and no step says so")
		}
	case counterfactual.LateNone:
		if l.Missing != 0 {
			wrong("no order is under way, and %d are missing", l.Missing)
		}
	case counterfactual.LateUnknown:
		if l.Detail == "" {
			wrong("late is not known, without a word why")
		}
	}
}
