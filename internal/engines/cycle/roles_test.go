package cycle

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// disaggregated is a fleet of one prefill and one decode variant. Replicas are Ready at the next
// look, and readings are those of the profile in equilibrium.
type disaggregated struct {
	setup         Setup
	rate          float64 // requests/s
	input, output float64 // tokens
	bounds        map[scaling.Role]scaling.Bounds
	replicas      map[scaling.Role]scaling.Replicas
	past          memory.History
	at            time.Duration
	silent        scaling.Role // a role that reports nothing
}

var rolesModel = scaling.ModelKey{Namespace: "ns", ID: "m"}

const (
	prefillMs = 0.05 // per input token and request of the batch
	decodeMs  = 15.0 // per token of a request alone in the batch
	eachMs    = 0.2  // more for each request of the batch
)

func newDisaggregated() *disaggregated {
	how := settings.Default()
	how.Engine, how.Objective = settings.Hybrid, scaling.Objective{Class: "c", TTFT: 1500, ITL: 30}
	return &disaggregated{
		setup: Setup{Models: map[scaling.ModelKey]settings.Model{rolesModel: how}, Interval: 15 * time.Second},
		rate:  6, input: 1000, output: 200,
		bounds:   map[scaling.Role]scaling.Bounds{scaling.RolePrefill: scaling.Unbounded(), scaling.RoleDecode: scaling.Unbounded()},
		replicas: map[scaling.Role]scaling.Replicas{scaling.RolePrefill: 1, scaling.RoleDecode: 1}, past: memory.History{},
	}
}

// look returns the snapshot of the fleet.
func (p *disaggregated) look() scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	snap := scaling.Snapshot{Model: rolesModel, At: now.Add(p.at), Window: time.Minute}
	for _, role := range []scaling.Role{scaling.RoleDecode, scaling.RolePrefill} {
		n := p.replicas[role]
		key := scaling.VariantKey{Namespace: "ns", Name: string(role)}
		snap.Variants = append(snap.Variants, scaling.Variant{
			Key: key, Model: rolesModel, Role: role, Cost: 10, Bounds: p.bounds[role], GPUsPerReplica: 1, StartUp: 15 * time.Second,
			Accelerator: "H100", GPUsRequested: 1,
			Profile:  scaling.Profile{Source: "x", Alpha: decodeMs, Beta: eachMs, Gamma: 5, Delta: prefillMs, MaxBatchSize: 64},
			Replicas: scaling.ReplicaCounts{Observed: true, Current: n, Ready: n, NewestReady: now.Add(-time.Hour)},
		})
		each := p.rate / float64(max(1, n))
		busy := min(1, each*(5+prefillMs*p.input)/1000)
		running := busy
		if role == scaling.RoleDecode {
			// Little's law with ITL = alpha + beta x n.
			running = min(64, each*p.output*decodeMs/1000/max(0.01, 1-each*p.output*eachMs/1000))
		}
		for i := range n {
			usage := min(1, running*(p.input+p.output/2)/600_000)
			r := scaling.ReplicaSample{Pod: fmt.Sprintf("%s-%d", role, i), Variant: key, Ready: true, At: snap.At}
			if role != p.silent {
				r.KVCacheUsage, r.KVCacheUsageNow = fresh(usage), fresh(usage)
				r.QueueLength, r.QueueLengthNow, r.Running, r.KVCapacity = fresh(0), fresh(0), fresh(running), fresh(600_000)
			}
			snap.Replicas = append(snap.Replicas, r)
		}
	}
	none := scaling.Reading{State: scaling.NotApplicable}
	load := scaling.Load{ArrivalRate: fresh(p.rate), InputTokens: fresh(p.input), OutputTokens: fresh(p.output), GatewayQueue: none, PrefixHits: none}
	decode, prefill := load, load
	decode.PrefixHits, prefill.OutputTokens, prefill.ITL = fresh(1), fresh(1), none
	for _, of := range []scaling.RoleLoad{{Role: scaling.RoleDecode, Load: decode}, {Role: scaling.RolePrefill, Load: prefill}} {
		if of.Role == p.silent {
			of.Load = scaling.Load{}
		}
		snap.Roles = append(snap.Roles, of)
	}
	snap.Load = load
	return snap
}

// next returns the case of the next cycle.
func (p *disaggregated) next() Case {
	p.at += 15 * time.Second
	return Case{Cycle: "c", Now: now.Add(p.at), Snapshots: []scaling.Snapshot{p.look()}, History: p.past}
}

// step decides once and carries the plan out.
func (p *disaggregated) step() Verdict { return p.carryOut(p.setup.Decide(p.next())) }

// carryOut gives each role the replicas of the plan.
func (p *disaggregated) carryOut(v Verdict) Verdict {
	p.past = v.History
	for _, d := range v.Plan.Decisions {
		p.replicas[d.Role] = d.Target()
	}
	return v
}

// run decides every 15 s for a length and returns the last verdict.
func (p *disaggregated) run(length time.Duration) (last Verdict) {
	for until := p.at + length; p.at < until; {
		last = p.step()
	}
	return last
}

func TestPrefillGrowsWithPromptsAndDecodeWithAnswers(t *testing.T) {
	p := newDisaggregated()
	p.run(time.Hour)
	prefill, decode := p.replicas[scaling.RolePrefill], p.replicas[scaling.RoleDecode]
	p.input *= 10
	p.run(time.Hour)
	if got := p.replicas[scaling.RolePrefill]; got < 3*prefill {
		t.Errorf("prompts ten times longer: prefill went from %d to %d", prefill, got)
	}
	if got := p.replicas[scaling.RoleDecode]; got > decode+1 {
		t.Errorf("prompts ten times longer: decode went from %d to %d, and they are not computed there", decode, got)
	}
	p.input, p.output = p.input/10, p.output*10
	p.run(2 * time.Hour)
	if got := p.replicas[scaling.RoleDecode]; got < 3*decode {
		t.Errorf("answers ten times longer: decode went from %d to %d", decode, got)
	}
	if got := p.replicas[scaling.RolePrefill]; got > prefill {
		t.Errorf("answers ten times longer: prefill is at %d, it was at %d", got, prefill)
	}
}

func TestNeitherRoleGrowsBeyondWhatTheOtherCanCarry(t *testing.T) {
	p := newDisaggregated()
	p.bounds[scaling.RolePrefill] = scaling.Bounds{Min: 1, Max: 2}
	p.run(time.Hour)
	p.rate *= 10
	last := p.run(time.Hour)
	unlimited := newDisaggregated()
	unlimited.rate = p.rate
	unlimited.run(time.Hour)
	if got, free := p.replicas[scaling.RoleDecode], unlimited.replicas[scaling.RoleDecode]; got >= free || p.replicas[scaling.RolePrefill] != 2 {
		t.Errorf("prefill is at %d of at most 2, decode at %d, and at %d where nothing limits prefill", p.replicas[scaling.RolePrefill], got, free)
	}
	said := ""
	for _, d := range last.Plan.Decisions {
		for _, s := range d.Steps {
			if s.Reason == scaling.ReasonOtherRole {
				said = s.Detail
			}
		}
	}
	if said == "" {
		t.Errorf("no step says that prefill limits decode: %+v", last.Plan.Decisions)
	}
}

func TestNoRoleIsReducedWhileTheLoadOfTheOtherIsUnknown(t *testing.T) {
	p := newDisaggregated()
	p.rate = 40
	p.run(time.Hour)
	before := p.replicas[scaling.RoleDecode]
	p.rate, p.silent = 4, scaling.RolePrefill
	p.run(time.Hour)
	if got := p.replicas[scaling.RoleDecode]; got < before {
		t.Errorf("decode was reduced from %d to %d while prefill reports nothing", before, got)
	}
	p.silent = ""
	p.run(time.Hour)
	if got := p.replicas[scaling.RoleDecode]; got >= before {
		t.Errorf("decode is still at %d when prefill reports again", got)
	}
}

func TestFewAcceleratorsAreSharedBetweenTheRoles(t *testing.T) {
	const stock = 18
	for _, begin := range []map[scaling.Role]scaling.Replicas{
		{scaling.RolePrefill: 1, scaling.RoleDecode: 1},
		{scaling.RolePrefill: 1, scaling.RoleDecode: 17},
		{scaling.RolePrefill: 17, scaling.RoleDecode: 1},
	} {
		p := newDisaggregated()
		p.rate, p.replicas = 200, begin
		how := p.setup.Models[rolesModel]
		how.Limited = true
		p.setup.Models[rolesModel] = how
		var last Verdict
		for range 100 {
			left := stock - int(p.replicas[scaling.RolePrefill]+p.replicas[scaling.RoleDecode])
			p.setup.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{
				{Accelerator: "H100", Total: stock, Free: []scaling.FreeNodes{{GPUs: 1, Nodes: max(0, left)}}},
			}}
			last = p.step()
		}
		carried, each := map[scaling.Role]float64{}, 0.0
		for _, a := range last.Analyses {
			if a.Analyzer == "queueing" {
				carried[a.Role], each = a.Variants[0].PerReplica*float64(p.replicas[a.Role]), max(each, a.Variants[0].PerReplica)
			}
		}
		prefill, decode := carried[scaling.RolePrefill], carried[scaling.RoleDecode]
		// Equal to one replica; the roles are sized by saturation, which rates a replica up to a
		// tenth differently.
		if total := p.replicas[scaling.RolePrefill] + p.replicas[scaling.RoleDecode]; math.Abs(prefill-decode) > 1.1*each || total < stock-1 {
			t.Errorf("of %d accelerators the roles get %v, of which prefill carries %.3g requests/s and decode %.3g", stock, p.replicas, prefill, decode)
		}
	}
}

// TestNoRoleOfAnyFleetGrowsAlone draws loads, bounds and stocks that change. Where one role cannot
// grow and carries less than what arrives, the other grows only to what the first can use, rounded
// up to a replica, or to its minimum. The order of variants, replicas and roles changes no decision.
func TestNoRoleOfAnyFleetGrowsAlone(t *testing.T) {
	limited, grown := 0, 0
	for seed := range uint64(race.Cases(30)) {
		r, orders := rand.New(rand.NewPCG(seed, 24)), rand.New(rand.NewPCG(seed, 25))
		p := newDisaggregated()
		how := p.setup.Models[rolesModel]
		how.Limited = r.IntN(2) == 0
		p.setup.Models[rolesModel] = how
		for range 6 {
			p.rate, p.input, p.output = 1+80*r.Float64(), 200+4000*r.Float64(), 50+400*r.Float64()
			for _, role := range []scaling.Role{scaling.RolePrefill, scaling.RoleDecode} {
				p.bounds[role] = scaling.Bounds{Min: scaling.Replicas(r.IntN(3)), Max: scaling.Replicas(3 + r.IntN(30))}
			}
			stock := 4 + r.IntN(30)
			for look := range 80 {
				left := max(0, stock-int(p.replicas[scaling.RolePrefill]+p.replicas[scaling.RoleDecode]))
				p.setup.Inventory = scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{
					{Accelerator: "H100", Total: scaling.Accelerators(stock), Free: []scaling.FreeNodes{{GPUs: 1, Nodes: left}}},
				}}
				before, ordered := maps.Clone(p.replicas), p.past
				c := p.next()
				v := p.setup.Decide(c)
				if look%8 == 0 { // encoding takes longer than deciding
					if want, got := encode(t, v), encode(t, p.setup.Decide(shuffled(c, orders))); got != want {
						t.Fatalf("seed %d: the same roles in another order:\n%s\n%s", seed, want, got)
					}
				}
				p.carryOut(v)
				each := map[scaling.Role]float64{}
				for _, a := range v.Analyses {
					if a.Analyzer == "queueing" {
						each[a.Role] = a.Variants[0].PerReplica
					}
				}
				for _, d := range v.Plan.Decisions {
					other := scaling.RolePrefill
					if d.Role == scaling.RolePrefill {
						other = scaling.RoleDecode
					}
					if p.replicas[d.Role] == 0 || p.replicas[other] == 0 {
						t.Fatalf("seed %d: one role alone: %v", seed, p.replicas)
					}
					cause := ""
					for _, o := range v.Plan.Decisions {
						if o.Role == other && (o.Target() >= p.bounds[other].Max || o.Cause().Reason == scaling.ReasonNoStock) {
							cause = string(o.Cause().Reason)
						}
					}
					carries := each[other] * float64(p.replicas[other])
					if cause == "" || carries >= p.rate {
						continue
					}
					limited++
					floor := max(before[d.Role], ordered[d.Variant].Desired, p.bounds[d.Role].Min)
					if d.Target() > floor {
						grown++
						if without := each[d.Role] * float64(d.Target()-1); without > carries {
							t.Fatalf("seed %d: %s grew from %d to %d, and one fewer carries %.3g requests/s: %s carries %.3g of %.3g (%s)\n%+v",
								seed, d.Role, floor, d.Target(), without, other, carries, p.rate, cause, v.Plan.Decisions)
						}
					}
				}
			}
		}
	}
	if limited < race.Cases(100) || grown < race.Cases(10) {
		t.Errorf("the test saw %d plans in which one role is limited, and %d in which the other grew beside it", limited, grown)
	}
}

// TestBothRolesComeDownToTheirLoad draws loads that fall. No role is reduced below what arrives,
// and in the end none holds two replicas more than it fills: the ratio of the roles is that of
// their loads, whatever it was before.
func TestBothRolesComeDownToTheirLoad(t *testing.T) {
	const fills = 0.8 // a reduction fills to 0.9, and replicas of prefill carry less each the fewer they are
	reduced := 0
	for seed := range uint64(race.Cases(40)) {
		r := rand.New(rand.NewPCG(seed, 26))
		p := newDisaggregated()
		p.rate, p.input, p.output = 20+60*r.Float64(), 200+4000*r.Float64(), 50+400*r.Float64()
		p.run(30 * time.Minute)
		before := maps.Clone(p.replicas)
		p.rate *= 0.1 + 0.6*r.Float64()
		p.input, p.output = p.input*(0.5+0.5*r.Float64()), p.output*(0.5+0.5*r.Float64())
		each := map[scaling.Role]float64{}
		for range 4 * 90 {
			v := p.step()
			for _, a := range v.Analyses {
				if a.Analyzer == "queueing" {
					each[a.Role] = a.Variants[0].PerReplica
				}
			}
			for role, n := range p.replicas {
				if carries := each[role] * float64(n); n < before[role] && carries < p.rate {
					t.Fatalf("seed %d: %d of %s carry %.3g of %.3g requests/s: %+v", seed, n, role, carries, p.rate, v.Plan.Decisions)
				}
			}
		}
		for role, n := range p.replicas {
			if n < before[role] {
				reduced++
			}
			if without := each[role] * float64(n-2); fills*without > p.rate {
				t.Errorf("seed %d: %s has %d replicas after %d, and two fewer carry %.3g of %.3g requests/s", seed, role, n, before[role], without, p.rate)
			}
		}
	}
	if reduced < race.Cases(40) {
		t.Errorf("%d reductions, want more to say anything", reduced)
	}
}
