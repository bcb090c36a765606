//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// suite is what the scenarios share: one cluster, one emulated fleet, one
// manager. A scenario that needs another manager says so.
type suite struct {
	bed      *testbed.Bed
	emulator *testbed.Emulator
	manager  *testbed.Manager
}

var shared suite

// The accelerators of one large node, for those scenarios that need many: there
// are 16 of each other kind.
const (
	poolProduct, poolAccelerator = "NVIDIA-L4", "L4"
	poolSize                     = 128
)

// interval is that of the manager's cycles.
const interval = 2 * time.Second

func TestMain(m *testing.M) {
	if err, ran := runHostile(os.Args[1:]); ran { // in a pod of TestNoTenantStopsTheManagerOfTheChart
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	log.SetLogger(logr.Discard()) // that of clients, which else print a stack once they have none for long
	// The scenarios that run together wait most of the time, so how many they are at
	// once is no matter of processors. -parallel on the command line comes later.
	if err := flag.Set("test.parallel", "16"); err != nil {
		return 1, err
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	bed, err := testbed.Up(ctx, testbed.Options{Root: root, Dir: filepath.Join(root, ".local", "e2e"), Out: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		err = errors.Join(err, bed.Down(end))
	}()
	shared.bed = bed
	go func() {
		// An interrupted run leaves nothing behind either.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		<-signals
		_ = bed.Down(context.Background())
		os.Exit(1)
	}()
	if err := bed.AddNode(ctx, "pool", poolProduct, poolSize); err != nil {
		return 1, err
	}
	// A manager that starts without it asks again after a while only.
	keda := scaledObjects()
	if err := bed.Define(ctx, keda); err != nil {
		return 1, err
	}
	bed.Cleanup(func(ctx context.Context) error { return client.IgnoreNotFound(bed.Client.Delete(ctx, keda)) })
	if shared.emulator, err = bed.StartEmulator(ctx); err != nil {
		return 1, err
	}
	if shared.manager, err = bed.StartManager(ctx, testbed.ManagerOptions{
		Interval: interval, Thresholds: "scaleDownStabilization: 15s", // two minutes would be most of the suite's time
	}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// eventually waits for a condition, which returns "" once it holds and else
// what is missing, and fails the test if it does not hold in time.
func eventually(t *testing.T, within time.Duration, condition func(ctx context.Context) string) {
	t.Helper()
	missing := ""
	if !observe(t, within, func(ctx context.Context) bool {
		missing = condition(ctx)
		return missing == ""
	}) {
		t.Fatalf("not so within %s: %s", within, missing)
	}
}

// consistently checks that a condition holds all the time.
func consistently(t *testing.T, length time.Duration, condition func(ctx context.Context) string) {
	t.Helper()
	missing := ""
	if observe(t, length, func(ctx context.Context) bool {
		missing = condition(ctx)
		return missing != ""
	}) {
		t.Fatalf("no longer so: %s", missing)
	}
}

// observe looks until done is true, and returns false if it is not in time. A
// look that has begun may end later: it has a context of its own.
func observe(t *testing.T, within time.Duration, done func(ctx context.Context) bool) bool {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		ok := done(ctx)
		cancel()
		if ok {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		<-tick.C
	}
}

// deploy applies variants in a namespace of the test's own.
func deploy(t *testing.T, variants ...testbed.Variant) {
	t.Helper()
	if err := shared.bed.Deploy(t.Context(), variants...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, v := range variants {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.Namespace}}
			if err := client.IgnoreNotFound(shared.bed.Client.Delete(ctx, ns)); err != nil {
				t.Errorf("removing namespace %s: %v", v.Namespace, err)
			}
		}
	})
}

// load sends a workload to a model until the test ends, with further flags of wva
// load.
func load(t *testing.T, namespace, model, profile string, flags ...string) {
	t.Helper()
	p, err := shared.bed.StartLoad("load-"+strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))+"-"+path.Base(model), append([]string{
		"--url", shared.emulator.Endpoint(namespace, model), "--model", model,
		"--profile", profile, "--input-tokens", "200", "--output-tokens", "200", "--quiet",
	}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
}

// clusterBeside starts a cluster beside the shared one, until the test ends.
func clusterBeside(t *testing.T, o testbed.Options) *testbed.Bed {
	t.Helper()
	bed, err := testbed.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	down := sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		return bed.Down(ctx)
	})
	shared.bed.OnDown(func(context.Context) error { return down() }) // of a run that is interrupted
	t.Cleanup(func() {
		if err := down(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// chat is a variant of a small model on the cheap accelerator.
func chat(namespace, name string) testbed.Variant {
	return testbed.Variant{
		Namespace: namespace, Name: name, ModelID: "meta/llama-3.1-8b", Profile: "llama-8b-l40s", GPU: "NVIDIA-L40S", Accelerator: "L40S",
		Cost: "12", Replicas: 1, Min: 1, StartUp: 3 * time.Second,
	}
}

func read[T client.Object](ctx context.Context, namespace, name string, into T) (T, error) {
	return into, shared.bed.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
}

func deployment(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
	return read(ctx, namespace, name, &appsv1.Deployment{})
}

func autoscaling(ctx context.Context, namespace, name string) (*v1alpha1.VariantAutoscaling, error) {
	return read(ctx, namespace, name, &v1alpha1.VariantAutoscaling{})
}

func hpa(ctx context.Context, namespace, name string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return read(ctx, namespace, name, &autoscalingv2.HorizontalPodAutoscaler{})
}

// explained returns what the manager says of a variant.
func explained(ctx context.Context, m *testbed.Manager, namespace, name string) (explain.Explanation, error) {
	all, err := m.Explain(ctx)
	if err != nil {
		return explain.Explanation{}, err
	}
	for _, e := range all {
		if e.Variant.Key.Namespace == namespace && e.Variant.Key.Name == name {
			return e, nil
		}
	}
	return explain.Explanation{}, fmt.Errorf("the manager does not know %s/%s yet", namespace, name)
}

// condition waits until a condition of a VariantAutoscaling has a status and
// reason, and returns its message.
func condition(t *testing.T, within time.Duration, namespace, name, kind string, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	message := ""
	eventually(t, within, func(ctx context.Context) string {
		va, err := autoscaling(ctx, namespace, name)
		if err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(va.Status.Conditions, kind)
		if c == nil {
			return "there is no condition " + kind
		}
		if c.Status != status || c.Reason != reason {
			return fmt.Sprintf("%s is %s, %s: %s; want %s, %s", kind, c.Status, c.Reason, c.Message, status, reason)
		}
		message = c.Message
		return ""
	})
	return message
}
