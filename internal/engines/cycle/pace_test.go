package cycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// paced returns the settings of several engines, each with an objective.
func paced() map[string]settings.Model {
	out := map[string]settings.Model{}
	for name, of := range map[string]struct {
		engine settings.Engine
		method settings.Method
	}{
		"saturation": {settings.Saturation, settings.Spare}, "tokens": {settings.Saturation, settings.Tokens},
		"model": {settings.Queueing, settings.Spare}, "hybrid": {settings.Hybrid, settings.Spare},
	} {
		s := settings.Default()
		s.Engine, s.Method, s.Objective = of.engine, of.method, scaling.Objective{Class: "premium", Priority: 1, TTFT: 1000, ITL: 40}
		out[name] = s
	}
	return out
}

// TestAColdClusterStartsWhatItNeeds: all replicas of a model start at once, and requests wait at
// the gateway. Four carry the load; maxScaleUpStep is 2. The test ends when the first is Ready,
// because then the optimizer decides.
func TestAColdClusterStartsWhatItNeeds(t *testing.T) {
	for _, startUp := range []time.Duration{2 * time.Minute, 4 * time.Minute, 10 * time.Minute} {
		for _, gives := range []time.Duration{time.Minute, time.Hour} {
			for name, how := range paced() {
				v := siteVariant("v", 10, 1, 4)
				rate := 3.4 * most(v.Profile)
				s := site{
					variants: []scaling.Variant{v}, settings: how, startUp: startUp, tick: 15 * time.Second, gateway: true, cold: true, gives: gives,
					rate: func(time.Duration) float64 { return rate }, policy: documented,
				}
				s.policy.MaxScaleUpStep = 2
				sums := s.run(startUp)
				if got := slices.Max(sums); got > 6 {
					t.Errorf("%s, start-up %s, clients wait %s: %d replicas for a load that 4 carry", name, startUp, gives, got)
				}
				for i := 1; i < len(sums); i++ {
					if sums[i]-sums[i-1] > 2 {
						t.Errorf("%s: %d replicas became %d in one decision", name, sums[i-1], sums[i])
					}
				}
			}
		}
	}
}

// TestAnOutageOfWhatSendsRequestsTakesNoFleetDown: no request arrives for 13 minutes, then
// the full load is back, with scale to zero off at its documented period.
func TestAnOutageOfWhatSendsRequestsTakesNoFleetDown(t *testing.T) {
	const down, up = 90 * time.Minute, 103 * time.Minute
	for _, startUp := range []time.Duration{2 * time.Minute, 10 * time.Minute} {
		for name, how := range paced() {
			v := siteVariant("v", 10, 1, 30)
			s := site{
				variants: []scaling.Variant{v}, settings: how, startUp: startUp, tick: 30 * time.Second, gives: time.Minute, policy: documented,
				rate: func(t time.Duration) float64 {
					if t >= down && t < up {
						return 0
					}
					return 24 * most(v.Profile)
				},
			}
			s.policy.Zero = constrain.Zero{Retention: 10 * time.Minute}
			sums := s.run(up + time.Hour)
			at := func(t time.Duration) scaling.Replicas { return sums[t/s.tick] }
			before := at(down - s.tick)
			for when := down; when < up; when += s.tick {
				if at(when-s.tick)-at(when) > 1 {
					t.Errorf("%s, start-up %s: %d replicas became %d in one decision", name, startUp, at(when-s.tick), at(when))
				}
			}
			// The site shows the rate at once. A decision and a cycle later the size is back.
			if least, back := at(up-s.tick), at(up+2*s.tick); least < before-13 || back < before {
				t.Errorf("%s, start-up %s: %d replicas before, %d at the end of the outage, %d a minute after it", name, startUp, before, least, back)
			}
		}
	}
}

// TestAClockThatIsSetHoldsNothingBack: the load rises twice, and between the rises the clock is set
// forward or back, by up to a day. The second growth comes at most one cycle later than with a
// correct clock.
func TestAClockThatIsSetHoldsNothingBack(t *testing.T) {
	const step, rise = time.Hour, time.Hour + 2*time.Minute
	for name, how := range paced() {
		v := siteVariant("v", 10, 1, 4)
		grew := func(set time.Duration) time.Duration {
			s := site{
				variants: []scaling.Variant{v}, settings: how, startUp: 2 * time.Minute, tick: 30 * time.Second, policy: documented,
				rate: func(t time.Duration) float64 {
					switch {
					case t < 45*time.Minute:
						return 1.8 * most(v.Profile)
					case t < rise:
						return 4.8 * most(v.Profile)
					}
					return 20 * most(v.Profile)
				},
				off: func(t time.Duration) time.Duration {
					if t < step {
						return 0
					}
					return set
				},
			}
			sums := s.run(rise + 30*time.Minute)
			for i := int(rise / s.tick); i < len(sums); i++ {
				if sums[i] > sums[int(rise/s.tick)-1] {
					return time.Duration(i)*s.tick - rise
				}
			}
			return time.Hour
		}
		right := grew(0)
		for _, set := range []time.Duration{-30 * time.Minute, -time.Hour, -24 * time.Hour, time.Hour, 24 * time.Hour} {
			if got := grew(set); got > right+30*time.Second {
				t.Errorf("%s: the clock was set by %s, growth came after %s, with a right one after %s", name, set, got, right)
			}
		}
	}
}

// TestNothingIsHeldLongerThanItsPeriodWhateverTheClockShows: loads and the clock change at random.
// No change is held back for longer than its period and a cycle of real time, counted from the last
// clock change or from when the change was first wanted, whichever is later.
func TestNothingIsHeldLongerThanItsPeriodWhateverTheClockShows(t *testing.T) {
	held := 0
	for seed := range uint64(race.Cases(12)) {
		for name, how := range paced() {
			r := rand.New(rand.NewPCG(seed, 66))
			policy := constrain.Pacing{ScaleUpStabilization: time.Duration(r.IntN(3)) * time.Minute, ScaleDownStabilization: time.Duration(1+r.IntN(4)) * time.Minute}
			load, until := 2.0, time.Duration(0)
			set, stepped := time.Duration(0), time.Duration(0)
			v := siteVariant("v", 10, 1, 4)
			s := site{
				variants: []scaling.Variant{v}, settings: how, startUp: 90 * time.Second, tick: 30 * time.Second, gives: time.Minute, policy: policy,
				rate: func(time.Duration) float64 { return load * most(v.Profile) },
				off:  func(time.Duration) time.Duration { return set },
			}
			waiting := map[bool]time.Duration{} // by direction, growth being true: since when a change is held back without a break
			last := scaling.Replicas(0)
			s.after = func(at time.Duration) {
				d := s.last.Plan.Decisions[0]
				stabilized := map[bool]bool{}
				for _, step := range d.Steps {
					if step.Reason == scaling.ReasonStabilizing {
						stabilized[step.From > step.To] = true
						held++
					}
				}
				if d.Target() != last {
					clear(waiting)
				}
				last = d.Target()
				for growth, period := range map[bool]time.Duration{true: policy.ScaleUpStabilization, false: policy.ScaleDownStabilization} {
					since, known := waiting[growth]
					switch {
					case !stabilized[growth]:
						delete(waiting, growth)
					case !known:
						waiting[growth] = at
					case at-max(since, stepped) > period+s.tick:
						t.Fatalf("seed %d, %s, %+v at %s: held back since %s, the clock was set at %s: %+v", seed, name, policy, at, since, stepped, d.Steps)
					}
				}
				if at >= until {
					load, until = 6*r.Float64(), at+time.Duration(4+r.IntN(15))*time.Minute
				}
				if r.IntN(20) == 0 {
					set, stepped = time.Duration((r.Float64()*2-1)*float64(5*time.Hour)), at+s.tick
				}
			}
			s.run(3 * time.Hour)
		}
	}
	if held < race.Cases(100) {
		t.Errorf("%d decisions were held back, which shows little", held)
	}
}

// TestAClockThatIsSetTakesNoModelToZeroEarly: a model becomes idle and the clock is set at random,
// with a retention period of 10 minutes.
func TestAClockThatIsSetTakesNoModelToZeroEarly(t *testing.T) {
	zeros := 0
	for seed := range uint64(race.Cases(60)) {
		r := rand.New(rand.NewPCG(seed, 67))
		s := newRest(constrain.Zero{Enabled: true, Retention: 10 * time.Minute}, 1)
		s.remember = false // a source answers by its own clock
		passed, steps := time.Duration(0), ""
		busy := 2 * time.Minute
		for passed < 50*time.Minute {
			if passed < busy {
				s.arrive(0)
			}
			s.live(restTick)
			passed += restTick
			current, _ := s.replicas()
			if idle := passed - busy; current == 0 {
				zeros++
				if idle < s.zero.Retention-restWindow {
					t.Errorf("seed %d: at zero %s after the last request, the clock was set%s", seed, idle, steps)
				}
				break
			}
			if r.IntN(30) == 0 && passed > busy {
				by := time.Duration((r.Float64()*2 - 1) * float64(3*time.Hour)).Truncate(time.Second)
				s.now = s.now.Add(by)
				steps += fmt.Sprintf(" by %s at %s", by, passed)
			}
		}
	}
	if zeros < race.Cases(20) {
		t.Errorf("%d models went to zero, which shows little", zeros)
	}
}
