package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

// fairnessHeader names the flow that a request belongs to.
const fairnessHeader = "X-Gateway-Inference-Fairness-Id"

const (
	// retryAfter is the time until the gateway checks again whether a replica serves.
	retryAfter = 200 * time.Millisecond
	// patience is the longest time of such a check: in some networks a Service without pods does
	// not refuse connections.
	patience = time.Second
)

// GatewayOptions configure a Gateway. Model and Upstream are required.
type GatewayOptions struct {
	Model    string      // ID of the model that every request is for
	Upstream *url.URL    // base URL of the replicas, such as a Service
	Clock    clock.Clock // nil = the real one
}

// Gateway is a gateway in front of one model, with the page of an endpoint picker (EPP). It
// forwards each request over a new connection, so that a Service spreads them, and holds it while
// no replica answers /health with 200. It needs no cluster, and does not know the number of
// replicas. Make it with NewGateway; its methods may be called from any goroutine.
type Gateway struct {
	upstream *url.URL
	clock    clock.Clock
	next     http.RoundTripper

	mu   sync.Mutex
	pool *pool // guarded by mu
}

// NewGateway returns a gateway without requests.
func NewGateway(o GatewayOptions) *Gateway {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Gateway{
		upstream: o.Upstream,
		clock:    o.Clock,
		next:     &http.Transport{DialContext: (&net.Dialer{Timeout: patience}).DialContext, DisableKeepAlives: true},
		pool:     newPool(ModelKey{ID: o.Model}),
	}
}

// Handler returns the HTTP handler: it forwards /v1/..., serves the metrics page at
// /metrics, and answers "ok" at /healthz.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", g.forward)
	mux.HandleFunc("GET /metrics", g.page)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

// forward sends one request to a replica and returns its answer.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, badRequest("", "reading the body: %v", err))
		return
	}
	p := g.enter(r.Header.Get(fairnessHeader), body)
	defer p.end()
	proxy := httputil.ReverseProxy{
		Rewrite:   func(to *httputil.ProxyRequest) { to.SetURL(g.upstream) },
		Transport: p,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			writeError(w, &apiError{Status: http.StatusBadGateway, Type: "BadGatewayError", Message: err.Error()})
		},
	}
	proxy.ServeHTTP(w, r)
}

func (g *Gateway) page(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	var page exposition.Page
	writeFlowControl(&page, []*pool{g.pool})
	writeObjectives(&page, []*pool{g.pool})
	g.mu.Unlock()
	w.Header().Set("Content-Type", exposition.ContentType)
	_, _ = w.Write(page.Bytes())
}

// passage is one request in a Gateway.
type passage struct {
	gateway *Gateway
	flow    *flow
	body    []byte
	entered time.Time
	sent    bool // guarded by gateway.mu
}

var _ http.RoundTripper = (*passage)(nil)

// enter takes a request into flow control.
func (g *Gateway) enter(fairness string, body []byte) *passage {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &passage{gateway: g, flow: g.pool.flowOf(fairness), body: body, entered: g.clock.Now()}
	p.flow.enter()
	return p
}

// RoundTrip waits until a replica serves, or the client has disconnected.
func (p *passage) RoundTrip(r *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { p.dispatch() }}
	ctx := httptrace.WithClientTrace(r.Context(), trace)
	for {
		if p.gateway.served(r.Context()) {
			try := r.Clone(ctx)
			try.Body = io.NopCloser(bytes.NewReader(p.body))
			resp, err := p.gateway.next.RoundTrip(try)
			switch {
			case err == nil:
				return resp, nil
			case ctx.Err() != nil:
				return nil, errClientGone
			case !isConnectionRefused(err): // a refused connection means that the last replica has just gone
				p.broken()
				return nil, fmt.Errorf("sending the request to %s: %w", p.gateway.upstream, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil, errClientGone
		case <-p.gateway.clock.After(retryAfter):
		}
	}
}

// served reports whether a replica answers /health with 200.
func (g *Gateway) served(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.upstream.JoinPath("health").String(), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// isConnectionRefused reports whether err means that no connection could be made.
func isConnectionRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// dispatch records that a replica takes the request.
func (p *passage) dispatch() {
	g := p.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.sent {
		return
	}
	p.sent = true
	p.flow.leave(outcomeDispatched, g.clock.Since(p.entered))
	g.pool.dispatches.observe(0)
	g.pool.requests++
	g.pool.running++
	g.pool.hasRequests = true
}

// broken records that the connection broke before the answer began.
func (p *passage) broken() {
	p.gateway.mu.Lock()
	defer p.gateway.mu.Unlock()
	p.gateway.pool.countError(errGone)
}

// end records that the request is over.
func (p *passage) end() {
	g := p.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.sent {
		g.pool.running--
		return
	}
	p.flow.leave(outcomeCancelled, g.clock.Since(p.entered))
}
