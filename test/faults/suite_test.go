package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// root is that of the repository.
var root = filepath.Join("..", "..")

// interval is that of the managers' cycles.
const interval = time.Second

// shared is the cluster of all tests of this package, from the first that needs it.
var shared struct {
	once sync.Once
	bed  *testbed.Bed
	err  error
	mu   sync.Mutex // while a manager is started
}

func TestMain(m *testing.M) {
	// The tests wait most of the time, so how many run at once is no matter of processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic("faults: " + err.Error())
	}
	code := m.Run()
	if shared.bed != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(shared.bed.Down(ctx), os.RemoveAll(shared.bed.Dir)); err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			code = 1
		}
	}
	os.Exit(code) //nolint:gocritic // the cluster is down
}

// cluster returns the cluster, or skips the test where its programs have not been
// built (make build localcluster).
func cluster(t *testing.T) *testbed.Bed {
	t.Helper()
	for _, program := range []string{".local/bin/localcluster", "bin/manager"} {
		if _, err := os.Stat(filepath.Join(root, program)); err != nil {
			t.Skipf("%s is not built: run make build localcluster", program)
		}
	}
	shared.once.Do(func() { shared.bed, shared.err = up() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.bed
}

func up() (*testbed.Bed, error) {
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	bed, err := testbed.Up(ctx, testbed.Options{Root: base, Dir: dir, Out: os.Stderr})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return bed, bed.GrantActuation(ctx)
}

// bench is a manager with a namespace of its own, whose way to the API server leads
// through a door. Its Prometheus has no series, so that the bounds alone decide.
type bench struct {
	t         *testing.T
	bed       *testbed.Bed
	namespace string
	door      *door
	manager   *testbed.Manager
}

// begin starts a manager for a namespace with variants of these names, which it scales
// itself.
func begin(t *testing.T, namespace string, variants ...string) *bench {
	t.Helper()
	b := place(t, namespace, variants...)
	b.door = open(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	var err error
	b.manager, err = b.bed.StartManager(t.Context(), testbed.ManagerOptions{
		Name: namespace, Interval: interval, NoExternalMetrics: true, APIServer: b.door.address, Env: []string{"WATCH_NAMESPACE=" + namespace},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.manager.Stop()
		if t.Failed() {
			t.Logf("the log of the manager:\n%s", b.manager.Tail())
		}
	})
	return b
}

// place makes a namespace with variants of these names.
func place(t *testing.T, namespace string, variants ...string) *bench {
	t.Helper()
	b := &bench{t: t, bed: cluster(t), namespace: namespace}
	if err := b.bed.Namespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, name := range variants {
		if err := b.bed.Apply(t.Context(), variant(namespace, name).Objects()...); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// variant is one that the manager scales itself.
func variant(namespace, name string) testbed.Variant {
	return testbed.Variant{
		Namespace: namespace, Name: name, ModelID: "model-of-" + name, GPU: "NVIDIA-L40S", Accelerator: "L40S", Cost: "12",
		Replicas: 1, Min: 1, NoHPA: true, Actuation: "scale",
	}
}

// order asks for at least n replicas of a variant.
func (b *bench) order(name string, n int) {
	b.t.Helper()
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
	if err := b.bed.Client.Patch(b.t.Context(), va, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"minReplicas":%d}}`, n))); err != nil {
		b.t.Fatal(err)
	}
}

// has waits until the target of a variant has n replicas and its status says so.
func (b *bench) has(within time.Duration, name string, n int32) {
	b.t.Helper()
	eventually(b.t, within, func(ctx context.Context) string {
		d := b.deployment(ctx, name)
		va := b.variant(ctx, name)
		switch decided := va.Status.DesiredOptimizedAlloc; {
		case *d.Spec.Replicas != n:
			return fmt.Sprintf("Deployment %s has %d replicas, want %d", name, *d.Spec.Replicas, n)
		case decided == nil || decided.NumReplicas != n:
			return fmt.Sprintf("the status of %s says %+v, want %d", name, decided, n)
		}
		return ""
	})
}

func (b *bench) deployment(ctx context.Context, name string) *appsv1.Deployment {
	b.t.Helper()
	d := &appsv1.Deployment{}
	b.read(ctx, name, d)
	return d
}

func (b *bench) variant(ctx context.Context, name string) *v1alpha1.VariantAutoscaling {
	b.t.Helper()
	va := &v1alpha1.VariantAutoscaling{}
	b.read(ctx, name, va)
	return va
}

func (b *bench) read(ctx context.Context, name string, into client.Object) {
	b.t.Helper()
	if err := b.bed.Client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, into); err != nil {
		b.t.Fatal(err)
	}
}

// shows waits until a variant has a condition with a reason, and returns its message.
func (b *bench) shows(name string, kind v1alpha1.ConditionType, reason v1alpha1.ConditionReason) (message string) {
	b.t.Helper()
	eventually(b.t, 30*time.Second, func(ctx context.Context) string {
		c := meta.FindStatusCondition(b.variant(ctx, name).Status.Conditions, string(kind))
		if c == nil || c.Reason != string(reason) {
			return fmt.Sprintf("%s of %s is %+v, want the reason %s", kind, name, c, reason)
		}
		message = c.Message
		return ""
	})
	return message
}

// event waits until an event of a variant with a reason says a text.
func (b *bench) event(name, reason, text string) {
	b.t.Helper()
	eventually(b.t, 30*time.Second, func(ctx context.Context) string {
		var list corev1.EventList
		if err := b.bed.Client.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.InvolvedObject.Name == name && e.Reason == reason && strings.Contains(e.Message, text) {
				return ""
			}
		}
		return fmt.Sprintf("no event %s of %s says %q", reason, name, text)
	})
}

// lives fails the test if the manager has ended or is not ready.
func (b *bench) lives() {
	b.t.Helper()
	select {
	case <-b.manager.Done():
		b.t.Fatalf("the manager has ended (%v):\n%s", b.manager.Err(), b.manager.Tail())
	default:
	}
	if err := b.manager.Ready(b.t.Context()); err != nil {
		b.t.Error(err)
	}
}

// log returns what the manager has logged.
func (b *bench) log() string {
	b.t.Helper()
	text, err := os.ReadFile(b.manager.Log)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// logged waits until a manager has logged a line with one of some texts.
func logged(t *testing.T, m *testbed.Manager, texts ...string) {
	t.Helper()
	eventually(t, time.Minute, func(context.Context) string {
		log, err := os.ReadFile(m.Log)
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(string(log), text) }) {
			return fmt.Sprintf("the log of %s says none of %q:\n%s", m.Name, texts, m.Tail())
		}
		return ""
	})
}

// eventually waits for a condition, which returns "" once it holds and else what is
// missing, and fails the test if it does not hold in time.
func eventually(t *testing.T, within time.Duration, condition func(ctx context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within+10*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; <-tick.C {
		missing := condition(ctx)
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not so within %s: %s", within, missing)
		}
	}
}
