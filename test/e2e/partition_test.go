//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestAManagerThatIsCutOffHoldsAndRecovers: neither the API server nor Prometheus
// can be reached for half a minute. The manager lives, nothing moves, it does not
// hammer at the door, and all is well soon after, with a handful of writes.
func TestAManagerThatIsCutOffHoldsAndRecovers(t *testing.T) {
	const ns, length = "partition", 30 * time.Second
	api, prometheus := cable(t, shared.bed.State.APIServer), cable(t, shared.bed.State.Prometheus)
	kubeconfig := through(t, api)
	restart(t, testbed.ManagerOptions{Interval: interval, Prometheus: "http://" + prometheus.address(), Env: []string{
		"KUBECONFIG=" + kubeconfig, "PROMETHEUS_TIMEOUT=1s", "PROMETHEUS_METRICS_CACHE_TTL=5s",
	}})
	t.Cleanup(func() { restart(t, testbed.ManagerOptions{Interval: interval}) })
	v := aside(ns, "held")
	v.NoHPA, v.Min = false, 2
	deploy(t, v)
	condition(t, 2*time.Minute, ns, v.Name, "Ready", "True", "Ready")
	before := settled(t, ns, v.Name)

	said := len(errorsOf(t))
	api.cut()
	prometheus.cut()
	consistently(t, length, func(ctx context.Context) string {
		select {
		case <-shared.manager.Done():
			return fmt.Sprintf("the manager has ended: %v", shared.manager.Err())
		default:
		}
		d, err := deployment(ctx, ns, v.Name)
		if err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas != 2 {
			return fmt.Sprintf("the target has %d replicas, want 2", *d.Spec.Replicas)
		}
		return ""
	})
	// Each of a dozen watches and the one object with something to write, with back-off.
	if lines := errorsOf(t)[said:]; len(lines) > 300 {
		t.Errorf("%d errors logged in %s, the last of them %s", len(lines), length, lines[len(lines)-1])
	}
	healed := time.Now()
	api.mend()
	prometheus.mend()
	condition(t, time.Minute, ns, v.Name, "MetricsAvailable", "True", "MetricsFound")
	condition(t, time.Minute, ns, v.Name, "Ready", "True", "Ready")
	after := settled(t, ns, v.Name)
	if was, is := before.Status.DesiredOptimizedAlloc.NumReplicas, after.Status.DesiredOptimizedAlloc.NumReplicas; was != is {
		t.Errorf("the decision was %d and is %d", was, is)
	}
	own := 0
	for _, w := range written(t, healed) {
		if w.Resource == "variantautoscalings" && w.Name == v.Name && w.Namespace == ns {
			own++
		}
	}
	t.Logf("%d errors logged in %s without a network, %d writes after it", len(errorsOf(t))-said, length, own)
	if own > 5 {
		t.Errorf("%d writes of one status once the API server was back, want at most 5", own)
	}
}

// errorsOf returns the lines at level ERROR in the log of the manager.
func errorsOf(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(shared.manager.Log)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(`"level":"ERROR"`)) {
			out = append(out, string(line))
		}
	}
	return out
}

// through writes a kubeconfig of the manager's account that goes over a wire.
func through(t *testing.T, w *wire) string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(shared.bed.Dir, "manager.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(config), shared.bed.Config.Host, "https://"+w.address())
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wire is a TCP connection point that can be cut.
type wire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

// cable returns a wire to the host of a URL, until the test ends.
func cable(t *testing.T, address string) *wire {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: u.Host, conns: map[net.Conn]bool{}}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			from, err := w.listener.Accept()
			if err != nil {
				return // closed
			}
			serving.Go(func() { w.carry(from) })
		}
	})
	t.Cleanup(func() {
		w.listener.Close()
		w.cut()
		serving.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

// carry copies both ways until one side ends or the wire is cut.
func (w *wire) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()
	defer w.release(from, to)
	if !w.hold(from, to) {
		return
	}
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

// hold notes what a cut ends, and reports whether the wire is whole.
func (w *wire) hold(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.conns[c] = true
	}
	return !w.down
}

func (w *wire) release(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		delete(w.conns, c)
	}
}

// cut ends what goes through, and lets nothing through until mend.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.conns {
		c.Close()
	}
	clear(w.conns)
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}
