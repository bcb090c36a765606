package stock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// fakeKube is a cluster that lists and watches nodes and pods.
type fakeKube struct {
	client.WithWatch // what is not needed here panics

	mu      sync.Mutex
	nodes   []corev1.Node
	pods    []corev1.Pod
	refused error           // what nodes are answered
	listed  map[string]bool // selectors of lists
	watches map[string]*watch.RaceFreeFakeWatcher
}

func (f *fakeKube) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var o client.ListOptions
	o.ApplyOptions(opts)
	list.SetResourceVersion("1")
	switch l := list.(type) {
	case *corev1.NodeList:
		f.listed["nodes "+o.LabelSelector.String()] = true
		l.Items = f.nodes
		return f.refused
	case *corev1.PodList:
		f.listed["pods "+o.FieldSelector.String()] = true
		l.Items = f.pods
	}
	return nil
}

func (f *fakeKube) Watch(_ context.Context, list client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := kindPods
	if _, ok := list.(*corev1.NodeList); ok {
		kind = kindNodes
		if f.refused != nil {
			return nil, f.refused
		}
	}
	f.watches[kind] = watch.NewRaceFreeFake()
	return f.watches[kind], nil
}

// IsWatchListSemanticsUnSupported makes reflectors list first.
func (f *fakeKube) IsWatchListSemanticsUnSupported() bool { return true }

// refuse answers nodes with an error from now on, nil for none, and ends the
// watch that there is.
func (f *fakeKube) refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused = err
	if w := f.watches[kindNodes]; w != nil && !w.IsStopped() {
		w.Stop()
	}
}

// watched counts the watches that are open.
func (f *fakeKube) watched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, w := range f.watches {
		if !w.IsStopped() {
			n++
		}
	}
	return n
}

// idle is how long no caller asks before the watches end.
const idle = 3 * time.Minute

// depot is a Stock that runs, over a cluster with a node of 8 and a pod that has 3.
type depot struct {
	*fakeKube
	*Stock
	log    []string
	learnt int
	ctx    context.Context
}

// inDepot runs a test in time of its own.
func inDepot(t *testing.T, test func(*testing.T, *depot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &depot{fakeKube: &fakeKube{
			nodes: []corev1.Node{*gpuNode("a")}, pods: []corev1.Pod{*gpuPod("p", "a", 3)},
			listed: map[string]bool{}, watches: map[string]*watch.RaceFreeFakeWatcher{},
		}}
		selector, err := labels.Parse("pool=serving")
		if err != nil {
			t.Fatal(err)
		}
		d.Stock = New(Options{
			Client: d.fakeKube, Clock: clock.RealClock{}, Idle: func() time.Duration { return idle }, NodeSelector: selector,
			Learnt: func() { d.learnt++ },
		})
		var cancel context.CancelFunc
		d.ctx, cancel = context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, line string) { d.log = append(d.log, line) }, funcr.Options{})))
		done := make(chan error, 1)
		go func() { done <- d.Run(d.ctx) }()
		test(t, d)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the stock ended with %v", err)
		}
		if n := d.watched(); n > 0 {
			t.Errorf("%d watches are left open", n)
		}
	})
}

// free returns what is free, in the only group; nil while that is not known.
func (d *depot) free(t *testing.T) []scaling.FreeNodes {
	t.Helper()
	synctest.Wait()
	got := d.Inventory(d.ctx)
	switch {
	case !got.Known:
		if len(got.Groups) > 0 || !got.At.IsZero() {
			t.Errorf("not known, and yet %+v", got)
		}
		return nil
	case len(got.Groups) != 1:
		t.Fatalf("want one group, got %+v", got)
	}
	return got.Groups[0].Free
}

func (d *depot) want(t *testing.T, what string, want ...scaling.FreeNodes) {
	t.Helper()
	if diff := cmp.Diff(d.free(t), want); diff != "" {
		t.Errorf("%s, -got +want:\n%s", what, diff)
	}
}

func TestNothingIsWatchedBeforeACallerAsks(t *testing.T) {
	inDepot(t, func(t *testing.T, d *depot) {
		time.Sleep(time.Hour)
		if len(d.listed) > 0 {
			t.Errorf("listed %v", d.listed)
		}
		d.want(t, "the first question")
		d.want(t, "the second", free(5, 1)...)
		want := map[string]bool{"nodes pool=serving": true, "pods status.phase!=Succeeded,status.phase!=Failed": true}
		for key := range want {
			want[key] = d.listed[key]
		}
		if diff := cmp.Diff(d.listed, want); diff != "" {
			t.Errorf("listed, -got +want:\n%s", diff)
		}
		if d.learnt != 1 {
			t.Errorf("told %d times that the stock became known, want once", d.learnt)
		}
		if got := d.Inventory(d.ctx).At; !got.Equal(time.Now()) {
			t.Errorf("of %s, want now", got)
		}
	})
}

func TestTheStockFollowsWhatIsWatched(t *testing.T) {
	inDepot(t, func(t *testing.T, d *depot) {
		d.free(t)
		synctest.Wait()
		nodes, pods := d.watches[kindNodes], d.watches[kindPods]
		nodes.Add(gpuNode("b"))
		d.want(t, "a node came", free(5, 1, 8, 1)...)
		pods.Add(gpuPod("q", "", 2))
		d.want(t, "a pod waits", free(3, 1, 8, 1)...)
		pods.Modify(gpuPod("q", "b", 2))
		d.want(t, "it is bound", free(5, 1, 6, 1)...)
		pods.Delete(gpuPod("p", "a", 3))
		d.want(t, "a pod has gone", free(6, 1, 8, 1)...)
		nodes.Modify(gpuNode("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
		d.want(t, "a node is cordoned", free(6, 1)...)
		nodes.Delete(gpuNode("a"))
		d.want(t, "it has gone", free(6, 1)...)
	})
}

func TestWatchesEndOnceNoCallerAsks(t *testing.T) {
	inDepot(t, func(t *testing.T, d *depot) {
		d.free(t)
		for range 3 {
			time.Sleep(idle - time.Second)
			d.want(t, "asked in time", free(5, 1)...)
		}
		time.Sleep(idle + time.Second)
		synctest.Wait()
		if n := d.watched(); n != 0 {
			t.Errorf("%d watches are open after no caller asked for %s", n, idle)
		}
		d.want(t, "asked again")
		d.want(t, "and once more", free(5, 1)...)
		if d.learnt != 2 {
			t.Errorf("told %d times that the stock became known, want twice", d.learnt)
		}
	})
}

func TestWhatCannotBeReadIsNotKnown(t *testing.T) {
	inDepot(t, func(t *testing.T, d *depot) {
		d.refuse(errors.New("nodes is forbidden"))
		d.free(t)
		for range 3 {
			d.want(t, "without the permission")
		}
		lines := strings.Join(d.log, "\n")
		// The first question may see the refusal, if the watch is quick, or that nothing is listed yet.
		last := len(d.log) - 1
		if last < 0 || last > 1 || last == 1 && !strings.Contains(d.log[0], "the nodes of the cluster have not been listed yet") ||
			!strings.Contains(d.log[last], "watching nodes: nodes is forbidden; the manager's role must allow to list and watch them") {
			t.Errorf("the log says\n%s", lines)
		}
		d.refuse(nil)
		time.Sleep(retryAfter)
		d.want(t, "with the permission", free(5, 1)...)

		d.refuse(errors.New("nodes is forbidden"))
		time.Sleep(retryAfter)
		d.want(t, "once the permission is gone again")
		d.refuse(nil)
		time.Sleep(retryAfter)
		d.want(t, "and there again", free(5, 1)...)
	})
}

func TestAcceleratorsThatNothingNamesAreLogged(t *testing.T) {
	inDepot(t, func(t *testing.T, d *depot) {
		d.fakeKube.nodes = append(d.fakeKube.nodes, *gpuNode("b", of("zone", "z", nvidia, 8)))
		d.free(t)
		for range 3 {
			d.want(t, "the others count", free(5, 1)...)
		}
		if len(d.log) != 2 || !strings.Contains(d.log[1], "no label of their nodes names the product, such as nvidia.com/gpu.product") {
			t.Errorf("the log says\n%s", strings.Join(d.log, "\n"))
		}
	})
}

func TestWhatTakesNoAcceleratorsIsKnownByItsNameAlone(t *testing.T) {
	s := New(Options{})
	keep := newFeed(s, &s.pods, (*tally).dropPods, (*tally).setPod, (*tally).dropPod).Transformer()
	for _, n := range []int64{0, 1} {
		p := gpuPod("p", "a", n)
		p.Annotations = map[string]string{"k": "v"}
		kept, err := keep(p)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := kept.(*corev1.Pod)
		if got.Name != "p" || (got.Spec.NodeName != "") != (n > 0) || (got.Annotations != nil) != (n > 0) {
			t.Errorf("of a pod that takes %d there is left %+v", n, got)
		}
	}
}

func TestAnObjectOfAnotherKindIsNotCounted(t *testing.T) {
	s := New(Options{})
	err := newFeed(s, &s.pods, (*tally).dropPods, (*tally).setPod, (*tally).dropPod).Add(gpuNode("a"))
	if err == nil || !strings.Contains(err.Error(), "got a *v1.Node, want a *v1.Pod") {
		t.Errorf("got %v", err)
	}
}

func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}
