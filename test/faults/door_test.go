package faults

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// door is the way of one manager to the API server. A fault stands in it, and it notes
// what goes through.
type door struct {
	address string // host and port
	server  *httptest.Server

	mu    sync.Mutex
	fault fault
	seen  []request
}

// fault answers a request in place of the API server, or hands it over by next.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// request is one that came to the door.
type request struct {
	at           time.Time
	method, path string
	watch        bool
}

// writes reports whether a request changes an object that users see. Those that
// renew a lease, write an event or review a token do not.
func (r request) writes() bool {
	return r.method != http.MethodGet && !strings.HasPrefix(r.path, "/apis/coordination.k8s.io/") && !strings.Contains(r.path, "/events") &&
		!strings.HasPrefix(r.path, "/apis/authentication.k8s.io/") && !strings.HasPrefix(r.path, "/apis/authorization.k8s.io/")
}

// open returns a door without a fault, until the test ends.
func open(t *testing.T) *door {
	t.Helper()
	bed := cluster(t)
	to, err := url.Parse(bed.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := bed.Issue("door")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(bed.State.CACert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	quiet := log.New(io.Discard, "", 0) // of connections that a test cuts
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 100}
	through := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorLog: quiet, FlushInterval: -1, Transport: transport,
	}
	d := &door{}
	d.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		fault := d.fault
		d.seen = append(d.seen, request{time.Now(), r.Method, r.URL.Path, r.URL.Query().Get("watch") == "true"})
		d.mu.Unlock()
		if fault == nil {
			through.ServeHTTP(w, r)
			return
		}
		fault(w, r, through)
	}))
	d.server.Config.ErrorLog = quiet
	d.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	d.server.StartTLS()
	d.address = d.server.Listener.Addr().String()
	t.Cleanup(func() {
		d.breaks(nil)
		d.server.CloseClientConnections()
		transport.CloseIdleConnections()
		d.server.Close()
	})
	return d
}

// breaks puts a fault into the door; nil takes it away. What is under way goes on.
func (d *door) breaks(f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// cut ends every connection, watches too.
func (d *door) cut() { d.server.CloseClientConnections() }

// since returns what came to the door since then.
func (d *door) since(then time.Time) []request {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []request
	for _, r := range d.seen {
		if r.at.After(then) {
			out = append(out, r)
		}
	}
	return out
}

// closed is the fault of an API server that cannot be reached.
func closed(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

// status answers with an object Status.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(
		w,
		fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code),
	) // the client may be gone
}
