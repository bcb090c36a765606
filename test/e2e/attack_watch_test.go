//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// managerWatch looks at the managers while an attack lasts.
type managerWatch struct {
	c      *chartCluster
	probes *http.Client
	took   time.Duration // after which the decision followed the load, 0 if it did not

	looks  int
	failed map[string]int // probes by pod, in a row
	wrong  []string
	before map[string]int64 // memory by pod at the first look, bytes
	most   map[string]int64 // the most memory by pod, bytes
}

// A manager is not Ready to a kubelet after so many failed probes in a row, each of so
// long at the most, as Kubernetes has it by default. The kubelet asks every 5 s; an attack
// here may be shorter than three of its probes.
const (
	probesFailed = 3
	probeWithin  = time.Second
)

// watch looks twice a second until the test ends, and fails it for what was wrong.
func (c *chartCluster) watch(t *testing.T) *managerWatch {
	t.Helper()
	w := &managerWatch{
		c: c, failed: map[string]int{}, before: map[string]int64{}, most: map[string]int64{},
		// A connection for each probe, as the kubelet has.
		probes: &http.Client{Timeout: probeWithin, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			w.look(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		w.report(t)
	})
	return w
}

// look notes which manager is not Ready, was restarted or replaced, and what memory they
// have. The API server may answer slowly; what it says then is not about the managers.
func (w *managerWatch) look(ctx context.Context) {
	pods, err := w.c.managers(ctx)
	if err != nil {
		return
	}
	w.looks++
	if len(pods) != len(w.c.pods) {
		w.wrong = append(w.wrong, fmt.Sprintf("there are %d managers, want %d", len(pods), len(w.c.pods)))
	}
	for _, p := range pods {
		restarts, known := w.c.pods[p.UID]
		if len(p.Status.ContainerStatuses) == 0 {
			w.wrong = append(w.wrong, p.Name+" has no container yet")
			continue
		}
		status := p.Status.ContainerStatuses[0]
		switch {
		case !known:
			w.wrong = append(w.wrong, p.Name+" is a new pod")
		case status.RestartCount != restarts:
			w.wrong = append(w.wrong, fmt.Sprintf("%s was restarted: %s", p.Name, endOf(status)))
		case !isReady(p):
			w.wrong = append(w.wrong, fmt.Sprintf("%s is not Ready: %s", p.Name, endOf(status)))
		}
		if err := w.probe(ctx, p); err == nil {
			w.failed[p.Name] = 0
		} else if w.failed[p.Name]++; w.failed[p.Name] >= probesFailed && ctx.Err() == nil {
			w.wrong = append(w.wrong, fmt.Sprintf("%s failed %d probes in a row: %v", p.Name, w.failed[p.Name], err))
		}
		most, err := memoryOf(p, "VmHWM")
		if err != nil {
			continue // it does not run, which is wrong already
		}
		w.most[p.Name] = max(w.most[p.Name], most)
		if w.before[p.Name] == 0 {
			w.before[p.Name], _ = memoryOf(p, "VmRSS") // nor then
		}
	}
}

// probe asks a manager whether it is ready, as the kubelet does.
func (w *managerWatch) probe(ctx context.Context, p corev1.Pod) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Status.PodIP+":8081/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := w.probes.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// report says what the looks saw, and fails the test for what was wrong.
func (w *managerWatch) report(t *testing.T) {
	if w.looks < 3 {
		t.Errorf("the managers were looked at %d times, want at least 3", w.looks)
	}
	for i, text := range w.wrong {
		if i == 3 {
			t.Errorf("and %d more, at %d looks", len(w.wrong)-i, w.looks)
			break
		}
		t.Error(text)
	}
	if len(w.most) < len(w.c.pods) {
		t.Errorf("the memory of %d managers was read, want that of %d", len(w.most), len(w.c.pods))
	}
	for pod, most := range w.most {
		if most >= w.c.limit {
			t.Errorf("%s had %d MiB, want less than its limit of %d", pod, most>>20, w.c.limit>>20)
		}
		t.Logf("%s had %d MiB before and at most %d MiB since it started, of %d", pod, w.before[pod]>>20, most>>20, w.c.limit>>20)
	}
	t.Logf("a replica for the other namespace was decided %s after its load began; %d looks", w.took.Round(100*time.Millisecond), w.looks)
}

// endOf says how a container ended last.
func endOf(s corev1.ContainerStatus) string {
	for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
		if e := state.Terminated; e != nil {
			return fmt.Sprintf("%s, exit code %d, at %s", e.Reason, e.ExitCode, e.FinishedAt.Format(time.TimeOnly))
		}
	}
	return "it has not ended"
}

// memoryOf returns a quantity of memory that the kernel tells of the process of a
// manager [bytes]: VmRSS is what it has, VmHWM the most that it had.
func memoryOf(p corev1.Pod, quantity string) (int64, error) {
	own := []byte("--health-probe-bind-address=" + p.Status.PodIP + ":")
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, fmt.Errorf("looking for the process of %s: %w", p.Name, err)
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(line, own) {
			continue // it has ended, or is another
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		if err != nil {
			return 0, fmt.Errorf("reading the memory of %s: %w", p.Name, err)
		}
		for text := range strings.Lines(string(status)) {
			var kib int64
			if _, err := fmt.Sscanf(text, quantity+": %d kB", &kib); err == nil {
				return kib << 10, nil
			}
		}
	}
	return 0, fmt.Errorf("no process of %s at %s tells its memory", p.Name, p.Status.PodIP)
}
