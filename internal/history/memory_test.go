package history

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// turn makes the next cycle in the memory of c, as far as it can: so a benchmark and a measurement of memory are of
// what the history takes.
func (p *plant) turn(c *Cycle, after time.Duration) {
	p.n++
	p.at = p.at.Add(after)
	c.Now, c.Cycle.Cycle = p.at, scaling.CycleID(fmt.Sprintf("plant-%d", p.n))
	for i := range c.Snapshots {
		s := &c.Snapshots[i]
		s.Load.ArrivalRate.Value, s.Load.TTFT.Value, s.Load.ITL.Value = 10*p.random.Float64(), 300*p.random.Float64(), 20*p.random.Float64()
		s.Load.GatewayQueue = scaling.Measured(float64(p.random.IntN(3)), scaling.Fresh)
		c.Analyses[i].Demand = p.random.Float64()
		d := &c.Plan.Decisions[i]
		c.History[d.Variant] = memory.Past{Desired: d.Target()}
		if p.random.Float64() < p.change {
			to := max(1, d.Target()+1-2*scaling.Replicas(p.random.IntN(2)))
			*d = scaling.Decision{Variant: d.Variant, Model: d.Model, Current: to}.Then(scaling.StageOptimize, to, scaling.ReasonDemand,
				fmt.Sprintf("the demand of %.3g requests/s exceeds what %d replicas serve within TTFT 500 ms", 10*p.random.Float64(), to))
		}
	}
}

// parts returns what keeps the part of a cycle, with a history and samples of a usual length.
func (p *plant) parts(c *Cycle) func(scaling.ModelKey) record.Cycle {
	at := map[scaling.ModelKey]int{}
	for i := range c.Snapshots {
		at[c.Snapshots[i].Model] = i
	}
	return func(m scaling.ModelKey) record.Cycle {
		out := c.Cycle
		i := at[m]
		out.Configuration = map[scaling.ModelKey]settings.Model{m: c.Configuration[m]}
		out.Snapshots = c.Snapshots[i : i+1]
		out.History, out.Plan = memory.History{}, &scaling.Plan{At: c.Now}
		for _, v := range c.Snapshots[i].Variants {
			out.History[v.Key] = c.History[v.Key]
			out.Plan.Decisions = append(out.Plan.Decisions, *decisionOf(c.Plan, v.Key))
		}
		return out
	}
}

// podsOf returns the pods of the samples of a cycle.
func podsOf(c Cycle) []scaling.Pod {
	var out []scaling.Pod
	for i := range c.Snapshots {
		for _, r := range c.Snapshots[i].Replicas {
			out = append(out, scaling.Pod{Namespace: r.Variant.Namespace, Name: r.Pod, Variant: r.Variant, Ready: true, Created: start, ReadyAt: start})
		}
	}
	return out
}

// cpu returns the time that the process took of a processor.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestADayOfAThousandVariantsFits20MB adds a day of cycles, one in three minutes: with more, points are thinned more.
func TestADayOfAThousandVariantsFits20MB(t *testing.T) {
	p := newPlant(1000, 1)
	c := p.next()
	c.Pods = podsOf(c)
	p.change = 0.02
	before := heap()
	h := New(Options{})
	for range 24 * 20 {
		c.Pods = slices.Clone(c.Pods)
		for range 50 { // of 2,000 pods so many are replaced in each cycle
			pod := &c.Pods[p.random.IntN(len(c.Pods))]
			pod.Name, pod.Created = fmt.Sprintf("%s-%08d", pod.Variant.Name, p.random.Uint32()), p.at
		}
		p.turn(&c, 3*time.Minute)
		h.Add(c)
		for i := range 20 { // records as long as that of a model with ten replicas
			h.parts.add(modelKey(i).Namespace, h.now, partBytes+2000, part{cycle: c.Cycle.Cycle, model: modelKey(i), text: make([]byte, 2000)})
		}
	}
	grown := heap() - before
	if grown > 20_000_000 {
		t.Errorf("the memory grew by %d bytes, want 20 MB at most", grown)
	}
	if of, most := h.table.size(), seriesBytes; of > most {
		t.Errorf("series take %d bytes, want %d at most", of, most)
	}
	for name, of := range map[string][2]int{
		"decisions": {h.changes.bytes, h.changes.most}, "records": {h.parts.bytes, h.parts.most}, "ended replicas": {h.ended.bytes, h.ended.most},
	} {
		if of[0] > of[1] || of[0] < of[1]/2 {
			t.Errorf("%s count %d bytes, want about %d", name, of[0], of[1])
		}
	}
	t.Logf("the memory grew by %.1f MB: series %.1f, decisions %.1f, records %.1f (%d), replicas that ended %.1f, %d that live", float64(grown)/1e6,
		float64(h.table.size())/1e6, float64(h.changes.bytes)/1e6, float64(h.parts.bytes)/1e6, countOf(&h.parts), float64(h.ended.bytes)/1e6, len(h.living))
	got, _ := h.Model(modelKey(7), time.Time{}, time.Time{}, MostPoints)
	if span := got.T[len(got.T)-1].Sub(got.T[0].Time); span < 23*time.Hour {
		t.Errorf("the history of a model reaches back %s, want a day", span)
	}
	runtime.KeepAlive(h)
}

func countOf[T any](s *bounded[T]) int {
	n := 0
	for _, q := range s.by {
		n += len(q.held)
	}
	return n
}

// TestAHundredVariantsKeepADayInDetail says how coarse the day of a smaller fleet is.
func TestAHundredVariantsKeepADayInDetail(t *testing.T) {
	p := newPlant(100, 1)
	c := p.next()
	h := New(Options{})
	for range 24 * 60 {
		p.turn(&c, time.Minute)
		h.Add(c)
	}
	got, _ := h.Model(modelKey(7), time.Time{}, time.Time{}, MostPoints)
	if got.Step > (10 * time.Minute).Seconds() {
		t.Errorf("a pair of rows stands for %g s, want 10 minutes at most", got.Step)
	}
	if last, _ := h.Model(modelKey(7), p.at.Add(-3*time.Hour), time.Time{}, 0); last.Step != 0 {
		t.Errorf("the last three hours have pairs of rows for %g s, want each cycle", last.Step)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, models := range []int{100, 1000} {
		b.Run(fmt.Sprintf("variants=%d", models), func(b *testing.B) {
			p := newPlant(models, 1)
			for i := range p.replicas {
				p.replicas[i] = 10
			}
			c := p.next()
			c.Part, c.Pods = p.parts(&c), podsOf(c)
			h := New(Options{Later: true})
			for range 500 { // until points are thinned
				p.turn(&c, time.Minute)
				h.Add(c)
			}
			b.ReportAllocs()
			took := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				p.turn(&c, time.Minute)
				b.StartTimer()
				began := cpu(b)
				h.Add(c)
				took += cpu(b) - began
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

func BenchmarkFleet(b *testing.B) {
	p := newPlant(1000, 1)
	h := New(Options{})
	h.Add(p.next())
	b.ReportAllocs()
	for b.Loop() {
		if len(h.Fleet(all).Models) != 1000 {
			b.Fatal("models are missing")
		}
	}
}

func BenchmarkModel(b *testing.B) {
	p := newPlant(100, 1)
	c := p.next()
	h := New(Options{})
	for range 24 * 60 {
		p.turn(&c, time.Minute)
		h.Add(c)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := h.Model(modelKey(1), time.Time{}, time.Time{}, 600); len(got.T) == 0 {
			b.Fatal("no rows")
		}
	}
}
