package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Forwarder passes connections on. Make one with New.
type Forwarder struct {
	backends []*backend
	out      io.Writer
	period   time.Duration

	mu   sync.Mutex
	next int // backend whose turn it is
}

// timeout limits a check and the start of a connection to a backend: the default of a kubelet's
// probe.
const timeout = time.Second

// Options configures New.
type Options struct {
	Backends []Backend
	// Period is the time between two checks of a backend; 0 is one second.
	Period time.Duration
	// Out gets a line whenever the readiness of a backend changes. Required.
	Out io.Writer
}

// New returns a Forwarder. No backend of it is ready yet. Options without a backend are an error.
func New(o Options) (*Forwarder, error) {
	if len(o.Backends) == 0 {
		return nil, errors.New("forwarding connections: there is no backend, want at least one")
	}
	if o.Period == 0 {
		o.Period = time.Second
	}
	f := &Forwarder{out: o.Out, period: o.Period}
	for _, b := range o.Backends {
		f.backends = append(f.backends, &backend{Backend: b})
	}
	return f, nil
}

// Serve accepts connections until ctx ends, and closes the listener and every connection before it
// returns. It checks every backend once before it accepts the first connection.
func (f *Forwarder) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()

	var first sync.WaitGroup
	for _, b := range f.backends {
		first.Add(1)
		group.Go(func() { f.watch(ctx, b, first.Done) })
	}
	first.Wait()
	for {
		client, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				listener.Close()
				return nil
			}
			return fmt.Errorf("accepting a connection on %s: %w", listener.Addr(), err)
		}
		group.Go(func() { f.pass(ctx, client) })
	}
}

// watch checks a backend each period until ctx ends, and calls checked after the first check.
func (f *Forwarder) watch(ctx context.Context, b *backend, checked func()) {
	f.check(ctx, b)
	checked()
	tick := time.NewTicker(f.period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.check(ctx, b)
		}
	}
}

func (f *Forwarder) check(ctx context.Context, b *backend) {
	attempt, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	why := b.probe(attempt)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !b.note(why) || ctx.Err() != nil:
	case b.ready:
		fmt.Fprintln(f.out, b.Address, "is ready")
	default:
		fmt.Fprintln(f.out, b.Address, "is not ready any more:", why)
	}
}

// choose returns the ready backend whose turn it is, nil if there is none.
func (f *Forwarder) choose() *backend {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.backends {
		b := f.backends[f.next]
		f.next = (f.next + 1) % len(f.backends)
		if b.ready {
			return b
		}
	}
	return nil
}

// pass joins a client with a backend until both directions have ended.
func (f *Forwarder) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	b := f.choose()
	if b == nil {
		return
	}
	dialer := net.Dialer{Timeout: timeout}
	server, err := dialer.DialContext(ctx, "tcp", b.Address)
	if err != nil {
		return // as from an endpoint that is gone: the client sees its connection end
	}
	Join(ctx, client, server)
}

// Join copies between client and server until both have ended or ctx is done, and closes both.
func Join(ctx context.Context, client, server io.ReadWriteCloser) {
	defer client.Close()
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	var both sync.WaitGroup
	both.Go(func() { oneWay(server, client) })
	both.Go(func() { oneWay(client, server) })
	both.Wait()
}

// oneWay copies from src to dst until src ends, and closes this direction of dst. When dst accepts
// no more, it closes src, so that the sender sees it.
func oneWay(dst io.WriteCloser, src io.ReadCloser) {
	if _, err := io.Copy(dst, src); err != nil {
		src.Close()
	}
	half := dst.Close // a stream that is multiplexed with others: Close ends only this direction
	if tcp, ok := dst.(*net.TCPConn); ok {
		half = tcp.CloseWrite
	}
	_ = half() // it may be closed already
}
