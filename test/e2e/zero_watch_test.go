//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// scaled is a number of replicas that a Deployment was told to have.
type scaled struct {
	at       time.Time // when a watch told of it
	name     string
	replicas int32
}

// scaleLog is what the Deployments of a namespace were told, as it happened.
type scaleLog struct {
	mu  sync.Mutex
	all []scaled // guarded by mu
}

// recordScales watches the Deployments of a namespace until the test ends.
func recordScales(t *testing.T, namespace string) *scaleLog {
	t.Helper()
	clients, err := kubernetes.NewForConfig(shared.bed.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stream, err := clients.AppsV1().Deployments(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	l := &scaleLog{}
	var done sync.WaitGroup
	done.Go(func() {
		for event := range stream.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				l.note(scaled{time.Now(), d.Name, *d.Spec.Replicas})
			}
		}
		if ctx.Err() == nil {
			t.Errorf("the watch of the Deployments of %s has ended", namespace)
		}
	})
	t.Cleanup(func() {
		cancel()
		stream.Stop()
		done.Wait()
	})
	return l
}

// note adds what differs from what was last seen.
func (l *scaleLog) note(s scaled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last(s.name); !ok || last.replicas != s.replicas {
		l.all = append(l.all, s)
	}
}

// last returns what a Deployment was last told. The lock is held.
func (l *scaleLog) last(name string) (scaled, bool) {
	for _, s := range slices.Backward(l.all) {
		if s.name == name {
			return s, true
		}
	}
	return scaled{}, false
}

// since returns the first change of a Deployment at a time or after it.
func (l *scaleLog) since(name string, at time.Time) (scaled, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if s.name == name && !s.at.Before(at) {
			return s, true
		}
	}
	return scaled{}, false
}

// after returns the changes at a time or after it.
func (l *scaleLog) after(at time.Time) []scaled {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(s scaled) bool { return s.at.Before(at) })
}

// path returns the numbers that a Deployment was told to have, one after another.
func (l *scaleLog) path(name string) (out []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if s.name == name {
			out = append(out, s.replicas)
		}
	}
	return out
}

// still says what a Deployment was last told if it is not replicas, or returns "".
func (l *scaleLog) still(name string, replicas int32) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch last, ok := l.last(name); {
	case !ok:
		return "nothing is known of " + name
	case last.replicas != replicas:
		return fmt.Sprintf("%s is to have %d replicas since %s, want %d", name, last.replicas, last.at.Format(time.TimeOnly), replicas)
	}
	return ""
}

// await waits until a Deployment was told to have replicas, since a time, and
// returns when it first was.
func (l *scaleLog) await(t *testing.T, within time.Duration, name string, replicas int32, since time.Time) scaled {
	t.Helper()
	var found scaled
	eventually(t, within, func(context.Context) string {
		s, ok := l.told(name, replicas, since)
		if !ok {
			return fmt.Sprintf("%s was not told to have %d replicas; all that was told: %s", name, replicas, l)
		}
		found = s
		return ""
	})
	return found
}

// told returns when a Deployment was first told to have replicas, since a time.
func (l *scaleLog) told(name string, replicas int32, since time.Time) (scaled, bool) {
	for _, s := range l.after(since) {
		if s.name == name && s.replicas == replicas {
			return s, true
		}
	}
	return scaled{}, false
}

func (l *scaleLog) String() string {
	var lines []string
	for _, s := range l.after(time.Time{}) {
		lines = append(lines, fmt.Sprintf("%s %s: %d", s.at.Format("15:04:05.000"), s.name, s.replicas))
	}
	return strings.Join(lines, ", ")
}

// scaleWrites returns what managers wrote to scale subresources of a namespace.
func scaleWrites(t *testing.T, namespace string, since time.Time) (writes []testbed.Request) {
	t.Helper()
	all, err := shared.bed.ManagerWrites(since)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Namespace == namespace && w.Subresource == "scale" {
			writes = append(writes, w)
		}
	}
	return writes
}

// held says how many requests the gateway of a namespace holds, or returns "" if
// they are as many as wanted.
func held(ctx context.Context, namespace string, want int) string {
	return gatewayShows(ctx, namespace, "inference_extension_flow_control_queue_size{", want)
}

// emptied says that the gateway of a namespace still knows a replica of a model, to
// which it would send a request, or returns "". It learns that a pod goes a moment
// after the replicas were set.
func emptied(ctx context.Context, namespace, model string) string {
	return gatewayShows(ctx, namespace, fmt.Sprintf("inference_pool_ready_pods{name=%q}", strings.ReplaceAll(model, "/", "-")), 0)
}

// gatewayShows says what the metrics of a namespace's gateway show first of a series
// if that is not what is wanted, or returns "".
func gatewayShows(ctx context.Context, namespace, series string, want int) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.emulator.URL+"/gateway/"+namespace+"/metrics", http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, series) {
			if !strings.HasSuffix(line, fmt.Sprintf("} %d.0\n", want)) {
				return fmt.Sprintf("the gateway shows %swant %d", line, want)
			}
			return ""
		}
	}
	return fmt.Sprintf("the gateway of %s shows no %s", namespace, series)
}

// answer is how a request went.
type answer struct {
	first time.Duration // from sending it to its first token
	err   error         // it was refused, or broke off
}

// ask sends a request for a few streamed tokens and reads them all.
func ask(ctx context.Context, namespace, model string) answer {
	const tokens = 20
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	body := fmt.Sprintf(`{"model":%q,"prompt":"are you there","max_tokens":%d,"stream":true}`, model, tokens)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, shared.emulator.Endpoint(namespace, model)+"/v1/completions", strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	sent := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: fmt.Errorf("asking %s: %w", model, err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // it says more than the status, if it can be read
		return answer{err: fmt.Errorf("asking %s: %s: %s", model, resp.Status, text)}
	}
	var got answer
	chunks, done := 0, false
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		event, isEvent := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !isEvent:
		case event == "[DONE]":
			done = true
		case strings.Contains(event, `"error"`):
			return answer{err: fmt.Errorf("asking %s: after %d tokens: %s", model, chunks, event)}
		default:
			if chunks++; chunks == 1 {
				got.first = time.Since(sent)
			}
		}
	}
	// One chunk for each token, and one that says why it ends.
	if err := lines.Err(); err != nil || !done || chunks != tokens+1 {
		return answer{err: fmt.Errorf("asking %s: the answer broke off after %d chunks of %d (%w)", model, chunks, tokens+1, err)}
	}
	return got
}
