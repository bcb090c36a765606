package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// serving answers each path with a page.
func serving(t *testing.T, pages map[string]http.HandlerFunc) (list func(pods ...string) Targets) {
	t.Helper()
	mux := http.NewServeMux()
	for path, handler := range pages {
		mux.HandleFunc("/"+path, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return func(pods ...string) Targets {
		return func(context.Context) ([]Target, error) {
			var targets []Target
			for _, pod := range pods {
				targets = append(targets, Target{Namespace: "llm", Pod: pod, Model: "m", URL: server.URL + "/" + pod})
			}
			return targets, nil
		}
	}
}

func text(page string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }
}

// scraping runs a source until the test ends.
func scraping(t *testing.T, options Options) (*Source, *clocktesting.FakeClock) {
	t.Helper()
	clk := clocktesting.NewFakeClock(noon)
	s := New(clk, options)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s, clk
}

// ask asks now, and waits for the first round.
func ask(t *testing.T, s *Source, q query.Question) ([]query.Row, error) {
	t.Helper()
	answer, err := s.Ask(t.Context(), query.Request{Ask: q, Window: time.Minute})
	return answer.Rows, err
}

func TestOnePodThatFailsLeavesTheOthersAlone(t *testing.T) {
	good := vllmPage(1, 0, 0.1, 5)
	for name, bad := range map[string]http.HandlerFunc{
		"an error":               func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "loading", http.StatusServiceUnavailable) },
		"garbage":                text("vllm:num_requests_running{model_name=\"m\" 1\n"),
		"a page without end":     text(strings.Repeat("vllm:num_requests_running 1\n", 1000)),
		"a line without end":     text(strings.Repeat("x", 10_000)),
		"a page of other things": text("go_goroutines 12\n"),
		"no answer in time":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			list := serving(t, map[string]http.HandlerFunc{"good": text(good), "bad": bad})
			s, _ := scraping(t, Options{Name: "pods", Pods: list("bad", "good"), MaxBytes: 5_000, Timeout: 200 * time.Millisecond})
			rows, err := ask(t, s, query.AskRunning)
			if err != nil {
				t.Fatal(err)
			}
			same(t, rows, query.Row{Quantity: query.Running, Namespace: "llm", Pod: "good", Model: "m", Value: 1})
		})
	}
}

func TestAPageOfTooManySeriesIsNotKept(t *testing.T) {
	var many strings.Builder
	for i := range maxSeries + 1 {
		fmt.Fprintf(&many, "vllm:num_requests_running{model_name=\"m\",engine=\"%d\"} 1\n", i)
	}
	list := serving(t, map[string]http.HandlerFunc{"good": text(vllmPage(1, 0, 0.1, 5)), "bad": text(many.String())})
	s, _ := scraping(t, Options{Name: "pods", Pods: list("bad", "good")})
	rows, err := ask(t, s, query.AskRunning)
	if err != nil {
		t.Fatal(err)
	}
	same(t, rows, query.Row{Quantity: query.Running, Namespace: "llm", Pod: "good", Model: "m", Value: 1})
}

// TestOfAFailureAShortTextIsKept: a parser quotes the line that it cannot read, each
// byte as four.
func TestOfAFailureAShortTextIsKept(t *testing.T) {
	page := "vllm:num_requests_running{model_name=\"m\"} " + strings.Repeat("\x01", 1<<20-200) + "\n"
	s := New(clocktesting.NewFakeClock(noon), Options{Name: "pods", Pods: serving(t, map[string]http.HandlerFunc{"bad": text(page)})("bad")})
	<-s.round(t.Context(), 0)
	for target, h := range s.store.pods {
		if h.cause == nil || !strings.HasPrefix(h.cause.Error(), "scraping llm/bad: parsing the page: ") || len(h.cause.Error()) > 1024 {
			t.Errorf("%s: the cause has %d bytes, want at most 1024, and what failed", target.Pod, len(fmt.Sprint(h.cause)))
		}
	}
}

// TestPagesOfNewSeriesEachTimeEndNoOther: a tenant that may label a pod as an endpoint
// picker decides what is on its page, and it is read five times a second.
func TestPagesOfNewSeriesEachTimeEndNoOther(t *testing.T) {
	s := newStore(Options{Name: "gate", Interval: 200 * time.Millisecond})
	good := Target{Namespace: "llm", Pod: "good", URL: "a"}
	bad := []Target{{Namespace: "evil", Pod: "bad-0", URL: "b"}, {Namespace: "evil", Pod: "bad-1", URL: "c"}}
	s.retain(endpointPicker, append(bad, good))
	page := func(round, n int) []point {
		points := make([]point, n)
		for i := range points {
			points[i] = point{"inference_extension_flow_control_queue_size", []label{{"model_name", fmt.Sprintf("%d-%d", round, i)}}, 1}
		}
		return points
	}
	most := budget.DefaultLimits().PageBytes + 3*keptForEach
	for round := range 12 {
		at := noon.Add(time.Duration(round) * 200 * time.Millisecond)
		s.add(task{endpointPicker, good}, at, page(0, 4))
		for _, target := range bad {
			s.add(task{endpointPicker, target}, at, page(round, maxSeries))
		}
		if s.weight > most {
			t.Fatalf("round %d: the pages take %d bytes, and at most %d may be kept", round, s.weight, most)
		}
	}
	if got := len(s.pickers[good.key()].pages); got != 12 {
		t.Errorf("%d pages of the picker that is none of it are left, want all 12", got)
	}
	s.retain(endpointPicker, nil)
	if s.weight != 0 {
		t.Errorf("%d bytes are counted when nothing is kept", s.weight)
	}
}

func TestAPageThatAloneIsTooMuchFails(t *testing.T) {
	s := newStore(Options{Name: "pods", Interval: time.Second})
	target := Target{Namespace: "evil", Pod: "bad", URL: "a"}
	s.retain(servingPod, []Target{target})
	s.add(task{servingPod, target}, noon, []point{{"m", []label{{"l", strings.Repeat("x", budget.DefaultLimits().PageBytes)}}, 1}})
	if _, err := s.view(); !errors.Is(err, errNothing) || !strings.Contains(err.Error(), errOverBudget.Error()) {
		t.Errorf("got %v, want that the namespace is over its budget", err)
	}
}

// TestOnlyTheBucketsThatAreReadAreKept: of a histogram whose mean is all that is read
// they would be most of the page.
func TestOnlyTheBucketsThatAreReadAreKept(t *testing.T) {
	for name, want := range map[string]bool{
		"vllm:time_to_first_token_seconds_bucket": true, "vllm:time_to_first_token_seconds_sum": true,
		"vllm:request_prompt_tokens_bucket": false, "vllm:request_prompt_tokens_count": true,
	} {
		if got := wantedOfPods(nil).has([]byte(name)); got != want {
			t.Errorf("%s is wanted: %v", name, got)
		}
	}
	if wantedOfPickers().has([]byte("llm_d_epp_request_ttft_seconds_bucket")) {
		t.Error("buckets of a picker are wanted, and nothing reads them")
	}
}

func TestPodsThatHangDelayNoOther(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	answered := make(chan struct{}, 1)
	list := serving(t, map[string]http.HandlerFunc{"good": func(w http.ResponseWriter, r *http.Request) {
		text(vllmPage(1, 0, 0.1, 5))(w, r)
		answered <- struct{}{}
	}, "bad": hang})
	var targets []Target
	for i := range 64 {
		bad, _ := list("bad")(t.Context())
		bad[0].Namespace, bad[0].Pod = "elsewhere", fmt.Sprintf("bad-%d", i) // before llm in the order
		targets = append(targets, bad...)
	}
	good, _ := list("good")(t.Context())
	targets = append(targets, good...)
	s, clk := scraping(t, Options{
		Name: "pods", Pods: func(context.Context) ([]Target, error) { return targets, nil },
		Concurrency: 8, Interval: 5 * time.Second, Timeout: time.Minute,
	})
	<-answered
	for !clk.HasWaiters() {
		if t.Context().Err() != nil {
			t.Fatal("the source does not wait for the first round")
		}
	}
	clk.Step(2 * time.Minute) // those who ask do not wait for the others either
	var rows []query.Row
	for len(rows) == 0 { // the page has been sent, and may not have been read yet
		var err error
		if rows, err = ask(t, s, query.AskRunning); err != nil {
			t.Fatal(err)
		}
	}
	same(t, rows, query.Row{Quantity: query.Running, Namespace: "llm", Pod: "good", Model: "m", Value: 1})
}

func TestAPodThatFailsIsAskedMoreRarely(t *testing.T) {
	h := &history{}
	var rounds []int
	for round := range 24 {
		if h.due(round) {
			rounds = append(rounds, round)
			h.fail(noon, errNothing)
		}
	}
	if want := []int{0, 1, 2, 4, 8, 12, 16, 20}; !slices.Equal(rounds, want) {
		t.Errorf("got rounds %v, want %v", rounds, want)
	}
	h.add(onePage{at: noon, layout: &layout{}}, time.Minute)
	if !h.due(21) {
		t.Error("a pod that answers again is not asked in each round")
	}
}

func TestAPodThatIsStartingIsNoFault(t *testing.T) {
	list := serving(t, nil)
	s, _ := scraping(t, Options{Name: "pods", Pods: func(ctx context.Context) ([]Target, error) {
		targets, err := list("a")(ctx)
		targets[0].Starting = true
		return targets, err
	}})
	if rows, err := ask(t, s, query.AskPages); err != nil || len(rows) != 0 {
		t.Errorf("got %v, %v; want no rows and no error", rows, err)
	}
}

func TestWhenEveryPageFailsTheSourceSaysWhy(t *testing.T) {
	list := serving(t, nil)
	s, _ := scraping(t, Options{Name: "pods", Pods: list("a", "b")})
	_, err := ask(t, s, query.AskPages)
	if !errors.Is(err, errNothing) || !strings.Contains(err.Error(), "HTTP 404") || !strings.Contains(err.Error(), "all 2 failed") {
		t.Errorf("got %v, want that all 2 pages answered HTTP 404", err)
	}
}

func TestNothingToScrapeIsAnAnswer(t *testing.T) {
	s, _ := scraping(t, Options{Name: "pods"})
	if rows, err := ask(t, s, query.AskPages); err != nil || len(rows) != 0 {
		t.Errorf("got %v, %v; want no rows and no error", rows, err)
	}
}

func TestAPodThatIsGoneIsForgotten(t *testing.T) {
	list := serving(t, map[string]http.HandlerFunc{"a": text(vllmPage(1, 0, 0.1, 5)), "b": text(vllmPage(2, 0, 0.1, 5))})
	var now atomic.Pointer[Targets]
	both, one := list("a", "b"), list("a")
	now.Store(&both)
	s := New(clocktesting.NewFakeClock(noon), Options{Name: "pods", Pods: func(ctx context.Context) ([]Target, error) { return (*now.Load())(ctx) }})
	<-s.round(t.Context(), 0)
	now.Store(&one)
	s.options.Interval = 0 // nothing to spread
	<-s.round(t.Context(), 1)
	close(s.first)
	rows, err := ask(t, s, query.AskRunning)
	if err != nil {
		t.Fatal(err)
	}
	same(t, rows, query.Row{Quantity: query.Running, Namespace: "llm", Pod: "a", Model: "m", Value: 1})
}

func TestCredentialsGoToPickersAndNeverToPods(t *testing.T) {
	sent := make(chan string, 2)
	list := serving(t, map[string]http.HandlerFunc{
		"pod": func(w http.ResponseWriter, r *http.Request) {
			sent <- "pod:" + r.Header.Get("Authorization")
			text(vllmPage(1, 0, 0.1, 5))(w, r)
		},
		"epp": func(_ http.ResponseWriter, r *http.Request) { sent <- "epp:" + r.Header.Get("Authorization") },
	})
	s, _ := scraping(t, Options{Name: "pods", Pods: list("pod"), Pickers: list("epp"), Authorize: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer secret")
		return nil
	}})
	if _, err := ask(t, s, query.AskPages); err != nil {
		t.Fatal(err)
	}
	got := []string{<-sent, <-sent}
	slices.Sort(got)
	if want := []string{"epp:Bearer secret", "pod:"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRoundsFollowTheInterval(t *testing.T) {
	var scrapes atomic.Int64
	again := make(chan struct{}, 1)
	list := serving(t, map[string]http.HandlerFunc{"a": func(w http.ResponseWriter, r *http.Request) {
		if scrapes.Add(1) == 2 {
			again <- struct{}{}
		}
		text(vllmPage(1, 0, 0.1, 5))(w, r)
	}})
	s, clk := scraping(t, Options{Name: "pods", Pods: list("a"), Interval: 5 * time.Second})
	if _, err := ask(t, s, query.AskPages); err != nil {
		t.Fatal(err)
	}
	for !clk.HasWaiters() {
		if t.Context().Err() != nil {
			t.Fatal("the source does not wait for the next round")
		}
	}
	clk.Step(5 * time.Second)
	<-again
}

func TestAnEndedContextAsksNothing(t *testing.T) {
	s := New(clocktesting.NewFakeClock(noon), Options{Name: "pods"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Ask(ctx, query.Request{Ask: query.AskPages}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func FuzzPage(f *testing.F) {
	f.Add(vllmPage(1, 2, 0.5, 7))
	f.Add("vllm:num_requests_running{model_name=\"a\\\"b\\n\",engine=\"0\"} NaN\n")
	f.Add("# TYPE vllm:num_requests_running histogram\nvllm:num_requests_running_bucket{le=\"x\"} 1\n")
	wanted := wantedOfPods(nil)
	f.Fuzz(func(t *testing.T, body string) {
		points, err := readPage(body, wanted, 1<<16)
		if err != nil {
			return
		}
		for _, p := range points {
			if !wanted.has([]byte(p.name)) {
				t.Errorf("%q was not asked for", p.name)
			}
		}
		s := newStore(Options{Name: "pods", Interval: time.Second})
		target := Target{Namespace: "llm", Pod: "a"}
		s.retain(servingPod, []Target{target})
		s.add(task{servingPod, target}, ago(15), points)
		s.add(task{servingPod, target}, noon, points)
		v, err := s.view()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range query.Questions() {
			v.answer(query.Request{Ask: q}, moment{at: noon, window: time.Minute})
		}
	})
}

func BenchmarkPage(b *testing.B) {
	page := vllmPage(1, 2, 0.5, 7) + strings.Repeat("# TYPE http_requests_total counter\nhttp_requests_total{handler=\"/v1/completions\",method=\"POST\",status=\"2xx\"} 12\n", 500)
	wanted := wantedOfPods(nil)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readPage(page, wanted, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
