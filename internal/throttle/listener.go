package throttle

import (
	"net"
	"slices"
	"sync"
)

// Connections bounds the connections that are open at one time.
type Connections struct {
	All        int // of every address together, at least 1
	PerAddress int // of one address, at least 1
}

// Listen returns a listener that accepts the connections of l within most. A connection beyond the
// limit of its address is closed at once. A connection beyond All replaces the oldest one of the
// address that holds most, or is closed where its own address holds as many. Closing the listener
// closes l.
func Listen(l net.Listener, most Connections) net.Listener {
	return &listener{Listener: l, most: most, held: map[string][]*connection{}}
}

type listener struct {
	net.Listener
	most Connections

	mu   sync.Mutex
	all  int
	held map[string][]*connection // by address, the oldest first
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, of: l, address: host(accepted.RemoteAddr())}
		evicted, ok := l.take(c)
		if evicted != nil {
			_ = evicted.Close()
		}
		if ok {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// take makes room for a connection and reports whether it could. evicted is the connection that is
// replaced, nil for none.
func (l *listener) take(c *connection) (evicted *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := len(l.held[c.address])
	if own >= l.most.PerAddress {
		return nil, false
	}
	if l.all >= l.most.All {
		most := ""
		for address, held := range l.held {
			if n := len(l.held[most]); len(held) > n || len(held) == n && address < most {
				most = address
			}
		}
		if len(l.held[most]) <= own {
			return nil, false
		}
		evicted = l.held[most][0]
		l.drop(evicted)
	}
	l.held[c.address] = append(l.held[c.address], c)
	l.all++
	return evicted, true
}

// drop forgets a connection; a second call does nothing. The caller holds the lock.
func (l *listener) drop(c *connection) {
	held := l.held[c.address]
	i := slices.Index(held, c)
	if i < 0 {
		return
	}
	l.all--
	if l.held[c.address] = slices.Delete(held, i, i+1); len(held) == 1 {
		delete(l.held, c.address)
	}
}

// connection frees its place when it is closed.
type connection struct {
	net.Conn
	of      *listener
	address string
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.drop(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// host returns an address without its port.
func host(of net.Addr) string {
	name, _, err := net.SplitHostPort(of.String())
	if err != nil {
		return of.String()
	}
	return name
}
