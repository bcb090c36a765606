//go:build anycluster

package anycluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// within bounds every wait for something that should take a minute or two: images
// are pulled, and HPAs look every 15 seconds.
const within = 5 * time.Minute

var (
	kubeconfig = flag.String("kubeconfig", "", "`file` of the cluster, whose current context counts; required")
	image      = flag.String("image", "", "image that holds /manager and /wva, as `name:tag`; required")
	archive    = flag.String("archive", "", "`file` with that image, for the nodes of a kind cluster")
	labels     = flag.String("labels", "", "scenarios to run, with commas between them; none: what the cluster can do")
)

// shared is the run that the scenarios belong to.
var shared *Run

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "anycluster:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// The scenarios wait most of the time, so how many run at once is no matter of
	// processors. -parallel on the command line comes later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return 1, err
	}
	flag.Parse()
	asked, err := ParseLabels(*labels)
	if err != nil {
		return 1, err
	}
	if *kubeconfig == "" {
		return 1, errors.New("-kubeconfig is missing (make e2e KUBECONFIG=...)")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	r, err := Begin(ctx, Options{Root: root, Kubeconfig: *kubeconfig, Image: *image, Archive: *archive, Labels: asked, Out: os.Stderr})
	if err != nil {
		return 1, err
	}
	shared = r
	fmt.Fprintf(os.Stderr, "run %s at %s: %s\n", r.ID, r.Config.Host, strings.Join(words(r.Chosen), ", "))
	for _, l := range All() {
		if lacks := r.Left[l]; lacks != "" {
			fmt.Fprintf(os.Stderr, "left out: %s: %s\n", l, lacks)
		}
	}
	end := sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		return r.End(ctx)
	})
	go func() {
		// An interrupted run leaves nothing behind either.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		<-signals
		cancel()
		fmt.Fprintln(os.Stderr, "anycluster: interrupted, removing what is there of run", r.ID)
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "anycluster:", err)
		}
		os.Exit(1)
	}()
	defer func() { err = errors.Join(err, end()) }()
	if err := r.Install(ctx); err != nil {
		return 1, fmt.Errorf("%w\n%s", err, r.Report(context.WithoutCancel(ctx), r.Namespace("")))
	}
	return m.Run(), nil
}

// TestScenarios runs those that were chosen, together.
func TestScenarios(t *testing.T) {
	for l, scenario := range map[Label]func(*testing.T){
		Saturation: replicasFollowTheLoad,
		Model:      objectivesSizeAModel,
		Zero:       anIdleModelSleepsAndWakes,
		OpenShift:  openShiftAdmitsAndMeasures,
		Kind:       anHPAFollowsToTheLetter,
	} {
		if lacks := shared.Left[l]; lacks != "" {
			t.Run(string(l), func(t *testing.T) { t.Skip(lacks) })
		}
		if slices.Contains(shared.Chosen, l) {
			t.Run(string(l), func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() { report(t, l) })
				scenario(t)
			})
		}
	}
}

// report says what is known of a scenario that failed.
func report(t *testing.T, l Label) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	t.Logf("%s:\n%s", shared.Namespace(l), shared.Report(ctx, shared.Namespace(l)))
	if l != OpenShift {
		t.Logf("%s:\n%s", shared.Namespace(""), shared.Report(ctx, shared.Namespace("")))
	}
}

// eventually waits for a condition, which returns "" once it holds and else what
// is missing, and fails the test if it does not hold in time.
func eventually(t *testing.T, condition func(ctx context.Context) string) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(within); ; <-tick.C {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		missing := condition(ctx)
		cancel()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not so within %s: %s", within, missing)
		}
	}
}

// serve deploys the variant of a scenario and waits until a replica serves and the
// manager measures it. It returns the base URL.
func serve(t *testing.T, l Label, model, profile string) string {
	t.Helper()
	url, err := shared.Serve(t.Context(), l, model, profile)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string { return ready(ctx, l, 1) })
	eventually(t, func(ctx context.Context) string { return is(ctx, l, "MetricsAvailable", metav1.ConditionTrue) })
	return url
}

// load sends a workload until the returned function is called, which fails the test if
// it broke off.
func load(t *testing.T, l Label, url, model, profile string) (stop func()) {
	t.Helper()
	job, err := shared.Load(t.Context(), l, "load", url, model, profile)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if failed, err := shared.Failed(t.Context(), job); failed || err != nil {
			text, _ := shared.Output(t.Context(), job) // more to read, where there is any
			t.Fatalf("the load failed: %t (%v)\n%s", failed, err, text)
		}
		if err := shared.Stop(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
}

// ready says that a scenario has fewer Ready replicas than wanted, or returns "".
func ready(ctx context.Context, l Label, want int32) string {
	d, err := shared.Deployment(ctx, l)
	if err != nil {
		return err.Error()
	}
	if d.Status.ReadyReplicas < want {
		return fmt.Sprintf("%d replicas of %s are Ready, of %d that it is to have; want %d", d.Status.ReadyReplicas, l, *d.Spec.Replicas, want)
	}
	return ""
}

// told says that a scenario's Deployment is to have another number of replicas than
// wanted, or returns "".
func told(ctx context.Context, l Label, want int32) string {
	d, err := shared.Deployment(ctx, l)
	if err != nil {
		return err.Error()
	}
	if *d.Spec.Replicas != want {
		return fmt.Sprintf("%s is to have %d replicas, want %d", l, *d.Spec.Replicas, want)
	}
	return ""
}

// is says that a condition of a scenario's VariantAutoscaling has another status, or
// returns "".
func is(ctx context.Context, l Label, kind string, status metav1.ConditionStatus) string {
	va, err := shared.Autoscaling(ctx, l)
	if err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(va.Status.Conditions, kind)
	if c == nil {
		return "there is no condition " + kind
	}
	if c.Status != status {
		return fmt.Sprintf("%s is %s, %s: %s; want %s", kind, c.Status, c.Reason, c.Message, status)
	}
	return ""
}

// noEvent says that the VariantAutoscaling of a scenario has no event of a reason that
// says something, or returns "".
func noEvent(ctx context.Context, l Label, reason, says string) string {
	events, err := shared.Events(ctx, l, reason)
	if err != nil {
		return err.Error()
	}
	for _, e := range events {
		if strings.Contains(e.Message, says) {
			return ""
		}
	}
	return fmt.Sprintf("%d events %s, and none says %q", len(events), reason, says)
}

// done says that a Job has not ended well yet, or returns "". It fails the test if
// the Job has failed.
func done(ctx context.Context, t *testing.T, job *batchv1.Job) string {
	t.Helper()
	failed, err := shared.Failed(ctx, job)
	if failed {
		text, _ := shared.Output(ctx, job)
		t.Fatalf("Job %s has failed:\n%s", job.Name, text)
	}
	if err != nil {
		return err.Error()
	}
	if job.Status.Succeeded == 0 {
		return fmt.Sprintf("Job %s has not ended", job.Name)
	}
	return ""
}
