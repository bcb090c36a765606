package throttle

import (
	"fmt"
	"net"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// callers is a listener of connections from addresses that a test names.
type callers chan net.Conn

func (c callers) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (callers) Close() error   { return nil }
func (callers) Addr() net.Addr { return &net.TCPAddr{} }

// call is a connection from an address.
type call struct {
	net.Conn
	from   string
	closed bool
}

func (c *call) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1}
}

func (c *call) Close() error {
	c.closed = true
	return nil
}

// dial lets addresses call one after the other, and returns their connections and
// the accepted of them.
func dial(t *testing.T, most Connections, from ...string) (calls []*call, accepted []net.Conn) {
	t.Helper()
	incoming := make(callers, len(from))
	for _, address := range from {
		calls = append(calls, &call{from: address})
		incoming <- calls[len(calls)-1]
	}
	close(incoming)
	l := Listen(incoming, most)
	for {
		conn, err := l.Accept()
		if err != nil {
			return calls, accepted
		}
		accepted = append(accepted, conn)
	}
}

func TestEachAddressHoldsAtMostItsConnections(t *testing.T) {
	const a, b, c = "10.0.0.1", "10.0.0.2", "10.0.0.3"
	for _, tt := range []struct {
		name string
		from []string
		open []bool // of each call, afterwards
	}{
		{"within the bounds", []string{a, b, a}, []bool{true, true, true}},
		{"one address asks for more than its share", []string{a, a, a, b}, []bool{true, true, false, true}},
		{"a new address takes the place of the oldest of the client that holds most", []string{b, a, a, c}, []bool{true, false, true, true}},
		{"a client that holds as many as any takes no place", []string{a, b, c, a}, []bool{true, true, true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls, _ := dial(t, Connections{All: 3, PerAddress: 2}, tt.from...)
			for i, c := range calls {
				if c.closed == tt.open[i] {
					t.Errorf("call %d, of %s: closed %t, want open %t", i, c.from, c.closed, tt.open[i])
				}
			}
		})
	}
}

func TestAClosedConnectionGivesItsPlaceBackOnce(t *testing.T) {
	l := Listen(nil, Connections{All: 2, PerAddress: 2}).(*listener)
	first := &connection{Conn: &call{}, of: l, address: "a"}
	second := &connection{Conn: &call{}, of: l, address: "a"}
	for _, c := range []*connection{first, second} {
		if _, ok := l.take(c); !ok {
			t.Fatal("a connection within the bounds is refused")
		}
	}
	_, _ = first.Close(), first.Close()
	if l.all != 1 || len(l.held["a"]) != 1 {
		t.Errorf("%d connections are open, %d of the address; want 1 and 1", l.all, len(l.held["a"]))
	}
	_ = second.Close()
	if l.all != 0 || len(l.held) != 0 {
		t.Errorf("%d connections are open, of %d addresses; want none", l.all, len(l.held))
	}
}

func TestAnAddressIsHeardAgainAfterAnInterval(t *testing.T) {
	clk := testingclock.NewFakePassiveClock(time.Unix(1_000, 0))
	r := NewRefusals(clk, 3, time.Second)
	for i := range 3 {
		if r.TooMany("10.0.0.1") {
			t.Fatalf("refused after %d refusals, want 3", i)
		}
		r.Add("10.0.0.1")
	}
	if !r.TooMany("10.0.0.1") {
		t.Error("heard after three refusals")
	}
	if r.TooMany("10.0.0.2") {
		t.Error("another address is refused")
	}
	clk.SetTime(clk.Now().Add(time.Second))
	if r.TooMany("10.0.0.1") {
		t.Error("not heard a second later")
	}
}

func TestNotEveryAddressIsRemembered(t *testing.T) {
	clk := testingclock.NewFakePassiveClock(time.Unix(1_000, 0))
	r := NewRefusals(clk, 3, time.Second)
	for i := range 3 * maxCallers {
		r.Add(fmt.Sprintf("2001:db8::%x", i))
	}
	if len(r.spent) > maxCallers+1 {
		t.Errorf("%d addresses are remembered, want at most %d", len(r.spent), maxCallers+1)
	}
	if !r.TooMany("2001:db8:1::1") {
		t.Error("an address beyond those that are remembered is heard, whatever others did")
	}
	clk.SetTime(clk.Now().Add(4 * time.Second))
	r.Add("10.0.0.1")
	if len(r.spent) != 1 {
		t.Errorf("%d addresses are remembered after all had their burst back, want 1", len(r.spent))
	}
}
