package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/faulty"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
)

// TestAPartialAnswerCountsNoModelAsIdle: one store of a querier does not answer, so that
// rows of one pod are missing, and the answer has a warning and is a success.
func TestAPartialAnswerCountsNoModelAsIdle(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.proxy.Break(faulty.Partial(l.pods[2].name))
		got := l.decide()
		got.want(t, "rows of one pod of four are missing", max(right, least))
		l.proxy.Break(nil)
		l.recovers(right)
	})
}

// TestEachRowTwiceIsCountedOnce: two Prometheus servers scrape the same pods and a
// querier does not remove what is double.
func TestEachRowTwiceIsCountedOnce(t *testing.T) {
	forBothLoads(t, options{Twice: true}, func(t *testing.T, l *loop, right scaling.Replicas) {
		got := l.decide()
		got.want(t, "each row comes twice", right)
		if rate, want := got.snapshot.Load.ArrivalRate, replicas*30/scrapes.Seconds(); rate.State == scaling.Fresh && rate.Value > 1.01*want {
			t.Errorf("requests arrive at %g/s, want %g: those of two servers are added up", rate.Value, want)
		}
	})
}

// TestPodsOfAnotherClusterAreNoReplicasAndAreNamed: a store for several clusters has
// pods of a namespace and a model of the same names elsewhere. The store adds their
// requests to the rates of the model, which may order too much and gives nothing up that
// is needed; the manager says so.
func TestPodsOfAnotherClusterAreNoReplicasAndAreNamed(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		for i := range 2 * replicas {
			p := &pod{Pod: page.NewPod(query.VLLM, page.Newest, model, 1), name: fmt.Sprintf("elsewhere-%d", i)}
			p.Ranks[0].Running, p.Ranks[0].Usage = 5, 0.05
			l.foreign = append(l.foreign, p)
		}
		l.scrapeInto(l.store)
		l.pass(10 * time.Minute)
		got := l.decide()
		if got.decision.Target() < right || len(got.snapshot.Replicas) != replicas {
			t.Errorf("%d replicas are decided and %d known, want %d or more and %d", got.decision.Target(), len(got.snapshot.Replicas), right, replicas)
		}
		if told := got.snapshot.Unjoined; !strings.Contains(told, "8 pods") || !strings.Contains(told, "elsewhere-0") {
			t.Errorf("it says %q, want that 8 pods such as elsewhere-0 are of none of its variants", told)
		}
		for _, p := range l.foreign {
			p.silent = true // the store answers for this cluster alone
		}
		l.pass(10 * time.Minute)
		if got = l.decide(); got.snapshot.Unjoined != "" {
			t.Errorf("it still says %q", got.snapshot.Unjoined)
		}
		got.want(t, "the others are gone", right)
	})
}
