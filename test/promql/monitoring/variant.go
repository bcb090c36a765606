package monitoring

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// variant is one variant of the fleet and the pods that serve it.
type variant struct {
	scaling.Variant

	hit        bool    // by the fault
	perReplica float64 // rate that a replica serves well [requests/s]
	base       float64 // mean arrival rate [requests/s]
	phase      time.Duration
	objective  scaling.Objective
	prefixes   []string // see Recording

	desired int
	pods    []*pod
	made    int
}

// pod is one serving pod.
type pod struct {
	*page.Pod
	targets []target
	name    string
	offset  time.Duration // from its scrape to the cycle
	scraped time.Time
	dark    bool // not scraped any more
}

// target stores the page of a pod for one job, under a prefix.
type target struct {
	prefix string
	*store.Target
}

// rate returns the arrival rate at a time since the beginning [requests/s]: a wave of four hours
// with ripples of a few minutes.
func (v *variant) rate(since time.Duration) float64 {
	turn := func(period time.Duration) float64 {
		return math.Sin(2 * math.Pi * (since + v.phase).Minutes() / period.Minutes())
	}
	return v.base * (1 + 0.55*turn(4*time.Hour) + 0.04*turn(17*time.Minute) + 0.02*turn(7*time.Minute))
}

// wanted returns the replicas that a calm autoscaler would decide: one more when they are full, one
// less when the others could carry the load with a margin.
func (v *variant) wanted(rate float64) int {
	n := float64(max(v.desired, 1))
	switch load := rate / v.perReplica; {
	case load > 0.9*n:
		return v.desired + 1
	case v.desired > 1 && load < 0.65*(n-1):
		return v.desired - 1
	default:
		return v.desired
	}
}

// counts returns the replicas that a cycle sees of the target.
func (v *variant) counts(fault Fault) scaling.ReplicaCounts {
	counts := scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(len(v.pods)), Ready: scaling.Replicas(len(v.pods))}
	if v.hit && fault.stuck() {
		counts.Current, counts.Pending = scaling.Replicas(v.desired), scaling.Replicas(v.desired-len(v.pods))
		if fault == Unplaced {
			counts.Unschedulable = counts.Pending
		}
	}
	return counts
}

// run gives the variant n pods.
func (v *variant) run(s *store.Store, n int) {
	for len(v.pods) < n {
		name := fmt.Sprintf("%s-%d", v.Key.Name, v.made)
		v.made++
		p := &pod{
			Pod:    page.NewPod(query.VLLM, page.Newest, v.Model.ID, 1),
			name:   name,
			offset: time.Duration(v.made*17%50) * time.Second,
		}
		prefixes := v.prefixes
		if len(prefixes) == 0 {
			prefixes = []string{query.DefaultPrefixes()[0]}
		}
		for i, prefix := range prefixes {
			job := "vllm"
			if i > 0 {
				job += "-" + prefix
			}
			p.targets = append(p.targets, target{prefix, s.Target(labels.FromStrings("namespace", v.Key.Namespace, "pod", name, "job", job, "instance", name+":8000"))})
		}
		v.pods = append(v.pods, p)
	}
	v.pods = v.pods[:n]
}

// serve lets the pods serve their share of rate for the time between two scrapes.
func (v *variant) serve(rate float64, during time.Duration, fault Fault) {
	each := rate / float64(max(len(v.pods), 1))
	u := each / v.perReplica // utilization
	waiting := math.Round(20 * max(0, u-0.8))
	if v.hit && fault.full() {
		u, waiting = 0.97, 9
	}
	share, ttft, itl := 0.0, 0.0, 0.0
	if v.hit {
		share, ttft, itl = fault.slow()
	}
	for i, p := range v.pods {
		rank := p.Ranks[0]
		rank.Running = math.Round(each * 8 * (1 + 0.03*float64(i)))
		rank.Waiting = waiting
		rank.Usage = min(0.98, 0.68*u*(1+0.04*float64(i)))
		if waiting > 5 {
			rank.Usage = 0.97
		}
		n := each * during.Seconds()
		usual := page.Request{Input: 820, Output: 190, TTFT: 0.14 + 0.2*math.Pow(u, 4), ITL: 0.021 + 0.011*u, Reason: "stop"}
		long := usual
		long.TTFT, long.ITL, long.Input = usual.TTFT*2.3, usual.ITL*1.5, 2600
		rank.End(usual, n*(1-share)*0.85)
		rank.End(long, n*(1-share)*0.15)
		late := usual
		late.TTFT, late.ITL = max(ttft, usual.TTFT), max(itl, usual.ITL)
		rank.End(late, n*share)
	}
}
