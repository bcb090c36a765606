package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// memory is a network inside the process: a listener and the transport that
// reaches it. Under testing/synctest its traffic takes no time.
type memory struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.connections:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.connections <- far:
		return near, nil
	case <-m.closed:
		return nil, errors.New("the server is closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve starts an HTTP server in memory and returns options that reach it.
func serve(t *testing.T, handler http.HandlerFunc) Options {
	t.Helper()
	m := &memory{connections: make(chan net.Conn), closed: make(chan struct{})}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = m
	server.Start()
	transport := &http.Transport{DialContext: m.dial, MaxIdleConnsPerHost: 1000}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return Options{URL: server.URL + "/ns/meta/llama", Model: "meta/llama", Transport: transport, Seed: 1}
}

// model answers every request with its max_tokens tokens, one each.
type model struct {
	ttft, itl time.Duration
	usage     bool // report it, and pack two tokens into each event
}

func (m model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request completionRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	words := len(strings.Fields(request.Prompt))
	switch {
	case r.URL.Path != "/ns/meta/llama/v1/completions":
		http.Error(w, "path "+r.URL.Path, http.StatusNotFound)
		return
	case request.Model != "meta/llama" || !request.Stream || !request.IgnoreEOS || !request.StreamOptions.IncludeUsage:
		http.Error(w, fmt.Sprintf("request %+v", request), http.StatusBadRequest)
		return
	case r.Header.Get("X-Input-Tokens") != strconv.Itoa(words):
		http.Error(w, fmt.Sprintf("%d words, header %s", words, r.Header.Get("X-Input-Tokens")), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	events := request.MaxTokens
	if m.usage {
		events /= 2
	}
	time.Sleep(m.ttft)
	for i := range events {
		if i > 0 {
			time.Sleep(m.itl)
		}
		say(w, `{"choices":[{"text":"word "}],"usage":null}`)
	}
	if m.usage {
		say(w, fmt.Sprintf(`{"choices":[],"usage":{"completion_tokens":%d}}`, request.MaxTokens))
	}
	say(w, "[DONE]")
}

// say sends one event.
func say(w http.ResponseWriter, data string) {
	fmt.Fprintf(w, ": comment\ndata: %s\n\n", data)
	w.(http.Flusher).Flush()
}

// every returns n requests of 5 input and output tokens, one each gap.
func every(gap time.Duration, n, output int) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		for i := range n {
			if !yield(workload.Request{At: time.Duration(i) * gap, InputTokens: 5, OutputTokens: output}, nil) {
				return
			}
		}
	}
}

// hang returns when the client has gone, which a server notices only after it
// has read the request.
func hang(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
