package prometheus_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// hang answers nothing until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // reads the body, after which the server notices
	<-r.Context().Done()
}

// refusing returns the address of a port on which no server listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// result returns a handler that answers with a vector of the given rows.
func result(rows string) http.HandlerFunc {
	return answer(http.StatusOK, `{"status":"success","data":{"resultType":"vector","result":`+rows+`}}`)
}

// packed returns a handler that says that its answer is packed in some way.
func packed(encoding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		answer(http.StatusOK, body)(w, r)
	}
}

// zipped returns text packed with gzip, without its last bytes.
func zipped(t *testing.T, text string, without int) string {
	t.Helper()
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to.String()[:to.Len()-without]
}

func TestFailuresSayWhoAndWhat(t *testing.T) {
	const start = "<html>\n<body>Sign   in</body>"
	page, rest := start+strings.Repeat("x", 500), strings.Repeat("x", 200-len(start))
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		want    string // after host:port and status
	}{
		{"a page of HTML", answer(200, page), 200, "garbage: <html> <body>Sign in</body>" + rest},
		{"nothing", answer(200, ""), 200, "garbage: an empty body"},
		{"no content", answer(204, ""), 204, "garbage: an empty body"},
		{"an array", answer(200, `["success"]`), 200, `garbage: ["success"]`},
		{"unauthorized", answer(401, "who are you?\n"), 401, "who are you?"},
		{"forbidden", answer(403, ""), 403, "an empty body"},
		{"broken", answer(500, "panic\n\tat"), 500, "panic at"},
		{"overloaded", answer(503, `{"status":"error","errorType":"timeout","error":"query timed out"}`), 503, "timeout: query timed out"},
		{"a bad query", answer(400, `{"status":"error","errorType":"bad_data","error":"parse error"}`), 400, "bad_data: parse error"},
		{"neither POST nor GET", answer(405, "no"), 405, "no"},
		{"an error with status 200", answer(200, `{"status":"error","errorType":"execution","error":"too many"}`), 200, "execution: too many"},
		{"an error without a word", answer(200, `{"status":"error"}`), 200, "an error that says nothing"},
		{"another JSON", answer(200, `{"hello":"world"}`), 200, "an answer without a result"},
		{"no data", answer(200, `{"status":"success","data":null}`), 200, "an answer without a result"},
		{"a result of no type", answer(200, `{"status":"success","data":{"result":[]}}`), 200, "an answer without a result"},
		{"another status", answer(200, `{"status":"pending","data":{"resultType":"vector","result":[]}}`), 200, `an answer with the status "pending"`},
		{"half an answer", answer(200, `{"status":"success","data":{"resultType":"vec`), 200, "an answer that breaks off"},
		{"two answers", answer(200, vector()+vector()), 200, "garbage: more than one answer"},
		{"something after the answer", answer(200, vector()+"%"), 200, "garbage: invalid character '%' at start of value"},
		{"a result that comes twice", answer(200, `{"data":{"resultType":"vector","result":[],"result":[]}}`), 200, "garbage: duplicate object member name"},
		{"a scalar", answer(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`), 200, "a scalar where a vector was expected"},
		{"a matrix", answer(200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`), 200, "a matrix where a vector was expected"},
		{"a string", answer(200, `{"status":"success","data":{"result":[],"resultType":"string"}}`), 200, "a string where a vector was expected"},
		{"a number for an answer", result("7"), 200, "garbage: a number where the result was expected"},
		{"a number for a row", result("[7]"), 200, "garbage: a number where a row was expected"},
		{"an empty row", result("[{}]"), 200, "garbage: a row without a value"},
		{"text for labels", result(`[{"metric":"up"}]`), 200, "garbage: a string where the labels of a row was expected"},
		{"a number for a label", result(`[{"metric":{"pod":7}}]`), 200, "garbage: a number where the value of a label was expected"},
		{"a number for a value", result(`[{"value":7}]`), 200, "garbage: a number where the value of a row was expected"},
		{"an empty value", result(`[{"value":[]}]`), 200, "garbage: nothing where the time of a row was expected"},
		{"text for a time", result(`[{"value":["1","2"]}]`), 200, "garbage: a string where the time of a row was expected"},
		{"a time before 1970", result(`[{"value":[-1,"2"]}]`), 200, "garbage: a row whose time is not between the years 1970 and 9999"},
		{"a time without end", result(`[{"value":[1e999,"2"]}]`), 200, "garbage: a row whose time is not between the years 1970 and 9999"},
		{"a number that is none", result(`[{"value":[1,"two"]}]`), 200, "garbage: a text where the number of a row was expected"},
		{"a bare number", result(`[{"value":[1,2]}]`), 200, "garbage: a number where the number of a row was expected"},
		{"a value of three", result(`[{"value":[1,"2",null]}]`), 200, "garbage: null where the end of a row's value was expected"},
		{"half a packed answer", packed("gzip", zipped(t, vector(), 20)), 200, "an answer that breaks off"},
		{"an answer that is not packed", packed("gzip", vector()+vector()), 200, "garbage: gzip: invalid header"},
		{"an answer packed otherwise", packed("zstd", vector()), 200, "an answer packed with zstd"},
		{"a login", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example.com/?state=secret", http.StatusFound)
		}, 302, "a redirect to https://login.example.com/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := serve(t, tc.handler)
			got, err := open(t, server.URL).Ask(t.Context(), running)
			if diff := cmp.Diff(query.Answer{}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			host := strings.TrimPrefix(server.URL, "http://")
			failure, ok := errors.AsType[*prometheus.Error](err)
			if !ok || failure.Status != tc.status || failure.Host != host || failure.Found != tc.want {
				t.Errorf("got  %v\nwant HTTP %d: %s", err, tc.status, tc.want)
			}
			if want := fmt.Sprintf("%s answered HTTP %d: %s", host, tc.status, tc.want); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestStoreThatIsDownIsNamedTheSameEveryTime(t *testing.T) {
	host := refusing(t)
	source := open(t, "http://"+host)
	want := host + ": dial: connect: connection refused"
	for range 2 {
		if _, err := source.Ask(t.Context(), running); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSlowStoreIsGivenUp(t *testing.T) {
	stalls := func(w http.ResponseWriter, r *http.Request) {
		text := vector(pod("pod-0", 1), pod("pod-1", 1))
		_, _ = w.Write([]byte(text[:len(text)/2]))
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}
	for name, handler := range map[string]http.HandlerFunc{"before the answer": hang, "within the answer": stalls} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, handler)
			want := strings.TrimPrefix(server.URL, "http://") + ": no answer in time"
			source := open(t, server.URL, func(c *prometheus.Config) { c.Timeout = 20 * time.Millisecond })
			got, err := source.Ask(t.Context(), running)
			if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want || got.Rows != nil {
				t.Errorf("got %v, %v, want %s", got, err, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := open(t, server.URL).Ask(ctx, running); !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
				t.Errorf("with a deadline of the caller: got %v, want %s", err, want)
			}
		})
	}
}

func TestStoreThatHangsUpIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"before the answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ": EOF"},
		"within the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"status":"success"`))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, ": unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, tc.handler)
			_, err := open(t, server.URL).Ask(t.Context(), running)
			if want := strings.TrimPrefix(server.URL, "http://") + tc.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// million writes a vector of a million rows, 130 bytes each.
func million(w http.ResponseWriter, _ *http.Request) {
	line := []byte(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range 1_000_000 {
		line = append(line, `{"metric":{"namespace":"a","pod":"pod-`...)
		line = strconv.AppendInt(line, int64(i), 10)
		line = append(line, `","model_name":"org/model","instance":"10.0.0.1:8000"},"value":[1772366400.25,"1"]},`...)
		if _, err := w.Write(line); err != nil {
			return
		}
		line = line[:0]
	}
	_, _ = w.Write([]byte("null]}}"))
}

func TestMillionRowsEndAtTheLimit(t *testing.T) {
	const limit = 2 << 20
	source := open(t, serve(t, million).URL, func(c *prometheus.Config) { c.MaxBytes = limit })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := source.Ask(t.Context(), running)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.HasSuffix(err.Error(), " answered HTTP 200: more than 8192 rows") || got.Rows != nil {
		t.Errorf("got %d rows, %v", len(got.Rows), err)
	}
	// 8192 rows of 112 bytes are 0.9 MB, as much again and half that and so on while
	// their slice grew, and 1 MB of names.
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*limit {
		t.Errorf("it took %d MB to find out", used>>20)
	}
}

// TestShortRowsEndAtTheLimit: a row of 17 bytes takes 112 in memory.
func TestShortRowsEndAtTheLimit(t *testing.T) {
	const limit = 4 << 20
	short := "[" + strings.Repeat(`{"value":[1,"1"]},`, limit/18-100) + "null]"
	source := open(t, serve(t, result(short)).URL, func(c *prometheus.Config) { c.MaxBytes = limit })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := source.Ask(t.Context(), running)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.HasSuffix(err.Error(), " answered HTTP 200: more than 16384 rows") {
		t.Errorf("an answer of %d bytes in short rows: %v", len(short), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 5*limit {
		t.Errorf("it took %d kB to find out", used>>10)
	}
}

// TestOneLargeAnswerIsReadAtATime: the second waits while the first is read, and a
// small one does not.
func TestOneLargeAnswerIsReadAtATime(t *testing.T) {
	const row = `{"metric":{"pod":"p"},"value":[1,"1"]}`
	begun, goOn := make(chan struct{}), make(chan struct{})
	var asked atomic.Int32
	source := open(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := 40_000
		if r.FormValue("time") == "1" {
			n = 10
		}
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`+strings.Repeat(row+",", n-1))
		if asked.Add(1) == 1 {
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-goOn
		}
		_, _ = io.WriteString(w, row+"]}}")
	}).URL)
	first := make(chan error)
	go func() {
		_, err := source.Ask(t.Context(), running)
		first <- err
	}()
	<-begun
	for source.Reading() == 0 { // it is a large one once it has been read so far
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := source.Ask(ctx, running); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second large answer is read beside the first: %v", err)
	}
	if _, err := source.Ask(t.Context(), query.Request{Ask: query.AskRunning, At: time.Unix(1, 0)}); err != nil {
		t.Errorf("a small answer waits for a large one: %v", err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := source.Ask(t.Context(), running); err != nil {
		t.Errorf("a large answer after the first: %v", err)
	}
}

func TestAnnouncedSizeAboveTheLimitIsNotRead(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000001")
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	})
	source := open(t, server.URL, func(c *prometheus.Config) { c.MaxBytes = 1_000_000 })
	if _, err := source.Ask(t.Context(), running); err == nil || !strings.HasSuffix(err.Error(), ": more than 1000000 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestLimitHoldsForWhatIsUnpacked(t *testing.T) {
	server := serve(t, packed("gzip", zipped(t, `{"warnings":["`+strings.Repeat("x", 1<<20)+`"]}`, 0)))
	source := open(t, server.URL, func(c *prometheus.Config) { c.MaxBytes = 100_000 }) // it arrives as 1 kB
	if _, err := source.Ask(t.Context(), running); err == nil || !strings.HasSuffix(err.Error(), ": more than 100000 bytes") {
		t.Errorf("got %v", err)
	}
}
