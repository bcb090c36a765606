package promql

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/prometheus/model/labels"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/page"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// TestScrapedPagesAnswerAsPrometheusDoes lets random fleets live for some
// minutes, with restarts and pages that do not answer, while the scraping backend
// looks at them. Prometheus is then given the very pages at the very times, and
// asked the same questions.
func TestScrapedPagesAnswerAsPrometheusDoes(t *testing.T) {
	s := newShared(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(rand.New(rand.NewPCG(seed, 1)))
			synctest.Test(t, func(t *testing.T) { w.live(t, rand.New(rand.NewPCG(seed, 2))) })
			begin := s.next()
			w.replay(t, s.Store, begin)
			compared := 0
			for _, a := range w.answers {
				compared += len(a.answer.Rows)
				a.compare(t, w, s.Store, begin)
			}
			if compared < 100*len(query.Questions()) {
				t.Errorf("compared %d rows only", compared)
			}
		})
	}
}

// world is a fleet that the scraping backend looks at.
type world struct {
	interval time.Duration

	agents  map[string]*agent // by the host of their URL
	began   time.Time
	answers []answered

	mu      sync.Mutex
	scrapes []scraped
}

// agent is what answers at one URL: a pod or a picker.
type agent struct {
	namespace, name string
	pod             *page.Pod // nil for a picker
	picker          *page.Picker
	hangs           bool // it holds requests and does nothing

	random *rand.Rand // of what happens to it; its own, because scrapes race
}

// scraped is a page that was scraped, nil where there was no answer.
type scraped struct {
	agent *agent
	after time.Duration // since the world began
	page  []byte
}

// answered is what the scraping backend said.
type answered struct {
	request query.Request
	after   time.Duration
	answer  query.Answer
}

// newWorld draws a fleet: two namespaces with the same models, a picker and four
// pods in each. Of ten targets, scrapes lie on whole milliseconds.
func newWorld(r *rand.Rand) *world {
	w := &world{agents: map[string]*agent{}, interval: []time.Duration{5 * time.Second, 10 * time.Second, 15 * time.Second}[r.IntN(3)]}
	for _, namespace := range []string{"a", "b"} {
		picker := &page.Picker{Twins: r.IntN(2) == 0, Pool: "pool"}
		for i := range 4 {
			engine, version, ranks := query.Engines()[r.IntN(2)], page.Version(r.IntN(3)), 1+r.IntN(2)
			if version == page.Oldest {
				ranks = 1 // nothing would tell them apart
			}
			pod := page.NewPod(engine, version, fmt.Sprintf(`org/"%s-%d"`, engine, r.IntN(2)), ranks)
			name := fmt.Sprintf("p-%d", i)
			w.agents[name+"."+namespace] = &agent{namespace: namespace, name: name, pod: pod, hangs: r.IntN(4) == 0, random: fork(r)}
			picker.Flows = append(picker.Flows, &page.Flow{Model: fmt.Sprintf("alias-%d", i), Target: pod.Model})
		}
		w.agents["epp."+namespace] = &agent{namespace: namespace, name: "epp", picker: picker, random: fork(r)}
	}
	return w
}

// fork returns a source of its own, drawn from r.
func fork(r *rand.Rand) *rand.Rand { return rand.New(rand.NewPCG(r.Uint64(), r.Uint64())) }

// live runs the backend over the fleet and asks it at random times, in virtual
// time.
func (w *world) live(t *testing.T, when *rand.Rand) {
	t.Helper()
	w.began = time.Now()
	source := scrape.New(clock.RealClock{}, scrape.Options{
		Name: "pods", Interval: w.interval, Client: &http.Client{Transport: w},
		Pods:    w.targets(func(a *agent) bool { return a.pod != nil }),
		Pickers: w.targets(func(a *agent) bool { return a.picker != nil }),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := source.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(6 * time.Minute)
	for range 10 {
		time.Sleep(time.Duration(when.IntN(30_000)) * time.Millisecond)
		synctest.Wait()
		request := query.Request{At: time.Now(), Window: max(time.Minute, 4*w.interval), Span: 5 * time.Minute}
		for _, a := range w.agents {
			if a.pod != nil {
				request.Models = append(request.Models, a.pod.Model)
			}
		}
		request.Aged, request.Whole = when.IntN(2) == 0, when.IntN(2) == 0
		if when.IntN(2) == 0 {
			request.Pods = []string{"p-0", "p-3"}
		}
		for _, request.Ask = range query.Questions() {
			answer, err := source.Ask(ctx, request)
			if err != nil {
				t.Errorf("asking %s: %v", request.Ask, err)
			}
			w.answers = append(w.answers, answered{request, time.Since(w.began), answer})
		}
	}
	cancel()
	running.Wait()
}

func (w *world) targets(of func(*agent) bool) scrape.Targets {
	return func(context.Context) ([]scrape.Target, error) {
		var targets []scrape.Target
		for host, a := range w.agents {
			if of(a) {
				targets = append(targets, scrape.Target{Namespace: a.namespace, Pod: a.name, URL: "http://" + host + "/metrics"})
			}
		}
		return targets, nil
	}
}

// RoundTrip answers a scrape and remembers it. Now and then a page does not
// answer.
func (w *world) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.agents[request.URL.Host]
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/plain; version=0.0.4"}}, Request: request}
	seen := scraped{agent: a, after: time.Since(w.began)}
	if a.random.IntN(25) == 0 {
		response.StatusCode = http.StatusServiceUnavailable
	} else {
		seen.page = a.next(a.random)
	}
	w.scrapes = append(w.scrapes, seen)
	response.Body = io.NopCloser(bytes.NewReader(seen.page))
	return response, nil
}

// next returns the next page, after something happened or nothing did.
func (a *agent) next(r *rand.Rand) []byte {
	if a.picker != nil {
		for _, f := range a.picker.Flows {
			f.Queue = float64(r.IntN(4))
			f.Sent += float64(r.IntN(20))
			f.Refused += float64(r.IntN(3))
			f.Bad += float64(r.IntN(3))
		}
		return a.picker.Page()
	}
	if r.IntN(40) == 0 && !a.hangs {
		a.pod.Restart()
	}
	for _, rank := range a.pod.Ranks {
		if a.hangs {
			rank.Running, rank.Waiting, rank.Usage = 2, float64(len(a.pod.Ranks)-1), 0.5
			continue
		}
		rank.Running, rank.Waiting, rank.Usage = float64(r.IntN(30)), float64(r.IntN(5)), r.Float64()
		rank.End(page.Request{
			Input: float64(1 + r.IntN(2000)), Output: float64(1 + r.IntN(500)), Cached: float64(r.IntN(100)),
			TTFT: r.ExpFloat64() / 5, ITL: r.ExpFloat64() / 50, Reason: []string{"stop", "length", "abort"}[r.IntN(3)], Unstreamed: r.IntN(3) == 0,
		}, float64(r.IntN(10)))
	}
	return a.pod.Page()
}

// replay scrapes the pages into a store, the world beginning at an instant.
func (w *world) replay(t *testing.T, into *store.Store, begin time.Time) {
	t.Helper()
	targets := map[*agent]*store.Target{}
	for _, a := range w.agents {
		targets[a] = into.Target(labels.FromStrings("namespace", a.namespace, "pod", a.name, "job", "pods"))
	}
	slices.SortStableFunc(w.scrapes, func(a, b scraped) int { return cmp.Compare(a.after, b.after) })
	for _, s := range w.scrapes {
		at, err := begin.Add(s.after), error(nil)
		if s.page == nil {
			err = targets[s.agent].Fail(t.Context(), at)
		} else {
			err = targets[s.agent].Scrape(t.Context(), at, s.page)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// compare asks Prometheus the same. A row that says what another says is one with
// it: ranks repeat the size of the pod's cache.
func (a answered) compare(t *testing.T, w *world, s *store.Store, begin time.Time) {
	t.Helper()
	a.request.At = begin.Add(a.after)
	want := slices.Compact(sorted(rows(t, s, a.request, begin)))
	want = slices.DeleteFunc(want, func(row query.Row) bool { return row.Quantity == query.Resets }) // a pod that is scraped itself is one pod
	got := slices.Clone(a.answer.Rows)
	for i := range got {
		if got[i].Quantity.Unit() == query.UnixSeconds {
			got[i].Value -= float64(w.began.UnixMilli()) / 1000
		}
	}
	got = slices.DeleteFunc(slices.Compact(sorted(got)), func(row query.Row) bool { return w.blinked(a, row) && !slices.Contains(want, row) })
	if a.request.Ask == query.AskRecent && a.request.Whole { // a store leaves out what was not quiet throughout
		got = slices.DeleteFunc(got, func(row query.Row) bool {
			return !slices.ContainsFunc(want, func(o query.Row) bool { return o.Namespace == row.Namespace && o.Model == row.Model })
		})
	}
	for i := range min(len(want), len(got)) {
		if math.Abs(want[i].Value-got[i].Value) <= w.tolerance(a, want[i]) {
			got[i].Value = want[i].Value
		}
	}
	if d := diff(want, got); d != "" {
		t.Errorf("%s after %v, every %v (-Prometheus +scraped):\n%s", a.request.Ask, a.after, w.interval, d)
	}
}

// tolerance returns by how much the value of a row may differ by nature: a
// subquery looks at multiples of 30s, and sees nothing at those after a scrape
// that failed; an interval is counted there, with one scrape more or less at the
// ends and without those that failed, and known here; the end of what shows a
// request is seen as late as a look covers. 0 stands for equal.
func (w *world) tolerance(a answered, row query.Row) float64 {
	switch {
	case a.request.Ask == query.AskEarlierPages, row.Quantity == query.GatewaySeen:
		return 90
	case row.Quantity == query.ScrapeInterval:
		scrapes := query.ScrapeSpan.Seconds() / w.interval.Seconds()
		return w.interval.Seconds() * (scrapes/(scrapes-1-float64(w.failed(a, row.Namespace))) - 1)
	case row.Quantity == query.NoRequestSince:
		return (a.request.Window + 2*query.IdleStep(a.request.Span) + w.interval).Seconds()
	default:
		return 0
	}
}

// failed returns how many scrapes of one pod of a namespace failed at most within
// what an interval is counted over.
func (w *world) failed(a answered, namespace string) int {
	most, of := 0, map[*agent]int{}
	for _, s := range w.scrapes {
		if s.page == nil && s.agent.namespace == namespace && s.after <= a.after && s.after > a.after-2*query.ScrapeSpan {
			of[s.agent]++
			most = max(most, of[s.agent])
		}
	}
	return most
}

// blinked reports whether a row is of a pod that is stuck and whose scrape at the
// beginning of the span of quiet failed: Prometheus then does not know that the
// pod was there.
func (w *world) blinked(a answered, row query.Row) bool {
	if row.Quantity != query.Stuck {
		return false
	}
	since := a.after - query.StuckSpan(a.request.Window)
	return slices.ContainsFunc(w.scrapes, func(s scraped) bool {
		return s.page == nil && s.agent.namespace == row.Namespace && s.agent.name == row.Pod && s.after <= since && s.after > since-w.interval
	})
}
