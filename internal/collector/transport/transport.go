package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"sync"
)

// Transport is an http.RoundTripper whose certificates follow their files. It is
// safe for concurrent use.
type Transport struct {
	files Files
	make  func(*tls.Config) *http.Transport

	mu      sync.Mutex
	looked  os.FileInfo // of the file of authorities, when it was read
	caPEM   []byte      // of current
	current *http.Transport
}

var _ http.RoundTripper = (*Transport)(nil)

// maxHeaders limits the status line and the headers of an answer, in bytes. Those of Prometheus and
// of a page take less than one kilobyte. The 10 MB of net/http would be held several times over in
// the error about a line that is no HTTP.
const maxHeaders = 64 << 10

// New returns a Transport, or what is wrong with the file of authorities. build makes the HTTP
// transport for a TLS configuration, each time that the authorities change. An answer with more
// than 64 KiB of headers is an error.
func New(files Files, build func(*tls.Config) *http.Transport) (*Transport, error) {
	t := &Transport{files: files, make: func(secure *tls.Config) *http.Transport {
		made := build(secure)
		made.MaxResponseHeaderBytes = maxHeaders
		return made
	}}
	var pool *x509.CertPool
	if files.follows() {
		var err error
		t.looked, _ = os.Stat(files.CACert)
		if t.caPEM, pool, err = readAuthorities(files.CACert); err != nil {
			return nil, err
		}
	}
	t.current = t.make(files.config(pool))
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.refreshed().RoundTrip(req)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	current := t.current
	t.mu.Unlock()
	current.CloseIdleConnections()
}

// refreshed returns the transport that trusts the present authorities of the file.
func (t *Transport) refreshed() *http.Transport {
	if !t.files.follows() {
		return t.current // never replaced
	}
	look, err := os.Stat(t.files.CACert)
	t.mu.Lock()
	unchanged := err != nil || same(t.looked, look)
	current := t.current
	t.mu.Unlock()
	if unchanged {
		return current
	}
	pem, pool, err := readAuthorities(t.files.CACert)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		return t.current
	}
	t.looked = look
	if !bytes.Equal(pem, t.caPEM) {
		t.current.CloseIdleConnections()
		t.caPEM, t.current = pem, t.make(t.files.config(pool))
	}
	return t.current
}

// same reports whether two checks found the same file, not written in between.
func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
