package promql

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/prometheus/prometheus/model/labels"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// rank is what one data-parallel rank of a pod of a role shows. Counts are of one scrape interval.
type rank struct {
	running, waiting, usage       float64
	started, starting             float64 // first tokens, and seconds until them
	generated, decoding           float64 // further tokens, and seconds between them
	finished, input, outputTokens float64
}

// roleInterval and roleScrapes are how the pods of roles are scraped.
const (
	roleInterval = 15 * time.Second
	roleScrapes  = 40
)

// rolePods are a prefill pod and a decode pod of two ranks. In an interval prefill starts 30 requests
// of 1000 tokens after 0.4 s, and decode those and 30 more after 0.1 s, with 50 further tokens each at
// 20 ms. Two and nine requests wait in the ranks of decode.
func rolePods() map[string][]rank {
	decode := func(waiting, usage float64) rank {
		return rank{running: 4, waiting: waiting, usage: usage, started: 30, starting: 3, generated: 1500, decoding: 30, finished: 30, input: 30000, outputTokens: 1530}
	}
	return map[string][]rank{
		"p-0": {{running: 1, usage: 0.2, started: 30, starting: 12, finished: 30, input: 30000, outputTokens: 30}},
		"d-0": {decode(2, 0.3), decode(9, 0.6)},
	}
}

// rolePage is the page of a pod after n intervals.
func rolePage(ranks []rank, n int) []byte {
	var page bytes.Buffer
	for i, r := range ranks {
		for _, s := range []struct {
			name string
			v    float64
		}{
			{"vllm:num_requests_running", r.running},
			{"vllm:num_requests_waiting", r.waiting},
			{"vllm:kv_cache_usage_perc", r.usage},
			{"vllm:time_to_first_token_seconds_count", r.started * float64(n)},
			{"vllm:time_to_first_token_seconds_sum", r.starting * float64(n)},
			{"vllm:inter_token_latency_seconds_count", r.generated * float64(n)},
			{"vllm:inter_token_latency_seconds_sum", r.decoding * float64(n)},
			{"vllm:request_prompt_tokens_count", r.finished * float64(n)},
			{"vllm:request_prompt_tokens_sum", r.input * float64(n)},
			{"vllm:request_generation_tokens_count", r.finished * float64(n)},
			{"vllm:request_generation_tokens_sum", r.outputTokens * float64(n)},
			{"vllm:generation_tokens_total", r.outputTokens * float64(n)},
			{"vllm:prompt_tokens_total", r.input * float64(n)},
		} {
			fmt.Fprintf(&page, "%s{model_name=\"m\",engine=\"%d\"} %g\n", s.name, i, s.v)
		}
		fmt.Fprintf(&page, "vllm:request_success_total{model_name=\"m\",engine=\"%d\",finished_reason=\"stop\"} %g\n", i, r.finished*float64(n))
		fmt.Fprintf(&page, "vllm:cache_config_info{engine=\"%d\",block_size=\"16\",num_gpu_blocks=\"%d\"} 1\n", i, 1000*len(ranks)) // each has the sum
	}
	return page.Bytes()
}

// roleFleet is what discovery says of the pods.
func roleFleet(at time.Time) scaling.Fleet {
	fleet := scaling.Fleet{At: at}
	for _, v := range []struct {
		name string
		role scaling.Role
	}{{"d", scaling.RoleDecode}, {"p", scaling.RolePrefill}} {
		key := scaling.VariantKey{Namespace: "a", Name: v.name}
		fleet.Variants = append(fleet.Variants, scaling.Variant{
			Key: key, Model: scaling.ModelKey{Namespace: "a", ID: "m"}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: v.name},
			Role: v.role, GPUsPerReplica: 1, Cost: 1, Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1},
		})
		fleet.Pods = append(fleet.Pods, scaling.Pod{Namespace: "a", Name: v.name + "-0", Variant: key, Ready: true})
	}
	return fleet
}

// stored is a source that asks a store by PromQL.
type stored struct {
	*store.Store
	now time.Time
}

func (s stored) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	if request.At.IsZero() {
		request.At = s.now
	}
	rows, err := answer(ctx, s.Store, request)
	return query.Answer{At: request.At, Rows: rows}, err
}

// rolePages answers scrapes of the pods, each with its next page.
type rolePages struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *rolePages) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod, _, _ := strings.Cut(request.URL.Host, ".")
	body := rolePage(rolePods()[pod], r.n[pod])
	r.n[pod]++
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: request, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

// TestBothBackendsSeeTheSameRolesAndRanks collects one Snapshot of the pages from a store and from the
// pods.
func TestBothBackendsSeeTheSameRolesAndRanks(t *testing.T) {
	fromStore := storedRoles(t)
	var fromPods scaling.Snapshot
	synctest.Test(t, func(t *testing.T) { fromPods = scrapedRoles(t) })

	same := []gocmp.Option{
		cmpopts.IgnoreFields(scaling.Snapshot{}, "At", "Backend"), cmpopts.IgnoreFields(scaling.ReplicaSample{}, "At"),
		cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty(),
	}
	if d := gocmp.Diff(fromStore, fromPods, same...); d != "" {
		t.Errorf("the snapshots differ (-store +pods):\n%s", d)
	}
	fresh := func(v float64) scaling.Reading { return scaling.Reading{Value: v, State: scaling.Fresh} }
	for _, s := range []scaling.Snapshot{fromStore, fromPods} {
		if len(s.Roles) != 2 || len(s.Replicas) != 2 {
			t.Fatalf("got %d roles and %d replicas, want two of each", len(s.Roles), len(s.Replicas))
		}
		decode, prefill, ranks := s.Roles[0].Load, s.Roles[1].Load, s.Replicas[0]
		got := []scaling.Reading{
			decode.ArrivalRate, decode.InputTokens, decode.OutputTokens, decode.TTFT, decode.ITL, decode.PrefixHits,
			prefill.ArrivalRate, prefill.OutputTokens, prefill.TTFT, s.Load.ArrivalRate, s.Load.TTFT,
			ranks.QueueLengthNow, ranks.KVCacheUsageNow, ranks.KVCapacity, ranks.Running,
		}
		want := []scaling.Reading{
			fresh(4), fresh(1000), fresh(51), fresh(100), fresh(20), fresh(0.5),
			fresh(2), fresh(1), fresh(400), fresh(4), fresh(500),
			fresh(11), fresh(0.6), fresh(32000), fresh(8),
		}
		if d := gocmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9)); d != "" {
			t.Errorf("backend %s: decode, prefill, model, ranks (-want +got):\n%s", s.Backend, d)
		}
	}
}

func storedRoles(t *testing.T) scaling.Snapshot {
	t.Helper()
	s := newShared(t)
	begin, last := s.next(), time.Time{}
	for pod, ranks := range rolePods() {
		target := s.Target(labels.FromStrings("namespace", "a", "pod", pod, "job", "pods"))
		for n := range roleScrapes {
			last = begin.Add(time.Duration(n) * roleInterval)
			if err := target.Scrape(t.Context(), last, rolePage(ranks, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := collector.New(stored{s.Store, last}, testingclock.NewFakePassiveClock(last), collector.Options{Backend: scaling.BackendPrometheus})
	return c.Collect(t.Context(), roleFleet(last))[0]
}

func scrapedRoles(t *testing.T) scaling.Snapshot {
	t.Helper()
	source := scrape.New(clock.RealClock{}, scrape.Options{
		Name: "pods", Interval: roleInterval, Client: &http.Client{Transport: &rolePages{n: map[string]int{}}},
		Pods: func(context.Context) (targets []scrape.Target, _ error) {
			for pod := range rolePods() {
				targets = append(targets, scrape.Target{Namespace: "a", Pod: pod, Model: "m", URL: "http://" + pod + ".pods/metrics"})
			}
			return targets, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := source.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(roleScrapes * roleInterval)
	synctest.Wait()
	snap := collector.New(source, clock.RealClock{}, collector.Options{Backend: scaling.BackendPods}).Collect(ctx, roleFleet(time.Now()))[0]
	cancel()
	running.Wait()
	return snap
}
