package prometheus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
)

// t0 is the instant that the tests ask about.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC)

// open returns a Source for a server that speaks plain HTTP.
func open(t *testing.T, url string, change ...func(*prometheus.Config)) *prometheus.Source {
	t.Helper()
	config := prometheus.Config{URL: url, AllowInsecure: true}
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

// vector renders rows as the HTTP API does.
func vector(rows []collector.Sample) string {
	result := make([]map[string]any, len(rows))
	for i, r := range rows {
		at := json.Number(fmt.Sprintf("%.3f", float64(r.At.UnixMilli())/1000))
		result[i] = map[string]any{"metric": r.Labels, "value": []any{at, strconv.FormatFloat(r.Value, 'g', -1, 64)}}
	}
	body, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// answer returns a handler that gives one answer to everything.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // reads the body, after which the server notices
	<-r.Context().Done()
}

// refusing returns the address of a port on which nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestSourceKeepsTheContract(t *testing.T) {
	collectortest.TestContract(t, collectortest.Backend{
		Answering: func(t *testing.T, rows []collector.Sample) collector.Source {
			return open(t, serve(t, answer(http.StatusOK, vector(rows))).URL)
		},
		Failing: func(t *testing.T) collector.Source { return open(t, "http://"+refusing(t)) },
		Hanging: func(t *testing.T) collector.Source { return open(t, serve(t, hang).URL) },
	})
}

func TestQuerySendsTheExpressionAndTheInstant(t *testing.T) {
	var method, path, expr, at, dedup string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		method, path, expr, at, dedup = r.Method, r.URL.Path, r.FormValue("query"), r.FormValue("time"), r.FormValue("dedup")
		answer(http.StatusOK, vector(nil))(w, r)
	})
	if _, err := open(t, server.URL+"/prefix/?dedup=true").Query(t.Context(), `up{a="b"}`, t0); err != nil {
		t.Fatal(err)
	}
	if method != http.MethodPost || path != "/prefix/api/v1/query" || expr != `up{a="b"}` || at != "1772366400.25" || dedup != "true" {
		t.Errorf("got %s %s query=%s time=%s dedup=%s", method, path, expr, at, dedup)
	}
}

func TestQueryFallsBackToGET(t *testing.T) {
	var methods []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if methods = append(methods, r.Method); r.Method == http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		answer(http.StatusOK, vector([]collector.Sample{{Value: 1, At: t0}}))(w, r)
	})
	got, err := open(t, server.URL).Query(t.Context(), "up", t0)
	if err != nil || len(got) != 1 || strings.Join(methods, " ") != "POST GET" {
		t.Errorf("got %v, %v after %v", got, err, methods)
	}
}

func TestFailuresSayWhoAndWhat(t *testing.T) {
	const start = "<html>\n<body>Sign   in</body>"
	page, rest := start+strings.Repeat("x", 500), strings.Repeat("x", 200-len(start))
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		want    string // after host:port
	}{
		{"a page of HTML", answer(200, page), 200, " answered HTTP 200: garbage: <html> <body>Sign in</body>" + rest},
		{"nothing", answer(200, ""), 200, " answered HTTP 200: garbage: an empty body"},
		{"unauthorized", answer(401, "who are you?\n"), 401, " answered HTTP 401: who are you?"},
		{"forbidden", answer(403, ""), 403, " answered HTTP 403: an empty body"},
		{"overloaded", answer(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), 503, " answered HTTP 503: timeout: query timed out"},
		{"a bad query", answer(400, `{"status":"error","errorType":"bad_data","error":"parse error"}`), 400, " answered HTTP 400: bad_data: parse error"},
		{"an error with status 200", answer(200, `{"status":"error","errorType":"execution","error":"too many"}`), 200, " answered HTTP 200: execution: too many"},
		{"another JSON", answer(200, `{"hello":"world"}`), 200, " answered HTTP 200: an answer without a result"},
		{"half an answer", answer(200, `{"status":"success","data":{"resultType":"vec`), 200, " answered HTTP 200: bad_response: unexpected end of JSON input"},
		{"a scalar", answer(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`), 200, " answered HTTP 200: a scalar where a vector was expected"},
		{"a login", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example.com/?state=secret", http.StatusFound)
		}, 302, " answered HTTP 302: a redirect to https://login.example.com/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := serve(t, tc.handler)
			got, err := open(t, server.URL).Query(t.Context(), "up", t0)
			var failure *prometheus.Error
			if !errors.As(err, &failure) || got != nil {
				t.Fatalf("got %v, %v; want an *Error", got, err)
			}
			host := strings.TrimPrefix(server.URL, "http://")
			if err.Error() != host+tc.want || failure.Status != tc.status || failure.Host != host {
				t.Errorf("got  %q\nwant %q", err, host+tc.want)
			}
		})
	}
}

func TestStoreThatIsDownIsNamedTheSameEveryTime(t *testing.T) {
	host := refusing(t)
	source := open(t, "http://"+host)
	want := host + ": dial: connect: connection refused"
	for range 2 {
		if _, err := source.Query(t.Context(), "up", t0); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSlowStoreIsGivenUp(t *testing.T) {
	server := serve(t, hang)
	source := open(t, server.URL, func(c *prometheus.Config) { c.Timeout = time.Millisecond })
	_, err := source.Query(t.Context(), "up", t0)
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != strings.TrimPrefix(server.URL, "http://")+": no answer in time" {
		t.Errorf("got %v", err)
	}
}

func TestStoreThatHangsUpIsNamed(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := open(t, server.URL).Query(t.Context(), "up", t0)
	if want := strings.TrimPrefix(server.URL, "http://") + ": EOF"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWarningsArePassedOn(t *testing.T) {
	server := serve(t, answer(200, `{"status":"success","warnings":["partial response"],"data":{"resultType":"vector","result":[]}}`))
	var got []string
	source := open(t, server.URL, func(c *prometheus.Config) {
		c.OnWarning = func(expr string, warnings []string) { got = append(got, expr+": "+strings.Join(warnings, ",")) }
	})
	if _, err := source.Query(t.Context(), "up", t0); err != nil || len(got) != 1 || got[0] != "up: partial response" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := open(t, server.URL).Query(t.Context(), "up", t0); err != nil {
		t.Errorf("without a listener: %v", err)
	}
}

func TestNativeHistogramsAreLeftOut(t *testing.T) {
	server := serve(t, answer(200, `{"status":"success","data":{"resultType":"vector","result":[`+
		`{"metric":{"pod":"a"},"histogram":[1,{"count":"1","sum":"2","buckets":[]}]},{"metric":{"pod":"b"},"value":[1,"2"]}]}}`))
	got, err := open(t, server.URL).Query(t.Context(), "up", t0)
	if err != nil || len(got) != 1 || got[0].Labels["pod"] != "b" {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		vector([]collector.Sample{{Labels: map[string]string{"pod": "a"}, Value: 1, At: t0}}),
		`{"status":"success","data":{"resultType":"vector","result":[null]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":null,"value":[1,"NaN"]}]}}`,
		`{"status":"success","data":{"resultType":"vector","result":[{}]}}`,
		`{"status":"success","data":null}`, `{"status":"error"}`, `[]`, "", "\xff",
	} {
		f.Add(200, body)
	}
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	f.Cleanup(server.Close)
	source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(source.Close)
	f.Fuzz(func(t *testing.T, code int, text string) {
		status, body = 200+(code%400+400)%400, text
		rows, err := source.Query(t.Context(), "up", t0)
		if err != nil && (rows != nil || strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 1000) {
			t.Errorf("got %v and %q", rows, err)
		}
		for _, r := range rows {
			if r.Labels == nil {
				t.Error("a row without labels")
			}
		}
	})
}
