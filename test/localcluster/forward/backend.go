package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// Backend is one process to which connections can go.
type Backend struct {
	Address string // host:port
	Ready   string // URL that answers 200 while it accepts connections
}

// ParseBackend reads ADDRESS=URL, the form of a command line.
func ParseBackend(text string) (Backend, error) {
	to, ready, found := strings.Cut(text, "=")
	if !found {
		return Backend{}, fmt.Errorf("backend %q: want ADDRESS=URL", text)
	}
	if _, _, err := net.SplitHostPort(to); err != nil {
		return Backend{}, fmt.Errorf("backend %q: the address: %w", text, err)
	}
	if u, err := url.Parse(ready); err != nil || u.Scheme != "http" || u.Host == "" {
		return Backend{}, fmt.Errorf("backend %q: the readiness URL is %q, want http://HOST:PORT/PATH", text, ready)
	}
	return Backend{Address: to, Ready: ready}, nil
}

// failureThreshold is the default of a kubelet: an answer that a busy machine delays is not the end
// of a process.
const failureThreshold = 3

// backend is a Backend and its readiness, under the Forwarder's lock.
type backend struct {
	Backend
	ready    bool
	failures int // in a row
}

// note records the outcome of a check, and reports whether readiness has changed.
func (b *backend) note(err error) (changed bool) {
	was := b.ready
	switch {
	case err == nil:
		b.ready, b.failures = true, 0
	case errors.Is(err, syscall.ECONNREFUSED): // the process has ended, which a kubelet sees at once
		b.ready = false
	default:
		b.failures++
		b.ready = b.ready && b.failures < failureThreshold
	}
	return b.ready != was
}

// probe returns why the backend is not ready, nil if it is.
func (b *backend) probe(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.Ready, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: %w", b.Ready, err)
	}
	req.Close = true // an open connection would answer for a process that accepts no new ones
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", b.Ready, resp.Status)
	}
	return nil
}
