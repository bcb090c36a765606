package forward

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const period = 20 * time.Millisecond

// instance is a backend under test: it greets with its name, and repeats what it
// is told.
type instance struct {
	name     string
	listener net.Listener
	probes   *httptest.Server
	ready    atomic.Bool
}

func newInstance(t *testing.T, name string) *instance {
	t.Helper()
	i := &instance{name: name, listener: listen(t)}
	i.ready.Store(true)
	i.probes = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !i.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(i.probes.Close)
	go func() {
		for {
			c, err := i.listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, name)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return i
}

func (i *instance) backend() Backend {
	return Backend{Address: i.listener.Addr().String(), Ready: i.probes.URL}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serve forwards to instances until the test ends, and returns where.
func serve(t *testing.T, instances ...*instance) (address string) {
	t.Helper()
	o := Options{Period: period, Out: t.Output()}
	for _, i := range instances {
		o.Backends = append(o.Backends, i.backend())
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// greeting connects and returns which instance answers, "" for none.
func greeting(t *testing.T, address string) string {
	t.Helper()
	c := connect(t, address)
	defer c.Close()
	return hear(c)
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func hear(c net.Conn) string {
	text := make([]byte, 1)
	n, _ := io.ReadFull(c, text)
	return string(text[:n])
}

// eventually waits for what the forwarder notices at its next check.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(period)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Second); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("not so in time: " + what)
		}
	}
}

func TestConnectionsGoToReadyBackendsInTurn(t *testing.T) {
	a, b := newInstance(t, "a"), newInstance(t, "b")
	address := serve(t, a, b)
	four := func() (who string) {
		for range 4 {
			who += greeting(t, address)
		}
		return who
	}
	if got := four(); got != "abab" {
		t.Errorf("four connections went to %q, want abab", got)
	}
	a.ready.Store(false)
	eventually(t, "all connections go to b", func() bool { return four() == "bbbb" })
	b.ready.Store(false)
	eventually(t, "no connection is taken", func() bool { return four() == "" })
	a.ready.Store(true)
	eventually(t, "all connections go to a", func() bool { return four() == "aaaa" })
}

func TestAConnectionStaysWhereItIsWhileItsBackendIsNotReady(t *testing.T) {
	a, b := newInstance(t, "a"), newInstance(t, "b")
	address := serve(t, a, b)
	c := connect(t, address)
	defer c.Close()
	if got := hear(c); got != "a" {
		t.Fatalf("the first connection went to %q, want a", got)
	}
	a.ready.Store(false)
	eventually(t, "new connections go to b", func() bool { return greeting(t, address)+greeting(t, address) == "bb" })
	if _, err := io.WriteString(c, "!"); err != nil {
		t.Fatal(err)
	}
	if got := hear(c); got != "!" {
		t.Errorf("the open connection answers %q, want what it was told", got)
	}
}

func TestWhatOneSideHasEndedTheOtherSideLearns(t *testing.T) {
	address := serve(t, newInstance(t, "a"))
	c := connect(t, address)
	defer c.Close()
	if _, err := io.WriteString(c, "last words"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "alast words" {
		t.Errorf("read %q, %v, want all that was said and then the end", got, err)
	}
}

func TestABackendThatDiedEndsItsConnectionsAndTakesNoMore(t *testing.T) {
	a, b := newInstance(t, "a"), newInstance(t, "b")
	address := serve(t, a, b)
	a.probes.Close()
	a.listener.Close()
	eventually(t, "every connection goes to b", func() bool {
		return greeting(t, address)+greeting(t, address)+greeting(t, address) == "bbb"
	})
}

func TestServeEndsOpenConnections(t *testing.T) {
	f, err := New(Options{Period: period, Out: t.Output(), Backends: []Backend{newInstance(t, "a").backend()}})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, l) }()
	c := connect(t, l.Addr().String())
	defer c.Close()
	if got := hear(c); got != "a" {
		t.Fatalf("the connection went to %q, want a", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got := hear(c); got != "" {
		t.Errorf("the connection still says %q", got)
	}
}

func TestABackendIsReadyUntilItIsGoneOrHasFailedThreeChecks(t *testing.T) {
	slow, gone := context.DeadlineExceeded, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	tests := []struct {
		name   string
		checks []error
		want   bool
	}{
		{"never asked", nil, false},
		{"it answers", []error{nil}, true},
		{"it never answered", []error{slow}, false},
		{"two failures", []error{nil, slow, slow}, true},
		{"three failures", []error{nil, slow, slow, slow}, false},
		{"not in a row", []error{nil, slow, slow, nil, slow, slow}, true},
		{"no server listens", []error{nil, gone}, false},
		{"back again", []error{nil, slow, slow, slow, nil}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b backend
			for _, err := range tt.checks {
				b.note(err)
			}
			if b.ready != tt.want {
				t.Errorf("ready: %t, want %t", b.ready, tt.want)
			}
		})
	}
}

func TestNewRefusesToHaveNoBackend(t *testing.T) {
	if _, err := New(Options{Out: t.Output()}); err == nil {
		t.Error("it accepted no backend")
	}
}

func TestParseBackend(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"both parts", "127.0.0.1:80=http://127.0.0.1:81/readyz", ""},
		{"no URL", "127.0.0.1:80", "want ADDRESS=URL"},
		{"no port", "127.0.0.1=http://127.0.0.1:81/readyz", "missing port"},
		{"not a URL", "127.0.0.1:80=readyz", `is "readyz", want http://`},
		{"no host", "127.0.0.1:80=http:///readyz", "want http://HOST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseBackend(tt.text)
			if tt.want == "" {
				if want := (Backend{Address: "127.0.0.1:80", Ready: "http://127.0.0.1:81/readyz"}); err != nil || got != want {
					t.Errorf("got %+v, %v, want %+v", got, err, want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to say %q", err, tt.want)
			}
		})
	}
}
