package loop

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
)

// behind stores the pods as a job does that scrapes the address of their Service, with these
// labels beside the pod's own or in their place: each scrape reaches any of the pods.
func (l *loop) behind(named bool) {
	l.t.Helper()
	r := rand.New(rand.NewPCG(5, 8))
	l.reached = func(*pod) *pod { return l.pods[r.IntN(len(l.pods))] }
	for i, p := range l.pods {
		of := []string{"namespace", namespace, "job", "service", "instance", "model:8000"}
		if named {
			of = append(of, "pod", p.name)
		}
		if p.target = l.store.Target(labels.FromStrings(of...)); !named && i > 0 {
			p.target = nil // the address is one target
		}
		// Each has generated so much more than the one before, as pods of different ages have.
		p.Ranks[0].Generate(float64(100_000 * i))
	}
}

// TestPodsBehindOneAddressGiveNothingUp: scrapes of one address reach another pod each time. Its
// readings are those of some pod, which grow the model and do not shrink it. The arrival rate is not
// known. Once every pod is scraped by itself the loop decides as before.
func TestPodsBehindOneAddressGiveNothingUp(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.behind(true)
		l.pass(10 * time.Minute)
		for range 4 {
			l.pass(cycles)
			got := l.decide()
			got.want(t, "scrapes reach any pod", max(right, replicas))
			if by := shrinking(got.snapshot.At, []scaling.Snapshot{got.snapshot}); len(by) > 0 {
				t.Errorf("engines %v give replicas up", by)
			}
			for _, r := range got.snapshot.Replicas {
				if !r.Partial || r.KVCacheUsage.State != scaling.Aging || r.Pace != (scaling.Pace{}) {
					t.Errorf("%s is %+v, want readings that are partial and Aging, and no pace", r.Pod, r)
				}
			}
			if rate := got.snapshot.Load.ArrivalRate; rate.Known() {
				t.Errorf("requests arrive at %v/s, want that to be unknown", rate)
			}
			told := explain.MetricsAging(explain.Explanation{Variant: got.snapshot.Variants[0], Snapshot: got.snapshot})
			for _, want := range []string{`instance="model:8000"`, `job="service"`, "PodMonitor", "headless Service", "may still grow"} {
				if !strings.Contains(told, want) {
					t.Errorf("the condition says %q, want a word of %s", told, want)
				}
			}
		}
		l.reached = nil
		l.scrapeInto(l.store) // a PodMonitor
		l.pass(6 * time.Minute)
		got := l.decide()
		got.want(t, "every pod is scraped by itself", right)
		if by := shrinking(got.snapshot.At, []scaling.Snapshot{got.snapshot}); (len(by) == 3) != (right < replicas) {
			t.Errorf("engines %v give replicas up", by)
		}
		if got.snapshot.Partial != "" {
			t.Errorf("it still says %q", got.snapshot.Partial)
		}
	})
}

// TestPodsBehindOneAddressWithoutAPodAreNamed: the series have no label pod, so no replica has
// readings. The condition says what is wrong beside that.
func TestPodsBehindOneAddressWithoutAPodAreNamed(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, _ scaling.Replicas) {
		before := make([]*pod, len(l.pods))
		for i, p := range l.pods {
			saved := *p
			before[i] = &saved
		}
		l.behind(false)
		for _, p := range before { // the scrapes of the pods themselves end
			if err := p.target.Fail(t.Context(), l.now.Now().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		l.pass(20 * time.Minute)
		got := l.decide()
		got.want(t, "no series names a pod", replicas)
		told := explain.MetricsMissing(explain.Explanation{Variant: got.snapshot.Variants[0], Snapshot: got.snapshot})
		for _, want := range []string{`{job="service",instance="model:8000"} falls again and again`, "PodMonitor", "headless Service", "label pod"} {
			if !strings.Contains(told, want) {
				t.Errorf("the condition says %q, want a word of %s", told, want)
			}
		}
	})
}

// TestBusyPodsInStepBehindOneAddressGiveNothingUp: the pods began within seconds and have generated as many tokens, so
// that the counter of the address never falls. It is that of another process at every second scrape or so.
func TestBusyPodsInStepBehindOneAddressGiveNothingUp(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.behind(true)
		for i, p := range l.pods {
			p.Ranks[0].Generate(float64(-100_000 * i)) // as many as the first
			p.Began += float64(i)
		}
		l.pass(10 * time.Minute)
		got := l.decide()
		got.want(t, "scrapes reach any pod", max(right, replicas))
		if by := shrinking(got.snapshot.At, []scaling.Snapshot{got.snapshot}); len(by) > 0 {
			t.Errorf("engines %v give replicas up", by)
		}
		for _, r := range got.snapshot.Replicas {
			if !r.Partial {
				t.Errorf("%s is %+v, want readings that are partial", r.Pod, r)
			}
		}
		told := explain.MetricsAging(explain.Explanation{Variant: got.snapshot.Variants[0], Snapshot: got.snapshot})
		if !strings.Contains(told, "changes its process") {
			t.Errorf("the condition says %q, want a word of processes", told)
		}
	})
}

// TestAServiceThatIsScrapedBesideThePodsSpoilsRatesAlone: every pod has readings of its own, and
// the store adds the series of the Service to the rates of the model.
func TestAServiceThatIsScrapedBesideThePodsSpoilsRatesAlone(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		r := rand.New(rand.NewPCG(5, 8))
		for i, p := range l.pods {
			p.Ranks[0].Generate(float64(100_000 * i))
		}
		service := l.store.Target(labels.FromStrings("namespace", namespace, "job", "service", "instance", "model:8000"))
		for range 40 {
			l.pass(scrapes)
			if err := service.Scrape(t.Context(), l.now.Now(), l.pods[r.IntN(replicas)].Page()); err != nil {
				t.Fatal(err)
			}
		}
		got := l.decide()
		got.want(t, "a Service is scraped beside the pods", right)
		if rate := got.snapshot.Load.ArrivalRate; rate.Known() || got.snapshot.Replicas[0].Partial {
			t.Errorf("requests arrive at %v/s and %+v, want an unknown rate and replicas with readings of their own", rate, got.snapshot.Replicas[0])
		}
		if told := explain.MetricsFound(explain.Explanation{Snapshot: got.snapshot}); !strings.Contains(told, `instance="model:8000"`) {
			t.Errorf("the condition says %q, want a word of the Service", told)
		}
	})
}

// TestAPodThatRestartsTwiceIsOnePod is the other side: it serves, restarts, serves and restarts.
func TestAPodThatRestartsTwiceIsOnePod(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		for range 2 {
			kept := *l.pods[0].Ranks[0]
			l.pods[0].Restart()
			l.pods[0].Ranks[0].Running, l.pods[0].Ranks[0].Usage, l.pods[0].Ranks[0].Waiting = kept.Running, kept.Usage, kept.Waiting
			l.pass(90 * time.Second)
		}
		got := l.decide()
		got.want(t, "a pod restarted twice", right)
		if got.snapshot.Partial != "" || got.snapshot.Replicas[0].Partial {
			t.Errorf("it says %q", got.snapshot.Partial)
		}
	})
}
