package faulty

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Fault answers a request in place of the store, or passes it on to the store.
type Fault func(w http.ResponseWriter, r *http.Request, store http.Handler)

// Proxy is a server in front of a store. Its methods are safe for concurrent
// use.
type Proxy struct {
	mu      sync.Mutex
	store   http.Handler
	fault   Fault
	asked   int
	address string
	server  *http.Server // nil while connections are refused
	serving sync.WaitGroup
}

// New returns a proxy that listens on a port of the loopback interface and passes all requests on
// to store.
func New(store http.Handler) (*Proxy, error) {
	p := &Proxy{store: store, address: "127.0.0.1:0"}
	return p, p.Accept()
}

// URL returns the base URL of the API. It stays the same while connections are
// refused.
func (p *Proxy) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return "http://" + p.address
}

// Accept accepts connections, also after Refuse.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", p.address, err)
	}
	p.address = listener.Addr().String()
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.server = server
	p.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic("faulty: serving: " + err.Error())
		}
	})
	return nil
}

// Refuse closes all connections and accepts no more. It returns when the port is closed.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Close()
	p.serving.Wait()
	if err != nil {
		return fmt.Errorf("closing %s: %w", p.URL(), err)
	}
	return nil
}

// Break puts a fault between clients and the store; nil removes it.
func (p *Proxy) Break(fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Replace puts another store in place of the present one.
func (p *Proxy) Replace(store http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store = store
}

// Asked returns the number of requests so far.
func (p *Proxy) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked++
	store, fault := p.store, p.fault
	p.mu.Unlock()
	if fault == nil {
		store.ServeHTTP(w, r)
		return
	}
	fault(w, r, store)
}
