package sim

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// trials are faults of every kind within five minutes.
func trials(v scaling.VariantKey, seed uint64) []fault.Fault {
	r := rand.New(rand.NewPCG(seed, 5))
	at := func() time.Duration { return time.Duration(r.IntN(200)) * time.Second }
	return []fault.Fault{
		{Kind: fault.Crash, Variant: v, At: at(), For: time.Minute, Replicas: 1},
		{Kind: fault.Crash, Variant: v, At: at(), For: 2 * time.Minute, Replicas: 1, Period: 30 * time.Second, Ready: 10 * time.Second},
		{Kind: fault.Silent, Variant: v, At: at(), For: time.Minute},
		{Kind: fault.Flap, Variant: v, At: at(), For: 2 * time.Minute, Replicas: 2, Period: 20 * time.Second, Ready: 12 * time.Second},
		{Kind: fault.Stall, Variant: v, At: at(), For: 20 * time.Second},
		{Kind: fault.NoNode, Variant: v, At: at(), For: time.Minute, Wait: 20 * time.Second},
		{Kind: fault.Deleted, Variant: v, At: at(), For: 30 * time.Second, Replicas: 2},
		{Kind: fault.Rollout, Variant: v, At: at(), For: time.Minute, Share: 0.5},
		{Kind: fault.Clock, At: at(), For: time.Minute, Step: -time.Hour},
		{Kind: fault.Outage, At: at(), For: 10 * time.Second},
	}
}

// faulty is a fleet of four replicas with a fault, and the snapshots of every 15 s.
func faulty(t *testing.T, length time.Duration, f fault.Fault, targets ...scaling.Replicas) ([]scaling.Snapshot, Report) {
	t.Helper()
	c := testConfig(simtest.Chat(t, "constant(1,"+length.String()+")", 1))
	v := &c.Models[0].Variants[0]
	v.Replicas = 4
	if f.Kind != fault.Clock && f.Kind != fault.Outage {
		f.Variant = v.Spec.Key
	}
	c.Faults, c.Duration, c.check = []fault.Fault{f}, length, (*world).conserved
	var seen []scaling.Snapshot
	p := &scripted{every: 15 * time.Second, seen: func(v View) { seen = append(seen, v.Snapshots[0]) }}
	for _, n := range targets {
		p.targets = append(p.targets, []Target{{Variant: v.Spec.Key, Replicas: n}})
	}
	r, err := Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return seen, r
}

// counts returns the replicas at an offset.
func counts(t *testing.T, seen []scaling.Snapshot, at time.Duration) scaling.ReplicaCounts {
	t.Helper()
	return seen[at/(15*time.Second)-1].Variants[0].Replicas
}

// TestFaultsShowAsDiscoveryAndTheCollectorWouldShowThem begins every fault after a
// minute.
func TestFaultsShowAsDiscoveryAndTheCollectorWouldShowThem(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		name    string
		fault   fault.Fault
		targets []scaling.Replicas
		want    map[time.Duration][3]scaling.Replicas // current, Ready, Unschedulable
	}{
		{
			"two crash for two minutes and start in 30 s",
			fault.Fault{Kind: fault.Crash, For: 2 * minute, Replicas: 2},
			nil,
			map[time.Duration][3]scaling.Replicas{minute - 15*time.Second: {4, 4, 0}, minute + 15*time.Second: {4, 2, 0}, 3 * minute: {4, 2, 0}, 4 * minute: {4, 4, 0}},
		},
		{
			"one crashes, and is Ready for a minute in each two",
			fault.Fault{Kind: fault.Crash, Replicas: 1, Period: 2 * minute, Ready: minute},
			nil,
			map[time.Duration][3]scaling.Replicas{90 * time.Second: {4, 3, 0}, 150 * time.Second: {4, 4, 0}, 210 * time.Second: {4, 3, 0}, 270 * time.Second: {4, 4, 0}},
		},
		{
			"what is added crashes where a bad node has taken no replica yet",
			fault.Fault{Kind: fault.Crash, Replicas: 6},
			[]scaling.Replicas{4, 4, 4, 4, 8},
			map[time.Duration][3]scaling.Replicas{5 * minute: {8, 2, 0}},
		},
		{
			"nodes take two minutes",
			fault.Fault{Kind: fault.NoNode, Wait: 2 * minute},
			[]scaling.Replicas{4, 4, 4, 4, 6},
			map[time.Duration][3]scaling.Replicas{2 * minute: {6, 4, 2}, 3 * minute: {6, 4, 2}, 210 * time.Second: {6, 4, 0}, 4 * minute: {6, 6, 0}},
		},
		{
			"one of two never gets a node",
			fault.Fault{Kind: fault.NoNode, Replicas: 1},
			[]scaling.Replicas{4, 4, 4, 4, 6},
			map[time.Duration][3]scaling.Replicas{5 * minute: {6, 5, 1}},
		},
		{
			"a rollout of four waves of a minute",
			fault.Fault{Kind: fault.Rollout, For: 4 * minute},
			nil,
			map[time.Duration][3]scaling.Replicas{90 * time.Second: {4, 3, 0}, 150 * time.Second: {4, 3, 0}, 270 * time.Second: {4, 3, 0}, 6 * minute: {4, 4, 0}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.fault.At = minute
			seen, _ := faulty(t, 7*minute, tt.fault, tt.targets...)
			for at, want := range tt.want {
				r := counts(t, seen, at)
				if got := [3]scaling.Replicas{r.Current, r.Ready, r.Unschedulable}; got != want || r.Pending != r.Current-r.Ready {
					t.Errorf("at %s: current, Ready and Unschedulable are %v, want %v", at, got, want)
				}
			}
		})
	}
}

func TestASilentReplicaIsReadyAndItsPageGrowsOld(t *testing.T) {
	seen, r := faulty(t, 10*time.Minute, fault.Fault{Kind: fault.Silent, At: 2 * time.Minute, Replicas: 1})
	states := map[time.Duration]scaling.Freshness{
		2 * time.Minute: scaling.Fresh, 4 * time.Minute: scaling.Aging, 9 * time.Minute: scaling.Stale,
	}
	for at, want := range states {
		s := seen[at/(15*time.Second)-1]
		if got := s.Replicas[0].KVCacheUsage.State; got != want || s.Replicas[1].KVCacheUsage.State != scaling.Fresh {
			t.Errorf("at %s the first page is %s and the second %s, want %s and fresh", at, got, s.Replicas[1].KVCacheUsage.State, want)
		}
		if s.Variants[0].Replicas.Ready != 4 {
			t.Errorf("at %s: %d are Ready", at, s.Variants[0].Replicas.Ready)
		}
	}
	if got := r.Models[0].Counts; got.Lost+got.Rejected > 0 || got.Finished == 0 {
		t.Errorf("a silent replica serves: %+v", got)
	}
}

func TestAFlappingReplicaKeepsWhatItHolds(t *testing.T) {
	seen, r := faulty(t, 20*time.Minute, fault.Fault{Kind: fault.Flap, Period: 2 * time.Minute, Ready: time.Minute})
	least, most, unready := scaling.Replicas(math.MaxInt), scaling.Replicas(0), 0
	for _, s := range seen {
		least, most = min(least, s.Variants[0].Replicas.Ready), max(most, s.Variants[0].Replicas.Ready)
		for _, one := range s.Replicas {
			if !one.Ready && one.Reports() {
				unready++
			}
		}
	}
	if least >= 3 || most < 3 || unready == 0 {
		t.Errorf("from %d to %d of 4 are Ready, and %d times a page of one that is not was there", least, most, unready)
	}
	if got := r.Models[0].Counts; got.Lost > 0 {
		t.Errorf("%d requests were lost", got.Lost)
	}
}

func TestAStalledReplicaHasAQueueAndAnEmptyingCache(t *testing.T) {
	seen, r := faulty(t, 10*time.Minute, fault.Fault{Kind: fault.Stall, At: 2 * time.Minute, For: 3 * time.Minute})
	before, during, after := seen[6].Replicas[0], seen[18].Replicas[0], seen[32].Replicas[0]
	if during.QueueLengthNow.Value < 10 || during.KVCacheUsageNow.Value >= before.KVCacheUsageNow.Value/2 {
		t.Errorf("before %s of the cache were used and %s waited, at its end %s and %s",
			before.KVCacheUsageNow, before.QueueLengthNow, during.KVCacheUsageNow, during.QueueLengthNow)
	}
	if got := r.Models[0].Counts; after.QueueLengthNow.Value > 1 || got.Lost+got.Rejected > 0 || got.Finished != got.Arrived {
		t.Errorf("after it %s wait; %+v", after.QueueLengthNow, got)
	}
}

func TestACrashLosesWhatTheReplicaHolds(t *testing.T) {
	_, r := faulty(t, 10*time.Minute, fault.Fault{Kind: fault.Crash, At: time.Minute, For: time.Minute})
	if got := r.Models[0].Counts; got.Lost == 0 || got.Held == 0 {
		t.Errorf("four replicas crashed at once: %+v", got)
	}
}

func TestADeletedTargetIsGoneAndComesBack(t *testing.T) {
	seen, r := faulty(t, 10*time.Minute, fault.Fault{Kind: fault.Deleted, At: time.Minute, For: 2 * time.Minute, Replicas: 3}, 4)
	v := seen[7].Variants[0]
	if !v.Gone || v.Missing == "" || v.Replicas != (scaling.ReplicaCounts{}) || v.StartUp != 0 {
		t.Errorf("while it is deleted: %+v", v)
	}
	if v := seen[12].Variants[0]; v.Gone || v.Replicas.Current != 4 {
		t.Errorf("it came back and was scaled again: %+v", v)
	}
	if got := r.Models[0].Variants[0]; got.Started != 4 {
		t.Errorf("%d replicas were started, want 3 and one more", got.Started)
	}
}

func TestAClockThatIsOffIsOffInEverythingThatTheManagerSays(t *testing.T) {
	c := testConfig(simtest.Chat(t, "constant(1,4m)", 1))
	c.Faults = []fault.Fault{{Kind: fault.Clock, At: time.Minute, For: 2 * time.Minute, Step: -time.Hour}}
	var offs []time.Duration
	p := &scripted{every: 30 * time.Second, seen: func(v View) {
		s := v.Snapshots[0]
		true0 := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(len(offs)+1) * 30 * time.Second)
		offs = append(offs, v.Now.Sub(true0))
		if !s.At.Equal(v.Now) || !v.Inventory.At.Equal(v.Now) {
			t.Errorf("the snapshot is of %s and the stock of %s, now is %s", s.At, v.Inventory.At, v.Now)
		}
		if s.Replicas[0].At.IsZero() || s.Replicas[0].At.After(v.Now) || v.Now.Sub(s.Replicas[0].At) > time.Minute {
			t.Errorf("at %s a page is of %s", v.Now, s.Replicas[0].At)
		}
	}}
	if _, err := Run(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{0, -time.Hour, -time.Hour, -time.Hour, -time.Hour, 0} {
		if offs[i] != want {
			t.Errorf("decision %d: the clock is off by %s, want %s", i, offs[i], want)
		}
	}
}

func TestNoRequestArrivesInAnOutage(t *testing.T) {
	_, whole := faulty(t, 20*time.Minute, fault.Fault{Kind: fault.Outage, At: time.Hour, For: time.Minute})
	_, half := faulty(t, 20*time.Minute, fault.Fault{Kind: fault.Outage, At: 5 * time.Minute, For: 10 * time.Minute})
	ratio := float64(half.Models[0].Counts.Arrived) / float64(whole.Models[0].Counts.Arrived)
	if math.Abs(ratio-0.5) > 0.1 {
		t.Errorf("%.2f of the requests arrived, want half", ratio)
	}
}

func TestASmallDifferenceIsLeftToAToleranceOfATenth(t *testing.T) {
	for _, tt := range []struct{ from, to, want scaling.Replicas }{{10, 11, 10}, {10, 12, 12}, {10, 9, 10}, {10, 8, 8}, {5, 6, 6}, {1, 0, 0}, {0, 1, 1}} {
		c := testConfig(simtest.Chat(t, "constant(1,2m)", 1))
		c.Tolerance = 0.1
		c.Models[0].Variants[0].Replicas = tt.from
		got := scaling.Replicas(-1)
		p := &scripted{
			every: 30 * time.Second, seen: func(v View) { got = v.Snapshots[0].Variants[0].Replicas.Current },
			targets: [][]Target{{{Variant: c.Models[0].Variants[0].Spec.Key, Replicas: tt.to}}},
		}
		if _, err := Run(t.Context(), c, p); err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("from %d to %d: %d replicas, want %d", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestAWeightedGatewaySendsByWeightWhateverReplicasThereAre(t *testing.T) {
	c := testConfig(simtest.Chat(t, "constant(4,10m)", 1))
	b := testVariant("b")
	c.Models[0].Routing, c.Models[0].Variants[0].Replicas, c.Models[0].Variants[0].Weight, b.Weight = Weighted, 5, 1, 3
	c.Models[0].Variants = append(c.Models[0].Variants, b)
	var rates [2]float64
	p := &scripted{every: 5 * time.Minute, seen: func(v View) {
		for i, one := range v.Models[0].Variants {
			rates[i] = one.ArrivalRate.Or(0)
		}
	}}
	if _, err := Run(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
	if part := rates[1] / (rates[0] + rates[1]); math.Abs(part-0.75) > 0.1 {
		t.Errorf("%.2f of the requests went to the variant with weight 3 of 4", part)
	}
}

func TestRunSaysWhichFaultIsWrong(t *testing.T) {
	unknown := scaling.VariantKey{Namespace: "ns", Name: "unknown"}
	for field, f := range map[string]fault.Fault{
		"faults[0].kind": {Kind: "rain"}, "faults[0].variant": {Kind: fault.Crash, Variant: unknown},
		"faults[0].model": {Kind: fault.Outage, Model: scaling.ModelKey{Namespace: "ns", ID: "unknown"}},
	} {
		c := testConfig(simtest.Chat(t, "constant(1,1m)", 1))
		c.Faults = []fault.Fault{f}
		_, err := Run(t.Context(), c, hold())
		if wrong, ok := errors.AsType[*FieldError](err); !ok || wrong.Field != field {
			t.Errorf("got %v, want an error about %s", err, field)
		}
	}
}
