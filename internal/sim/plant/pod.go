package plant

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// longAgo is when the replicas of the start became Ready.
const longAgo = -24 * time.Hour

// goldenRatio spreads the phases of pods evenly, however many there are.
const goldenRatio = 1.618033988749895

// pod is one replica.
type pod struct {
	name      string
	created   time.Duration
	placed    time.Duration // when it gets a node
	up        time.Duration // when its last start is over
	hits      []hit
	runs      bool // its engine runs
	ready     bool
	readyAt   time.Duration // when it became Ready last
	scrapedAt time.Duration // the last successful scrape; scraped says whether there was one
	scraped   bool
	usage     [kept]float64 // of the KV cache at the last ticks, the newest first
	queue     [kept]float64 // waiting requests, likewise
	// phase is added before the number of running requests is rounded down, in [0, 1): pods with
	// the same mean do not all show the same whole number.
	phase  float64
	stalls bool
	held   float64 // requests that wait because it stalls
}

// hit is a fault, by its index, that affects a pod, and when the pod's periods begin.
type hit struct {
	fault int
	since time.Duration
}

func (p *pod) hitBy(i int) bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool { return h.fault == i })
}

// variant is a variant at run time.
type variant struct {
	Variant
	index   int
	pods    []*pod // in the order of their creation
	made    int
	deleted bool
	backlog float64       // requests that wait in its replicas
	usual   time.Duration // usual start-up as last seen; 0 before
}

// add creates a pod.
func (w *plant) add(v *variant, created time.Duration) *pod {
	v.made++
	p := &pod{name: fmt.Sprintf("%s-%04d", v.Spec.Key.Name, v.made), created: created, placed: created, readyAt: longAgo}
	_, p.phase = math.Modf(0.5 + float64(v.made-1)*goldenRatio)
	for i, f := range w.Faults {
		if f.Concerns(v.Spec.Key) && f.Kind.PerPod() && f.Active(created) && w.struck(v, i, created) < f.Most() {
			p.hits = append(p.hits, hit{fault: i})
		}
	}
	for _, h := range p.hits {
		if f := w.Faults[h.fault]; f.Kind == fault.NoNode {
			until := f.End()
			if f.Wait > 0 {
				until = min(until, created+f.Wait)
			}
			p.placed = max(p.placed, until)
		}
	}
	p.up = p.placed
	if p.up < forever-v.StartUp {
		p.up += v.StartUp
	}
	for i, h := range p.hits {
		switch f := w.Faults[h.fault]; f.Kind {
		case fault.Crash:
			p.hits[i].since = p.up + f.Ready
		case fault.Flap:
			p.hits[i].since = p.up + w.phase(f)
		default: // it has no period
		}
	}
	v.pods = append(v.pods, p)
	return p
}

// phase draws when the flapping of a pod begins, so that pods do not flap in step.
func (w *plant) phase(f fault.Fault) time.Duration {
	return time.Duration(w.draws.Int64N(int64(f.Period)))
}

// struck returns the number of pods that fault i affects. NoNode counts a pod only while it has no
// node.
func (w *plant) struck(v *variant, i int, now time.Duration) scaling.Replicas {
	n := scaling.Replicas(0)
	for _, p := range v.pods {
		if p.hitBy(i) && (w.Faults[i].Kind != fault.NoNode || p.placed > now) {
			n++
		}
	}
	return n
}

// doomed returns how many of the next pods of v would crash or find no node.
func (w *plant) doomed(v *variant, now time.Duration) scaling.Replicas {
	n := scaling.Replicas(0)
	for i, f := range w.Faults {
		if f.Concerns(v.Spec.Key) && f.Active(now) && (f.Kind == fault.Crash || f.Kind == fault.NoNode) {
			n += max(0, f.Replicas-w.struck(v, i, now))
		}
	}
	return n
}

// bad reports whether a fault is in force on a pod.
func (w *plant) bad(p *pod, now time.Duration) bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool {
		f := w.Faults[h.fault]
		return f.Active(now) && (f.Kind != fault.NoNode || p.placed > now)
	})
}

// refresh updates the state of a pod to an instant.
func (w *plant) refresh(p *pod, now time.Duration) {
	runs, ready := w.health(p, now)
	if ready && !p.ready {
		p.readyAt = now
		if now-p.up < w.Tick {
			p.readyAt = p.up
		}
	}
	p.ready, p.runs = ready, runs
	p.stalls = ready && w.has(p, fault.Stall, now)
	switch {
	case !runs:
		p.scraped, p.usage, p.queue = false, [kept]float64{}, [kept]float64{}
	case !w.has(p, fault.Silent, now) && (!ready || now-p.readyAt >= scrape):
		p.scrapedAt, p.scraped = now, true
	}
}

// health returns whether the engine of a pod runs, and whether the pod is Ready.
func (w *plant) health(p *pod, now time.Duration) (runs, ready bool) {
	runs, ready = p.up <= now, true
	for _, h := range p.hits {
		f := w.Faults[h.fault]
		if !f.Active(now) {
			continue
		}
		switch {
		case f.Kind == fault.Crash && f.Period == 0:
			runs = false
		case f.Kind == fault.Crash:
			runs = runs && (now < h.since || f.Up(h.since, now))
		case f.Kind == fault.Flap:
			ready = ready && (now < h.since || f.Up(h.since, now))
		}
	}
	return runs, ready && runs
}

// has reports whether a fault of a kind is in force on a pod.
func (w *plant) has(p *pod, k fault.Kind, now time.Duration) bool {
	return slices.ContainsFunc(p.hits, func(h hit) bool { return w.Faults[h.fault].Kind == k && w.Faults[h.fault].Active(now) })
}

// befall applies the begins and ends of faults since the last tick.
func (w *plant) befall(now time.Duration) {
	for i, f := range w.Faults {
		began, ended := f.At <= now && f.At > w.last, f.End() <= now && f.End() > w.last
		for _, v := range w.variants {
			if !f.Concerns(v.Spec.Key) {
				continue
			}
			switch {
			case f.Kind.PerPod() && f.Kind != fault.NoNode:
				w.strike(v, i, began, ended)
			case f.Kind == fault.Deleted && began:
				v.deleted, v.pods, v.backlog = true, nil, 0
			case f.Kind == fault.Deleted && ended:
				v.deleted = false
				for range f.Back() {
					w.add(v, now)
				}
			case f.Kind == fault.Rollout && f.At <= now:
				w.roll(v, f, now)
			}
		}
	}
}

// strike puts a fault that begins on existing pods, and starts the crashed pods of a fault that
// ends.
func (w *plant) strike(v *variant, i int, began, ended bool) {
	f := w.Faults[i]
	for _, p := range v.pods {
		switch {
		case began && !p.hitBy(i) && w.struck(v, i, f.At) < f.Most():
			one := hit{fault: i, since: max(f.At, p.up)}
			if f.Kind == fault.Flap {
				one.since += w.phase(f)
			}
			p.hits = append(p.hits, one)
		case ended && p.hitBy(i) && f.Kind == fault.Crash:
			p.up = max(p.up, f.End()+v.StartUp)
		}
	}
}

// roll replaces the pods of the waves of a rollout that have begun since the last tick.
func (w *plant) roll(v *variant, f fault.Fault, now time.Duration) {
	waves, each := f.Waves()
	for k := range waves {
		if at := f.At + time.Duration(k)*each; at > now || at <= w.last {
			continue
		}
		// New pods come last, so that the remaining old ones stay in front.
		n := len(v.pods)*(k+1)/waves - len(v.pods)*k/waves
		v.pods = slices.Delete(v.pods, 0, n)
		for range n {
			p := w.add(v, now)
			p.up = max(p.up, now+each)
		}
	}
}

// scale brings a variant to so many replicas, as a ReplicaSet does: pods without a node go first,
// then those that are not Ready, then the youngest.
func (w *plant) scale(v *variant, to scaling.Replicas, now time.Duration) {
	for scaling.Replicas(len(v.pods)) < to {
		w.add(v, now)
	}
	for scaling.Replicas(len(v.pods)) > to {
		worst := 0
		for i, p := range v.pods {
			if p.rank(now) <= v.pods[worst].rank(now) {
				worst = i
			}
		}
		v.pods = slices.Delete(v.pods, worst, worst+1)
	}
}

// rank orders pods by which goes first.
func (p *pod) rank(now time.Duration) int {
	switch {
	case p.placed > now:
		return 0
	case !p.ready:
		return 1
	}
	return 2
}
