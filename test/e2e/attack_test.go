//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/anycluster"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

const (
	chartNamespace = "wva"    // of the release
	tenant         = "tenant" // namespace and account of who attacks
	// reactsWithin is how long a decision may take to follow a load. Without an attack it
	// is 5 to 15 s: the emulated replica has to fill, a page is read every 2 s, and
	// growth waits until its readings agree.
	reactsWithin = 45 * time.Second
)

// TestNoTenantStopsTheManagerOfTheChart installs the chart with its defaults of replicas
// and memory into a cluster of its own, whose node enforces the limit of memory. An
// account with the ClusterRole edit in one namespace attacks. During each attack the load
// of another namespace grows, and a replica has to be added for it. Both managers stay
// Ready, are not restarted, and have less memory than their limit.
func TestNoTenantStopsTheManagerOfTheChart(t *testing.T) {
	c := installChart(t)
	calm := func(i int) string { return fmt.Sprintf("calm-%d", i) }
	var urls []string
	for i := range attacks {
		url, err := c.serve(t.Context(), calm(i))
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url)
	}
	for i, a := range attacks {
		name := calm(i)
		c.says(t, c.run.Namespace(anycluster.Label(name)), name, v1alpha1.ConditionMetricsAvailable, metav1.ConditionTrue, "")
		t.Run(a.name, func(t *testing.T) {
			w := c.watch(t)
			a.begin(t, c)
			w.took = c.follows(t, name, urls[i])
			if a.seen != nil {
				a.seen(t, c)
			}
		})
		c.clear(t, name)
	}
}

// chartCluster is a cluster with a release of the chart and an account that attacks it.
type chartCluster struct {
	bed    *testbed.Bed
	logs   kubernetes.Interface
	run    *anycluster.Run     // deploys what serves
	tenant client.Client       // with the rights of edit in its namespace
	limit  int64               // of the memory of a manager, bytes
	pods   map[types.UID]int32 // the managers, with how often each was restarted before
}

// installChart brings the cluster up, with the release and the account.
func installChart(t *testing.T) *chartCluster {
	t.Helper()
	root := shared.bed.Root
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bed := clusterBeside(t, testbed.Options{
		Root: root, Dir: filepath.Join(root, ".local", "e2e-attack"), Images: map[string]string{hostile: program}, Out: os.Stderr,
	})
	logs, err := kubernetes.NewForConfig(bed.Config)
	if err != nil {
		t.Fatal(err)
	}
	image := "localhost/workload-variant-autoscaler:dev"
	c := &chartCluster{bed: bed, logs: logs, run: &anycluster.Run{Options: anycluster.Options{Image: image}, ID: "attack", Client: bed.Client}}
	if err := errors.Join(bed.Namespace(t.Context(), chartNamespace), bed.Namespace(t.Context(), tenant), bed.Define(t.Context(), nodePools())); err != nil {
		t.Fatal(err)
	}
	helm, err := anycluster.FindHelm(root)
	if err != nil {
		t.Fatal(err)
	}
	h := anycluster.Helm{Program: helm, Kubeconfig: bed.State.Kubeconfig, Chart: filepath.Join(root, "charts", "workload-variant-autoscaler")}
	if err := h.Install(t.Context(), chartNamespace, chartNamespace, nil, map[string]any{
		"controller":       map[string]any{"image": map[string]any{"repository": strings.TrimSuffix(image, ":dev"), "tag": "dev"}},
		"interval":         interval.String(),
		"collectorBackend": "pods", "prometheus": map[string]any{"baseURL": ""},
		"settings": map[string]any{"PROMETHEUS_METRICS_CACHE_TTL": "2s"},
		"rbac":     map[string]any{"scale": true, "targetGroups": []string{nodePoolGroup}},
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		pods, err := c.managers(ctx)
		if err != nil {
			return err.Error()
		}
		c.pods = map[types.UID]int32{}
		for _, p := range pods {
			if !isReady(p) {
				return fmt.Sprintf("%s is not Ready: %+v", p.Name, p.Status.Conditions)
			}
			c.pods[p.UID] = p.Status.ContainerStatuses[0].RestartCount
			c.limit = p.Spec.Containers[0].Resources.Limits.Memory().Value()
		}
		if len(c.pods) != 2 || c.limit == 0 {
			return fmt.Sprintf("there are %d managers with a limit of %d bytes, want 2 with one", len(c.pods), c.limit)
		}
		return ""
	})
	c.tenant = c.account(t)
	return c
}

// account makes the account that attacks and returns a client with its credentials.
func (c *chartCluster) account(t *testing.T) client.Client {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: tenant}}
	if err := c.bed.Apply(t.Context(), account, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenant, Name: tenant}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}); err != nil {
		t.Fatal(err)
	}
	token := &authenticationv1.TokenRequest{}
	if err := c.bed.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.bed.Config)
	config.BearerToken, config.QPS, config.Burst = token.Status.Token, 200, 400
	as, err := client.New(config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func(ctx context.Context) string { // the API server adds the chart's rights to edit a little later
		err := as.Create(ctx, variantOf("try", "apps/v1", "Deployment", "try"), client.DryRunAll)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	if err := as.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: chartNamespace, Name: "mine"}}); err == nil {
		t.Fatal("the account may write to the namespace of the release: its rights end at no namespace")
	}
	return as
}

// managers returns the pods of the release.
func (c *chartCluster) managers(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.bed.Client.List(ctx, &list, client.InNamespace(chartNamespace)); err != nil {
		return nil, fmt.Errorf("listing the managers: %w", err)
	}
	return list.Items, nil
}

func isReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// serve makes a namespace with one emulated replica of a model, which the manager
// scales, and returns the URL of the model. The namespace, the model and the variant
// have the same name.
func (c *chartCluster) serve(ctx context.Context, name string) (url string, err error) {
	label := anycluster.Label(name)
	if err := c.bed.Namespace(ctx, c.run.Namespace(label)); err != nil {
		return "", err
	}
	if url, err = c.run.Serve(ctx, label, name, "llama-8b-l40s"); err != nil {
		return "", err
	}
	va := variantOf(name, "apps/v1", "Deployment", name)
	va.Namespace = c.run.Namespace(label)
	va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "scale"}
	va.Spec.MaxReplicas = new(int32(2))
	return url, c.bed.Apply(ctx, va)
}

// clear ends what serves a model.
func (c *chartCluster) clear(t *testing.T, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.run.Namespace(anycluster.Label(name))}}
	if err := c.bed.Client.Delete(t.Context(), ns); err != nil {
		t.Error(err)
	}
}

// follows sends a model more than a replica serves, and waits until another one is
// decided and ordered. It returns how long that took.
func (c *chartCluster) follows(t *testing.T, name, url string) time.Duration {
	t.Helper()
	begun := time.Now()
	p, err := c.bed.StartLoad("load-"+name, "--url", url, "--model", name, "--profile", "constant(9,300s)", "--lengths", "constant",
		"--input-tokens", "200", "--output-tokens", "200", "--quiet")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	key := client.ObjectKey{Namespace: c.run.Namespace(anycluster.Label(name)), Name: name}
	eventually(t, reactsWithin, func(ctx context.Context) string {
		va := &v1alpha1.VariantAutoscaling{}
		if err := c.bed.Client.Get(ctx, key, va); err != nil {
			return err.Error()
		}
		if d := va.Status.DesiredOptimizedAlloc; d == nil || d.NumReplicas != 2 {
			return fmt.Sprintf("under load %s is to have %+v, want 2 replicas; conditions %+v", name, d, va.Status.Conditions)
		}
		return ""
	})
	took := time.Since(begun)
	eventually(t, 15*time.Second, func(ctx context.Context) string {
		d := &appsv1.Deployment{}
		if err := c.bed.Client.Get(ctx, key, d); err != nil {
			return err.Error()
		}
		if *d.Spec.Replicas != 2 {
			return fmt.Sprintf("the Deployment of %s has %d replicas, want the 2 that are decided", name, *d.Spec.Replicas)
		}
		return ""
	})
	return took
}

// says waits until a condition of a variant has a status and its message a part.
func (c *chartCluster) says(t *testing.T, namespace, name string, kind v1alpha1.ConditionType, status metav1.ConditionStatus, part string) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) string {
		va := &v1alpha1.VariantAutoscaling{}
		if err := c.bed.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, va); err != nil {
			return err.Error()
		}
		got := meta.FindStatusCondition(va.Status.Conditions, string(kind))
		if got == nil || got.Status != status || !strings.Contains(got.Message, part) {
			return fmt.Sprintf("%s of %s is %.2000v, want %s with %q", kind, name, got, status, part)
		}
		return ""
	})
}
