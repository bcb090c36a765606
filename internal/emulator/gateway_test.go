package emulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// behind returns a gateway in front of an address.
func behind(t *testing.T, upstream string) *httptest.Server {
	t.Helper()
	base, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(NewGateway(GatewayOptions{Model: testModel.ID, Upstream: base}).Handler())
	t.Cleanup(server.Close)
	return server
}

// vacant returns a loopback address on which no server listens.
func vacant(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// healthy is a server that can take requests.
func healthy(serve http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/", serve)
	return mux
}

// shows reports whether a gateway's page has a line that begins and ends so.
func shows(t *testing.T, gateway *httptest.Server, name string, value int) bool {
	t.Helper()
	_, page := fetch(t, gateway.URL+"/metrics")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name) && strings.HasSuffix(line, fmt.Sprintf(" %d.0\n", value)) {
			return true
		}
	}
	return false
}

const (
	queueSize = "inference_extension_flow_control_queue_size{"
	sentOn    = "inference_objective_request_total{"
	underWay  = "inference_objective_running_requests{"
)

func TestTheGatewayHoldsARequestUntilAReplicaTakesIt(t *testing.T) {
	address := vacant(t)
	gateway := behind(t, "http://"+address)
	type reply struct {
		status int
		body   string
	}
	answered := make(chan reply, 1)
	go func() {
		status, body := post(t, gateway.URL+"/v1/completions", `{"prompt":"are you there"}`)
		answered <- reply{status, body}
	}()
	until(t, "a request is held", func() bool { return shows(t, gateway, queueSize, 1) })
	if shows(t, gateway, sentOn, 1) {
		t.Error("a held request is counted as sent on")
	}

	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	taken, answer, looked := make(chan string), make(chan struct{}), make(chan struct{})
	var once sync.Once
	loaded := make(chan struct{}) // like a Service that takes connections and has no backend to pass them on to
	upstream := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			select {
			case <-loaded:
			default:
				w.WriteHeader(http.StatusServiceUnavailable)
				once.Do(func() { close(looked) })
			}
			return
		}
		body, err := io.ReadAll(r.Body)
		taken <- fmt.Sprint(r.URL.Path, " ", string(body), " ", err)
		<-answer
		fmt.Fprint(w, "yes")
	})}}
	upstream.Start()
	t.Cleanup(upstream.Close)
	<-looked
	if shows(t, gateway, sentOn, 1) || !shows(t, gateway, queueSize, 1) {
		t.Error("a request is sent on although no replica serves")
	}
	close(loaded)
	if got, want := <-taken, `/v1/completions {"prompt":"are you there"} <nil>`; got != want {
		t.Errorf("upstream got %s, want %s", got, want)
	}
	if !shows(t, gateway, underWay, 1) || !shows(t, gateway, queueSize, 0) {
		t.Error("a request that a replica has taken is not running, or still held")
	}
	close(answer)
	if got := <-answered; got.status != http.StatusOK || got.body != "yes" {
		t.Errorf("got %+v, want the answer", got)
	}
	until(t, "the request is over", func() bool { return shows(t, gateway, underWay, 0) && shows(t, gateway, sentOn, 1) })
}

func TestTheGatewayForgetsARequestWhoseClientGoes(t *testing.T) {
	gateway := behind(t, "http://"+vacant(t))
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gateway.URL+"/v1/completions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(req) //nolint:bodyclose // it fails
		gone <- err
	}()
	until(t, "a request is held", func() bool { return shows(t, gateway, queueSize, 1) })
	leave()
	if err := <-gone; err == nil {
		t.Error("a request that no replica took was answered")
	}
	until(t, "nothing is held", func() bool { return shows(t, gateway, queueSize, 0) })
	if _, page := fetch(t, gateway.URL+"/metrics"); strings.Contains(page, sentOn) || strings.Contains(page, "error_total{") {
		t.Errorf("a client that left is counted as sent on or as an error:\n%s", page)
	}
}

func TestTheGatewaySaysThatAnAnswerBroke(t *testing.T) {
	upstream := httptest.NewServer(healthy(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(upstream.Close)
	gateway := behind(t, upstream.URL)
	status, body := post(t, gateway.URL+"/v1/completions", "{}")
	if want := "sending the request to " + upstream.URL; status != http.StatusBadGateway || !strings.Contains(body, want) {
		t.Errorf("got %d %s, want 502 that says %q", status, body, want)
	}
	if !shows(t, gateway, `inference_objective_request_error_total{model_name="meta/llama-3.1-8b",target_model_name="meta/llama-3.1-8b",error_code="ModelServerError"}`, 1) {
		t.Error("the page does not count the error")
	}
}

func TestTheGatewayPassesTokensOnAsTheyCome(t *testing.T) {
	rest := make(chan struct{})
	upstream := httptest.NewServer(healthy(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		<-rest
		fmt.Fprint(w, "data: last\n\n")
	}))
	t.Cleanup(upstream.Close)
	gateway := behind(t, upstream.URL)
	resp, err := http.Post(gateway.URL+"/v1/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); line != "data: first\n" {
		t.Fatalf("got %q %v while the answer goes on, want its first token", line, err)
	}
	close(rest)
	var last string
	for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
		last += line
	}
	if last != "\ndata: last\n\n" {
		t.Errorf("got %q, want the rest", last)
	}
}
