package chart

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/freeport"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long the tests wait for what a manager does in a second or two.
const patience = 45 * time.Second

// manager is the program that is run: the one of make build, or another.
var manager = flag.String("manager", root+"/bin/manager", "the manager to run")

// deployed is a release in the cluster whose manager runs on this machine, in place
// of the pods of its Deployment.
type deployed struct {
	release    Release
	deployment *appsv1.Deployment
	kubeconfig string // of its ServiceAccount
}

// deploy installs a release that serves a VariantAutoscaling of a namespace.
func (c *cluster) deploy(t *testing.T, text, namespace string) *deployed {
	t.Helper()
	if _, err := os.Stat(*manager); err != nil {
		t.Skip("no built manager: run make build")
	}
	release := Release{Name: "real-" + namespace, Namespace: "real-" + namespace}
	v := values(t, text)
	set(v, "metrics.readers", []any{map[string]any{"name": "prometheus", "namespace": release.Namespace}})
	objects := mustRender(t, load(t), v, release).Objects
	for _, name := range []string{release.Namespace, namespace} {
		c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	d := &deployed{release: release}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			d.deployment = find[appsv1.Deployment](t, objects, Identity(o))
			continue // its pod would run nothing here
		}
		c.create(t, o)
		t.Cleanup(func() {
			if err := c.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	c.serve(t, namespace, d.deployment.Spec.Selector.MatchLabels[v1alpha1.LabelControllerInstance])
	d.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	c.writeKubeconfig(t, d.kubeconfig, c.token(t, release.Namespace, d.deployment.Spec.Template.Spec.ServiceAccountName))
	return d
}

// command returns how the manager is run until ctx ends: with the arguments and as
// the account of its Deployment, and with further arguments.
func (d *deployed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, *manager, slices.Concat(d.deployment.Spec.Template.Spec.Containers[0].Args, args)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.kubeconfig, "POD_NAMESPACE="+d.release.Namespace)
	return cmd
}

// running is a manager that is ready and listens.
type running struct {
	log                       string // path
	metrics, external, scaler string // addresses
}

// run runs the manager until the test ends, and waits until it is ready and listens.
func (d *deployed) run(t *testing.T, args ...string) running {
	t.Helper()
	health := freeAddress(t)
	r := running{metrics: freeAddress(t)}
	args = append(args, "--health-probe-bind-address="+health, "--metrics-bind-address="+r.metrics, "--global-opt-interval=1s")
	for flag, address := range map[string]*string{"--external-metrics-bind-address": &r.external, "--external-scaler-bind-address": &r.scaler} {
		if slices.ContainsFunc(d.deployment.Spec.Template.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, flag) }) {
			*address = freeAddress(t)
			args = append(args, flag+"="+*address)
		}
	}
	r.log = run(t, d.command(context.Background(), args...)) // it ends with the test, by a signal
	waitFor(t, "manager that is ready", r.log, func() bool {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	for _, address := range []string{r.metrics, r.external, r.scaler} {
		waitFor(t, "listener at "+address, r.log, func() bool { return address == "" || listens(t, address) })
	}
	return r
}

func listens(t *testing.T, address string) bool {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	defer connection.Close()
	return true
}

// works says whether the manager of a release does its work and is refused nothing.
func (c *cluster) works(t *testing.T, text, namespace string) {
	d := c.deploy(t, text, namespace)
	r := d.run(t)
	waitFor(t, "a status", r.log, func() bool {
		var va v1alpha1.VariantAutoscaling
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "served"}, &va); err != nil {
			t.Fatal(err)
		}
		return len(va.Status.Conditions) > 0
	})
	if said := string(read(t, r.log)); strings.Contains(said, "forbidden") {
		t.Errorf("the manager is refused something:\n%s", said)
	}
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.release.Namespace, Name: "stranger"}})
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.release.Namespace, Name: "prometheus"}})
	for account, want := range map[string]int{"prometheus": http.StatusOK, "stranger": http.StatusForbidden} {
		if got := get(t, "https://"+r.metrics+"/metrics", c.token(t, d.release.Namespace, account)); got != want {
			t.Errorf("/metrics for %s: got status %d, want %d", account, got, want)
		}
	}
	if got := get(t, "https://"+r.metrics+"/metrics", ""); got != http.StatusUnauthorized {
		t.Errorf("/metrics without a token: got status %d, want 401", got)
	}
}

// startsSoon measures how long a manager takes to be ready and listen, from its start on.
func (c *cluster) startsSoon(t *testing.T) {
	const most = 2 * time.Second
	d := c.deploy(t, "", "soon")
	var took []time.Duration
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { // which ends the manager
			begin := time.Now()
			d.run(t)
			took = append(took, time.Since(begin))
		})
	}
	if len(took) == 0 {
		t.Fatal("no manager was ready")
	}
	best := slices.Min(took)
	t.Logf("ready after %v: %s at best", took, best)
	if best >= most {
		t.Errorf("the manager is ready after %s at best, want less than %s", best, most)
	}
}

func (c *cluster) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := c.Client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating %s: %s", o.GetName(), err)
	}
}

// serve makes a Deployment without pods and the VariantAutoscaling for it, of a
// controller instance.
func (c *cluster) serve(t *testing.T, namespace, instance string) {
	t.Helper()
	none := int32(0)
	labels := map[string]string{"app": "served"}
	c.create(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "served"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm"}}},
			},
		},
	})
	c.create(t, &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "served", Labels: map[string]string{v1alpha1.LabelControllerInstance: instance}},
		Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "meta/llama-3.1-8b", Accelerator: "L40S"},
	})
}

// token returns a token of a service account.
func (c *cluster) token(t *testing.T, namespace, name string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := c.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func (c *cluster) writeKubeconfig(t *testing.T, path, token string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: read(t, c.State.CACert)}
	config.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "manager"}
	config.CurrentContext = "local"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
}

// run runs a program until the test ends and returns the file of its output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("ending %s: %s", cmd.Path, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %s:\n%s", cmd.Path, err, read(t, path))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return path
}

// freeAddress returns an address of the loopback interface that is free.
func freeAddress(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Choose(1)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
}

func waitFor(t *testing.T, what, log string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %s:\n%s", what, patience, read(t, log))
		}
	}
}

// get returns the status of an answer, from a server whose certificate is its own.
func get(t *testing.T, url, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	to := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer to.CloseIdleConnections()
	response, err := to.Do(request)
	if err != nil {
		t.Fatal(fmt.Errorf("asking %s: %w", url, err))
	}
	defer response.Body.Close()
	return response.StatusCode
}
