package prometheus_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// t0 is the instant that the tests ask about.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)

// running is what the tests ask where the question does not matter.
var running = query.Request{Ask: query.AskRunning, At: t0}

// sample is one row of a store's answer.
type sample struct {
	labels map[string]string
	value  float64
}

// pod returns a row about one pod.
func pod(name string, value float64) sample {
	return sample{map[string]string{"namespace": "a", "pod": name, "model_name": "org/model"}, value}
}

// vector renders rows as the HTTP API does, evaluated at t0.
func vector(rows ...sample) string { return vectorAt(t0, rows...) }

// vectorAt renders rows as evaluated at an instant.
func vectorAt(instant time.Time, rows ...sample) string {
	result := make([]map[string]any, len(rows))
	for i, r := range rows {
		at := json.Number(fmt.Sprintf("%.3f", float64(instant.UnixMilli())/1000))
		result[i] = map[string]any{"metric": r.labels, "value": []any{at, strconv.FormatFloat(r.value, 'g', -1, 64)}}
	}
	body, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// hurry is a clock whose timers end at once. It notes how long they should have
// taken.
type hurry struct {
	clock.RealClock

	mu    sync.Mutex
	waits []time.Duration
}

// NewTimer implements clock.Clock.
func (h *hurry) NewTimer(d time.Duration) clock.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, d)
	return h.RealClock.NewTimer(0)
}

// open returns a Source for a server that speaks plain HTTP. It does not wait
// before it tries again.
func open(t *testing.T, url string, change ...func(*prometheus.Config)) *prometheus.Source {
	t.Helper()
	config := prometheus.Config{URL: url, AllowInsecure: true, Clock: &hurry{}}
	for _, c := range change {
		c(&config)
	}
	s, err := prometheus.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// serve starts a server that is closed with the test.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// answer returns a handler that gives one answer to everything.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestAskSendsTheExpressionAndTheInstant(t *testing.T) {
	request := query.Request{
		Ask: query.AskObjective, Window: time.Minute, Namespaces: []string{"a&b=c"},
		Models: []string{"a \"quoted\" \\ {model}\nof two lines, 100% + more"},
	}
	for _, tc := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"an instant", t0, "1772366400.25"},
		{"a whole second", t0.Truncate(time.Second), "1772366400"},
		{"the store's own now", time.Time{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var method, path, expr, dedup string
			var at []string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				method, path, expr, dedup, at = r.Method, r.URL.Path, r.FormValue("query"), r.FormValue("dedup"), r.Form["time"]
				answer(http.StatusOK, vector())(w, r)
			})
			request.At = tc.at
			if _, err := open(t, server.URL+"/prefix/?dedup=true").Ask(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if method != http.MethodPost || path != "/prefix/api/v1/query" || expr != request.PromQL() || dedup != "true" {
				t.Errorf("got %s %s query=%s dedup=%s", method, path, expr, dedup)
			}
			if got := strings.Join(at, " and "); got != tc.want {
				t.Errorf("got time=%s, want %s", got, tc.want)
			}
		})
	}
}

func TestRowsArriveTyped(t *testing.T) {
	server := serve(t, answer(http.StatusOK, vector(
		pod("pod-0", 0.25), pod(`quoted "pod" \ é`, 2),
		sample{map[string]string{"namespace": "b", "pod_name": "pod-0", "instance": "10.0.0.1:8000"}, 3},
	)))
	got, err := open(t, server.URL).Ask(t.Context(), running)
	if err != nil {
		t.Fatal(err)
	}
	want := query.Answer{At: t0, Rows: []query.Row{
		{Quantity: query.Running, Namespace: "a", Pod: "pod-0", Model: "org/model", Value: 0.25},
		{Quantity: query.Running, Namespace: "a", Pod: `quoted "pod" \ é`, Model: "org/model", Value: 2},
		{Quantity: query.Running, Namespace: "b", Pod: "pod-0", Value: 3},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestRowsThatTheCatalogueDoesNotKnowAreLeftOut(t *testing.T) {
	server := serve(t, answer(http.StatusOK, vector(
		sample{map[string]string{"namespace": "a", "model_name": "m", "stat": "ttft"}, 20},
		sample{map[string]string{"namespace": "a", "model_name": "m", "stat": "weather"}, 1},
	)))
	got, err := open(t, server.URL).Ask(t.Context(), query.Request{Ask: query.AskMeans, Window: time.Minute})
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Quantity != query.TTFT {
		t.Errorf("got %v, %v, want the row of ttft alone", got.Rows, err)
	}
}

func TestAskFallsBackToGET(t *testing.T) {
	var calls []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls = append(calls, r.Method+" dedup="+r.FormValue("dedup")); r.Method == http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		if r.FormValue("query") != running.PromQL() || r.FormValue("time") != "1772366400.25" {
			t.Errorf("got %s", r.URL)
		}
		answer(http.StatusOK, vector(pod("pod-0", 1)))(w, r)
	})
	source := open(t, server.URL+"?dedup=true")
	for range 2 {
		if got, err := source.Ask(t.Context(), running); err != nil || len(got.Rows) != 1 {
			t.Errorf("got %v, %v", got, err)
		}
	}
	// Once it is known that GET works and POST does not, POST is left out.
	if got, want := strings.Join(calls, ", "), "POST dedup=true, GET dedup=true, GET dedup=true"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestStoreThatGoesBackToPOSTIsFollowed(t *testing.T) {
	only := http.MethodGet
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != only {
			http.Error(w, "no", http.StatusNotImplemented)
			return
		}
		answer(http.StatusOK, vector())(w, r)
	})
	source := open(t, server.URL)
	for i, step := range []struct {
		only  string
		works bool
	}{{http.MethodGet, true}, {http.MethodPost, false}, {http.MethodPost, true}} {
		only = step.only
		if _, err := source.Ask(t.Context(), running); (err == nil) != step.works {
			t.Errorf("step %d: got %v", i, err)
		}
	}
}

// TestExpressionsThatAreTooLongNameNoTenant: VictoriaMetrics refuses more than 16 KiB
// in these words, which the names of a few pods make.
func TestExpressionsThatAreTooLongNameNoTenant(t *testing.T) {
	const most = 16 << 10
	long, short := query.Request{Ask: query.AskScrapeIntervals, At: t0}, query.Request{Ask: query.AskScrapeIntervals, At: t0, Pods: []string{"pod-0"}}
	for i := range 100 {
		long.Pods = append(long.Pods, fmt.Sprintf("llama-3-1-8b-instruct-7f9c6d5b8-abc%02d", i))
	}
	var asked []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		expression := r.FormValue("query")
		switch named := strings.Contains(expression, "pod="); {
		case len(expression) > most:
			asked = append(asked, "refused")
			answer(http.StatusUnprocessableEntity, `{"status":"error","errorType":"422","error":"too long query; mustn't exceed -search.maxQueryLen=16384 bytes"}`)(w, r)
			return
		case named:
			asked = append(asked, "named")
		default:
			asked = append(asked, "all")
		}
		answer(http.StatusOK, vector())(w, r)
	})
	source := open(t, server.URL)
	for _, request := range []query.Request{short, long, long, short} {
		if _, err := source.Ask(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"named", "refused", "all", "all", "named"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestTheLeastLengthThatWasRefusedCounts(t *testing.T) {
	long, longer := query.Request{Ask: query.AskScrapeIntervals, At: t0}, query.Request{Ask: query.AskScrapeIntervals, At: t0}
	for i := range 100 {
		long.Pods = append(long.Pods, fmt.Sprintf("pod-%02d", i))
	}
	longer.Pods = slices.Concat(long.Pods, []string{"another-pod"})
	var source *prometheus.Source
	ask := func(request query.Request) {
		if _, err := source.Ask(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	var refused atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch expression := r.FormValue("query"); {
		case !strings.Contains(expression, "pod="):
			answer(http.StatusOK, vector())(w, r)
			return
		case strings.Contains(expression, "another-pod"):
			ask(long) // is over before this is refused
		}
		refused.Add(1)
		answer(http.StatusUnprocessableEntity, `{"status":"error","errorType":"422","error":"too long query"}`)(w, r)
	})
	source = open(t, server.URL)
	ask(longer)
	ask(long)
	if got := refused.Load(); got != 2 {
		t.Errorf("%d expressions were refused, want each length once", got)
	}
}

func TestARefusalThatIsNotForTheNamesStands(t *testing.T) {
	asked := 0
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		answer(http.StatusBadRequest, `{"status":"error","errorType":"bad_data","error":"no"}`)(w, r)
	})
	source := open(t, server.URL)
	for range 2 {
		if _, err := source.Ask(t.Context(), query.Request{Ask: query.AskStuck, At: t0, Window: time.Minute, Pods: []string{"pod-0"}}); err == nil {
			t.Error("got an answer")
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times, want each time with the names and without", asked)
	}
}

func TestWarningsArePassedOn(t *testing.T) {
	server := serve(t, answer(200, `{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["partial response"],"infos":["a counter?"]}`))
	var got []string
	source := open(t, server.URL, func(c *prometheus.Config) {
		c.OnWarning = func(ask query.Question, warnings []string) {
			got = append(got, ask.String()+": "+strings.Join(warnings, ", "))
		}
	})
	if _, err := source.Ask(t.Context(), running); err != nil || len(got) != 1 || got[0] != "running: partial response, a counter?" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := open(t, server.URL).Ask(t.Context(), running); err != nil {
		t.Errorf("without a listener: %v", err)
	}
}

func TestAnswersMayBePacked(t *testing.T) {
	text := zipped(t, vector(pod("pod-0", 1), pod("pod-1", 2)), 0)
	var accepted string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accepted = r.Header.Get("Accept-Encoding")
		packed("gzip", text)(w, r)
	})
	asking := func(c *prometheus.Config) { c.Headers = map[string]string{"Accept-Encoding": "gzip"} }
	for want, source := range map[string]*prometheus.Source{"": open(t, server.URL), "gzip": open(t, server.URL, asking)} {
		got, err := source.Ask(t.Context(), running)
		if err != nil || len(got.Rows) != 2 || accepted != want {
			t.Errorf("got %v, %v after Accept-Encoding: %s, want 2 rows after %q", got, err, accepted, want)
		}
	}
}
