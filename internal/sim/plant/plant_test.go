package plant

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// frozen is a fleet of ten whose decision the user has paused: it stays as it is.
func frozen(faults ...fault.Fault) Config {
	c := testConfig(settings.Saturation, 10)
	c.Variants[0].Spec.Paused = true
	c.Faults = faults
	for i := range c.Faults {
		if c.Faults[i].Kind.PerPod() || c.Faults[i].Kind == fault.Rollout || c.Faults[i].Kind == fault.Deleted {
			c.Faults[i].Variant = c.Variants[0].Spec.Key
		}
	}
	return c
}

// at returns the plant at an offset.
func at(c Config, when time.Duration) Tick {
	var out Tick
	Run(c, when+c.Tick, func(t Tick) bool {
		out = t
		return true
	})
	return out
}

func TestFaultsShowAsDiscoveryWouldShowThem(t *testing.T) {
	const hour = time.Hour
	for _, tt := range []struct {
		name                          string
		fault                         fault.Fault
		at                            time.Duration
		current, ready, unschedulable scaling.Replicas
	}{
		{"none", fault.Fault{Kind: fault.Outage, At: 10 * hour}, hour, 10, 10, 0},
		{"two crash", fault.Fault{Kind: fault.Crash, At: hour, Replicas: 2}, 2 * hour, 10, 8, 0},
		{"they start once it is over", fault.Fault{Kind: fault.Crash, At: hour, For: hour, Replicas: 2}, 2*hour + time.Minute, 10, 8, 0},
		{"and are Ready a start-up later", fault.Fault{Kind: fault.Crash, At: hour, For: hour, Replicas: 2}, 2*hour + 2*time.Minute, 10, 10, 0},
		{"a crash loop is down first", fault.Fault{Kind: fault.Crash, At: hour, Period: 10 * time.Minute, Ready: 2 * time.Minute}, hour + 7*time.Minute, 10, 0, 0},
		{"then Ready", fault.Fault{Kind: fault.Crash, At: hour, Period: 10 * time.Minute, Ready: 2 * time.Minute}, hour + 9*time.Minute, 10, 10, 0},
		{"silent ones are Ready", fault.Fault{Kind: fault.Silent, At: hour, Replicas: 2}, 2 * hour, 10, 10, 0},
		{"those with a node keep it", fault.Fault{Kind: fault.NoNode, At: hour}, 2 * hour, 10, 10, 0},
		{"a quarter is replaced", fault.Fault{Kind: fault.Rollout, At: hour, For: 40 * time.Minute}, hour + 5*time.Minute, 10, 8, 0},
		{"then all are", fault.Fault{Kind: fault.Rollout, At: hour, For: 40 * time.Minute}, hour + 45*time.Minute, 10, 10, 0},
		{"it comes back with three", fault.Fault{Kind: fault.Deleted, At: hour, For: hour, Replicas: 3}, 2 * hour, 3, 0, 0},
	} {
		r := at(frozen(tt.fault), tt.at).Case.Snapshots[0].Variants[0].Replicas
		if r.Current != tt.current || r.Ready != tt.ready || r.Unschedulable != tt.unschedulable || r.Pending != r.Current-r.Ready {
			t.Errorf("%s: %+v, want %d of %d Ready and %d without a node", tt.name, r, tt.ready, tt.current, tt.unschedulable)
		}
	}
}

func TestPodsWaitForTheirNode(t *testing.T) {
	c := testConfig(settings.Queueing, 4)
	twice := c.Load
	c.Load = func(now time.Duration) float64 { return twice(now) * (1 + min(1, math.Floor(now.Hours()))) }
	c.Faults = []fault.Fault{{Kind: fault.NoNode, Variant: c.Variants[0].Spec.Key, Wait: 6 * time.Minute}}
	for when, unplaced := range map[time.Duration]bool{time.Hour - time.Minute: false, time.Hour + 5*time.Minute: true} {
		if r := at(c, when).Case.Snapshots[0].Variants[0].Replicas; (r.Unschedulable > 0) != unplaced {
			t.Errorf("at %s: %+v", when, r)
		}
	}
	if s := at(c, 2*time.Hour).Case.Snapshots[0].Variants[0]; s.Replicas.Ready <= 4 || s.Replicas.Pending > 0 {
		t.Errorf("an hour later: %+v", s.Replicas)
	}
}

func TestADeletedTargetIsGone(t *testing.T) {
	v := at(frozen(fault.Fault{Kind: fault.Deleted, At: time.Hour}), 2*time.Hour).Case.Snapshots[0].Variants[0]
	if !v.Gone || v.Missing == "" || v.Replicas != (scaling.ReplicaCounts{}) || v.StartUp != 0 {
		t.Errorf("got %+v", v)
	}
}

func TestPagesOfSilentPodsGrowOldAndSumsAgeWithThem(t *testing.T) {
	one := frozen(fault.Fault{Kind: fault.Silent, At: time.Hour, Replicas: 1})
	c := frozen(fault.Fault{Kind: fault.Silent, At: time.Hour, Replicas: 5}) // of ten
	for after, want := range map[time.Duration]scaling.Freshness{
		-time.Minute: scaling.Fresh, 2 * time.Minute: scaling.Aging, 8 * time.Minute: scaling.Stale, 20 * time.Minute: scaling.Absent,
	} {
		s := at(c, time.Hour+after).Case.Snapshots[0]
		if got := s.Replicas[0].KVCacheUsage.State; got != want || !s.Replicas[0].Ready {
			t.Errorf("after %s its page is %s, want %s", after, got, want)
		}
		whole := scaling.Fresh
		if want != scaling.Fresh {
			whole = scaling.Aging
		}
		if got := s.Load.ArrivalRate.State; got != whole {
			t.Errorf("after %s the arrival rate is %s, want %s", after, got, whole)
		}
		if got := at(one, time.Hour+after).Case.Snapshots[0].Load.ArrivalRate.State; got != scaling.Fresh {
			t.Errorf("after %s of one silent pod the arrival rate is %s", after, got)
		}
	}
}

func TestWhatReplicasCannotServeWaits(t *testing.T) {
	for _, gateway := range []bool{false, true} {
		c := frozen()
		best := c.Best(c.Variants[0])
		c.Gateway, c.Load = gateway, func(time.Duration) float64 { return 11 * best }
		tick := at(c, 9*time.Minute)
		if want := best * 600; math.Abs(tick.Waiting-want) > 1 || math.Abs(tick.Capacity-10*best) > 1e-9 {
			t.Errorf("gateway %t: %.1f wait after ten minutes, want %.1f", gateway, tick.Waiting, want)
		}
		s := tick.Case.Snapshots[0]
		inside, held := s.Replicas[0].QueueLengthNow.Value, s.Load.GatewayQueue
		if gateway && (inside != gatewayQueue || held.Value < 100) || !gateway && (inside < 100 || held.State != scaling.NotApplicable) {
			t.Errorf("gateway %t: %g wait in a replica, %s at the gateway", gateway, inside, held)
		}
		c.Patience = time.Minute
		if got := at(c, time.Hour).Waiting; math.Abs(got-11*best*60) > 1 {
			t.Errorf("of clients that wait for a minute %.0f do, want %.0f", got, 11*best*60)
		}
	}
}

// TestPodsTogetherShowWhatRuns: each shows a whole number of requests, and all together
// as many as they compute.
func TestPodsTogetherShowWhatRuns(t *testing.T) {
	for _, part := range []float64{0.05, 0.1, 0.3, 0.8} {
		c := frozen()
		best := c.Best(c.Variants[0])
		c.Load = func(time.Duration) float64 { return 10 * part * best }
		shown, want := 0.0, 10*c.batchAt(c.Variants[0], part*best)
		for _, r := range at(c, time.Hour).Case.Snapshots[0].Replicas {
			shown += r.Running.Value
		}
		if math.Abs(shown-want) > 1.5 {
			t.Errorf("at %g of the best the pods show %g requests, want %.1f", part, shown, want)
		}
	}
}

// TestWhatWaitsInASilentVariantIsNotKnown: requests are shared out by weights that
// no observer sees, and all wait in a variant of which no pod has a page. A gateway
// counts all requests, and not how many go there.
func TestWhatWaitsInASilentVariantIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		weight  float64 // of the silent variant
		gateway bool
		want    bool
	}{{1e6, false, false}, {1e6, true, false}, {0, false, true}, {0, true, true}} {
		c := frozen(fault.Fault{Kind: fault.Silent})
		silent := testVariant("b", 2, 5)
		silent.Spec.Paused, silent.Weight, c.Faults[0].Variant = true, tt.weight, silent.Spec.Key
		c.Variants = append(c.Variants, silent)
		c.Variants[0].Weight, c.Spread, c.Gateway = 1, Weighted, tt.gateway
		best := c.Best(c.Variants[0])
		c.Load = func(time.Duration) float64 { return 6 * best }
		if got := at(c, time.Hour).Known; got != tt.want {
			t.Errorf("weight %g, gateway %t: known is %t", tt.weight, tt.gateway, got)
		}
	}
}

func TestAReplicaKeepsUpWithWhatItsBatchCompletes(t *testing.T) {
	c := frozen()
	v := c.Variants[0]
	for _, rate := range []float64{0.1, 2, 5, 0.99 * c.Best(v)} {
		n := c.batchAt(v, rate)
		if got := 1000 * n / c.Total(v, n); math.Abs(got-rate) > 1e-9 {
			t.Errorf("%g requests/s arrive and %g of %g at once complete", rate, got, n)
		}
	}
	if n := c.batchAt(v, 1000); n != c.Batch(v) {
		t.Errorf("under any load %g run at once, want %g", n, c.Batch(v))
	}
}

func TestGatewaysSpreadAsTheyAreTold(t *testing.T) {
	c := frozen()
	fast := testVariant("b", 10, 5)
	fast.Spec.Profile.Alpha, fast.Spec.Profile.Beta, fast.Spec.Paused, fast.Weight = 5, 0.1, true, 3
	c.Variants = append(c.Variants, fast)
	c.Variants[0].Weight = 1
	slow := c.Best(c.Variants[0])
	c.Load = func(time.Duration) float64 { return 15 * 1.2 * slow }
	waits := map[Spread]bool{Even: false, RoundRobin: true, Weighted: false}
	for spread, want := range waits {
		c.Spread = spread
		if got := at(c, time.Hour).Waiting > 0; got != want {
			t.Errorf("spread %q: waiting is %t, want %t", spread, got, want)
		}
	}
}

func TestAStalledReplicaHasAQueueAndAnEmptyCache(t *testing.T) {
	c := frozen(fault.Fault{Kind: fault.Stall, At: time.Hour, For: 3 * time.Minute, Replicas: 1})
	s := at(c, time.Hour+2*time.Minute).Case.Snapshots[0].Replicas
	if s[0].QueueLengthNow.Value < 100 || s[0].KVCacheUsageNow.Value > 0.05 || s[1].QueueLengthNow.Value > 0 || s[1].KVCacheUsageNow.Value < 0.2 {
		t.Errorf("the stalled one has %s waiting and %s of its cache in use, another %s and %s",
			s[0].QueueLengthNow, s[0].KVCacheUsageNow, s[1].QueueLengthNow, s[1].KVCacheUsageNow)
	}
	if got := at(c, 2*time.Hour).Waiting; got > 0 {
		t.Errorf("an hour later %.0f wait", got)
	}
}

// TestTheStartUpOfAVariantIsRemembered: as internal/discovery does.
func TestTheStartUpOfAVariantIsRemembered(t *testing.T) {
	c := frozen(fault.Fault{Kind: fault.Crash, At: time.Hour, Replicas: 100})
	v := at(c, 2*time.Hour).Case.Snapshots[0].Variants[0]
	if v.Replicas.Ready != 0 || v.StartUp != c.Variants[0].StartUp {
		t.Errorf("%d replicas are Ready, and the usual start-up is %s, want none and %s", v.Replicas.Ready, v.StartUp, c.Variants[0].StartUp)
	}
}

func TestASmallDifferenceIsLeftToAToleranceOfATenth(t *testing.T) {
	w := &plant{Config: Config{Tolerance: 0.1}}
	for _, tt := range []struct {
		current, wanted scaling.Replicas
		want            bool
	}{{10, 11, true}, {10, 12, false}, {10, 9, true}, {5, 6, false}, {0, 1, false}, {1, 0, false}, {7, 7, true}} {
		if got := w.ignored(tt.current, tt.wanted); got != tt.want {
			t.Errorf("from %d to %d: ignored is %t", tt.current, tt.wanted, got)
		}
	}
}

func TestClocksAreOffInWhatTheManagerSays(t *testing.T) {
	in := at(frozen(fault.Fault{Kind: fault.Clock, At: time.Hour, Step: -30 * time.Minute}), 2*time.Hour).Case
	if want := epoch.Add(90 * time.Minute); !in.Now.Equal(want) || !in.Snapshots[0].At.Equal(want) || in.Snapshots[0].Replicas[0].At.After(want) {
		t.Errorf("now is %s and the snapshot of %s, want %s", in.Now, in.Snapshots[0].At, want)
	}
}

func TestRunsAreEqual(t *testing.T) {
	run := func() (targets []scaling.Replicas) {
		c := testConfig(settings.Hybrid, 10)
		for _, k := range []fault.Kind{fault.Flap, fault.Crash} {
			c.Faults = append(c.Faults, fault.Fault{Kind: k, Variant: c.Variants[0].Spec.Key, Replicas: 3, Period: 20 * time.Minute, Ready: 15 * time.Minute})
		}
		Run(c, 6*time.Hour, func(t Tick) bool {
			targets = append(targets, t.Variants[0].Wanted, t.Variants[0].Ready)
			return true
		})
		return targets
	}
	one, two := run(), run()
	for i := range one {
		if one[i] != two[i] {
			t.Fatalf("value %d is %d and then %d", i, one[i], two[i])
		}
	}
}
