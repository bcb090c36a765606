//go:build e2e && soak

package e2e

import (
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/loadgen"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/anycluster"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/day"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

var (
	dayFor  = flag.Duration("day", 24*time.Minute, "how long the compressed day is")
	daySeed = flag.Uint64("day-seed", 1, "draws the requests of that day")
)

// How the day is run: the replicas' start-up, the grace that the emulator gives them, the
// manager's interval, and how many days are simulated.
const (
	dayStartUp  = 20 * time.Second
	dayDrain    = 30 * time.Second
	dayInterval = 5 * time.Second
	daySeeds    = 20
)

// TestADayInTheClusterIsTheDayOfTheSimulator has the manager of the chart, an HPA
// and emulated replicas serve a day, and simulates such days with what was measured of
// start-ups. Attainment, as the load generator saw it, and cost, as the pods of the API
// server show it, are within the error bars of the simulator.
func TestADayInTheClusterIsTheDayOfTheSimulator(t *testing.T) {
	d := day.Day{Length: *dayFor}
	serveDay(t)
	requests, err := d.Requests(*daySeed)
	if err != nil {
		t.Fatal(err)
	}
	pods := watchPods(t, day.Namespace)
	summary, err := loadgen.Run(t.Context(), requests, loadgen.Options{
		URL: shared.emulator.Endpoint(day.Namespace, day.Model), Model: day.Model, Seed: *daySeed, Duration: d.Length,
		SLO: loadgen.SLO{TTFT: day.TTFT, ITL: day.ITL},
	})
	if err != nil {
		t.Fatal(err)
	}
	lives := pods.stop()
	t.Logf("sent %d requests, %d failed (%v); the latest left %.0f ms late; TTFT %+v, ITL %+v",
		summary.Sent, summary.Failed, summary.Examples, summary.SendLag.Max, summary.TTFT, summary.ITL)
	for _, l := range lives {
		t.Logf("a pod from %s on, Ready at %s, gone at %s", l.made, l.ready, l.gone)
	}

	c := day.Comparison{Day: d, Machinery: day.Machinery{
		Interval: dayInterval, Scrape: testbed.ScrapeInterval, Sync: hpaSync, StartUp: startUps(t, lives), Drain: dayDrain,
	}}
	c.Measured = day.Outcome{Requests: summary.Requests, Attained: *summary.Attainment, TTFT: summary.TTFT.Mean, ITL: summary.ITL.Mean}
	c.Measured.Count(counted(lives, d.Length))
	if c.Curve, c.Same, err = d.Both(t.Context(), c.Machinery, daySeeds, *daySeed); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", c)
	report := filepath.Join(shared.bed.Root, ".local", "day.txt")
	if err := os.WriteFile(report, []byte(c.String()), 0o600); err != nil {
		t.Error(err)
	}
	t.Logf("written to %s", report)
	for _, wrong := range c.Outside() {
		t.Error(wrong)
	}
	if t.Failed() {
		tellEvents(t, day.Namespace)
	}
}

// tellEvents logs what the objects of a namespace were told, in the order of time.
func tellEvents(t *testing.T, namespace string) {
	t.Helper()
	var events corev1.EventList
	if err := shared.bed.Client.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		t.Error(err)
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	for i := range events.Items {
		if e := &events.Items[i]; e.InvolvedObject.Kind != "Pod" {
			t.Logf("%s %s %s: %s", e.LastTimestamp.Format(time.TimeOnly), e.InvolvedObject.Kind, e.Reason, e.Message)
		}
	}
}

// serveDay brings a cluster up, with the model and one replica of it, the manager of the
// chart and the HPA, and waits until the model is measured.
func serveDay(t *testing.T) {
	t.Helper()
	anotherCluster(t, testbed.Options{Dir: "e2e-day"})
	bed := shared.bed
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var err error
	if shared.emulator, err = bed.StartEmulator(ctx, "--drain-grace", dayDrain.String()); err != nil {
		t.Fatal(err)
	}
	fleet := testbed.Variant{
		Namespace: day.Namespace, Name: day.Variant, ModelID: day.Model, Profile: day.Profile, GPU: "NVIDIA-A100-PCIE-80GB",
		Replicas: 1, StartUp: dayStartUp,
	}
	const release = "wva"
	if err := errors.Join(bed.Namespace(ctx, release), bed.Namespace(ctx, day.Namespace), bed.Apply(ctx, fleet.Objects()[0])); err != nil {
		t.Fatal(err)
	}
	program, err := anycluster.FindHelm(bed.Root)
	if err != nil {
		t.Fatal(err)
	}
	helm := anycluster.Helm{Program: program, Kubeconfig: bed.State.Kubeconfig, Chart: filepath.Join(bed.Root, "charts", "workload-variant-autoscaler")}
	if err := helm.Install(ctx, release, release, nil, map[string]any{
		"controller":      map[string]any{"image": map[string]any{"repository": "localhost/workload-variant-autoscaler", "tag": "dev"}},
		"interval":        dayInterval.String(),
		"prometheus":      map[string]any{"baseURL": bed.State.Prometheus, "allowInsecure": true},
		"externalMetrics": map[string]any{"enabled": true, "insecureSkipVerify": true},
		"saturation":      map[string]any{"default": day.Entry()},
		"serviceClasses":  map[string]any{"chat": day.Class()},
		"models":          []any{day.Values()},
	}); err != nil {
		t.Fatal(err)
	}
	for kind, reason := range map[v1alpha1.ConditionType]v1alpha1.ConditionReason{
		v1alpha1.ConditionMetricsAvailable: v1alpha1.ReasonMetricsFound, v1alpha1.ConditionConfigurationValid: v1alpha1.ReasonConfigurationAccepted,
		v1alpha1.ConditionScalerFollowing: v1alpha1.ReasonFollowing,
	} {
		condition(t, 2*time.Minute, day.Namespace, day.Variant, string(kind), metav1.ConditionTrue, string(reason))
	}
	reads(t, day.Namespace, day.Variant, 1)
}

// podLife is when a pod was seen first, Ready, and gone, since the watch began. What
// it had not become is -1.
type podLife struct{ made, ready, gone time.Duration }

// podWatch looks at the pods of a namespace several times a second.
type podWatch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	order  []types.UID
	lives  map[types.UID]*podLife
}

func watchPods(t *testing.T, namespace string) *podWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &podWatch{cancel: cancel, lives: map[types.UID]*podLife{}}
	begun := time.Now()
	w.done.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; <-tick.C {
			var pods corev1.PodList
			if err := shared.bed.Client.List(ctx, &pods, client.InNamespace(namespace)); err == nil {
				w.see(time.Since(begun), pods.Items)
			}
		}
	})
	t.Cleanup(func() { w.stop() })
	return w
}

// see notes what has become of the pods.
func (w *podWatch) see(at time.Duration, pods []corev1.Pod) {
	there := map[types.UID]bool{}
	for i := range pods {
		p := &pods[i]
		if !p.DeletionTimestamp.IsZero() {
			continue
		}
		there[p.UID] = true
		l := w.lives[p.UID]
		if l == nil {
			l = &podLife{made: at, ready: -1, gone: -1}
			w.lives[p.UID], w.order = l, append(w.order, p.UID)
		}
		if l.ready < 0 && isReady(*p) {
			l.ready = at
		}
	}
	for uid, l := range w.lives {
		if l.gone < 0 && !there[uid] {
			l.gone = at
		}
	}
}

// stop ends the watch and returns the pods in the order in which they were made.
func (w *podWatch) stop() []podLife {
	w.cancel()
	w.done.Wait()
	var all []podLife
	for _, uid := range w.order {
		all = append(all, *w.lives[uid])
	}
	return all
}

// counted returns how many pods there were in each second.
func counted(lives []podLife, length time.Duration) []scaling.Replicas {
	var counts []scaling.Replicas
	for at := time.Second; at <= length; at += time.Second {
		n := scaling.Replicas(0)
		for _, l := range lives {
			if l.made <= at && (l.gone < 0 || l.gone > at) {
				n++
			}
		}
		counts = append(counts, n)
	}
	return counts
}

// startUps describes how long pods took to become Ready that were made during the day.
func startUps(t *testing.T, lives []podLife) sim.StartUp {
	t.Helper()
	var took []float64 // s
	var mean, square float64
	for _, l := range lives[1:] { // the first was there before
		if l.ready >= 0 {
			took = append(took, (l.ready - l.made).Seconds())
		}
	}
	if len(took) < 2 {
		t.Fatalf("%d replicas were added and became Ready, want two or more: %+v", len(took), lives)
	}
	for _, s := range took {
		mean += s / float64(len(took))
	}
	for _, s := range took {
		square += (s - mean) * (s - mean) / float64(len(took)-1)
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return sim.StartUp{Mean: seconds(mean), Deviation: seconds(math.Sqrt(square))}
}
