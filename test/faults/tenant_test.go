package faults

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestAFloodOfObjectsOfOneNamespaceLeavesTheOthersAlone: a tenant creates 200 variants
// without a target, a ConfigMap whose aliases multiply, and a Deployment whose command
// line does. The manager stays ready and small, and carries out what another orders.
func TestAFloodOfObjectsOfOneNamespaceLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	const instance, tenant, variants = "flooded", "flood", 200
	b := place(t, "calm")
	if err := b.bed.Namespace(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	labelled := map[string]string{v1alpha1.LabelControllerInstance: instance}
	for _, o := range variant(b.namespace, "a").Objects() {
		o.SetLabels(labelled)
		if err := b.bed.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	b.door = open(t)
	shared.mu.Lock()
	var err error
	b.manager, err = b.bed.StartManager(t.Context(), testbed.ManagerOptions{
		Name: b.namespace, Interval: interval, NoExternalMetrics: true, APIServer: b.door.address, Env: []string{"CONTROLLER_INSTANCE=" + instance},
	})
	shared.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.manager.Stop)
	b.order("a", 2)
	b.has(30*time.Second, "a", 2)

	command := variant(tenant, "v-000")
	objects := command.Objects()
	objects[1].SetLabels(labelled)
	expanding(objects[0], 4000)
	if err := b.bed.Apply(t.Context(), append(objects, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "saturation-scaling-config"}, Data: map[string]string{"default": multiplying(5000)},
	})...); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i := range variants - 1 {
		group.Go(func() error {
			return b.bed.Client.Create(t.Context(), &v1alpha1.VariantAutoscaling{
				ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: fmt.Sprintf("v-%03d", i+1), Labels: labelled},
				Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "one-model-for-all", MinReplicas: 1_000_000},
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	b.order("a", 3)
	b.has(20*time.Second, "a", 3)
	t.Logf("the order of the other namespace took %s", time.Since(begun).Round(100*time.Millisecond))
	b.lives()
	const most = 250 << 20
	if size := b.resident(t.Context()); size == 0 || size > most {
		t.Errorf("the manager has %.0f MB, want at most %d", size/(1<<20), most>>20)
	}
	// Its owner is told.
	own := &bench{t: t, bed: b.bed, namespace: tenant}
	own.shows("v-150", v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound)
	if message := own.shows("v-000", v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration); !strings.Contains(message, "alias") {
		t.Errorf("message %q does not name the aliases", message)
	}
}

// resident returns the memory of the manager [bytes], 0 where it does not say.
func (b *bench) resident(ctx context.Context) float64 {
	b.t.Helper()
	page, err := b.manager.Get(ctx, "/metrics")
	if err != nil {
		b.t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(page)); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "process_resident_memory_bytes "); ok {
			size, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return size
		}
	}
	return 0
}

// multiplying returns a YAML text of n aliases of one text.
func multiplying(n int) string {
	return "x: &x " + strings.Repeat("long", 500) + "\ny: [" + strings.Repeat("*x,", n) + "*x]\nkvCacheThreshold: 0.7\n"
}

// expanding gives the container of a Deployment a command line that names one variable n
// times.
func expanding(o client.Object, n int) {
	d, ok := o.(*appsv1.Deployment)
	if !ok {
		panic(fmt.Sprintf("faults: %T is no Deployment", o))
	}
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("a", 40_000)}}
	c.Command, c.Args = []string{"vllm"}, []string{"serve", strings.Repeat("$(A)", n)}
}
