package chart

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
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

// works installs a release and runs the manager with the arguments and as the
// account of its Deployment, with a VariantAutoscaling to serve. It does its work
// and is refused nothing.
func (c *cluster) works(t *testing.T, text, namespace string) {
	binary := filepath.Join(c.Root, "bin", "manager")
	if _, err := os.Stat(binary); err != nil {
		t.Skip("no built manager: run make build")
	}
	release := Release{Name: "real-" + namespace, Namespace: "real-" + namespace}
	v := values(t, text)
	set(v, "metrics.readers", []any{map[string]any{"name": "prometheus", "namespace": release.Namespace}})
	objects := mustRender(t, load(t), v, release).Objects
	for _, name := range []string{release.Namespace, namespace} {
		c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var deployment *appsv1.Deployment
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			deployment = find[appsv1.Deployment](t, objects, Identity(o))
			continue // its pod would run nothing here
		}
		c.create(t, o)
		t.Cleanup(func() {
			if err := c.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
	}
	c.serve(t, namespace, deployment.Spec.Selector.MatchLabels[v1alpha1.LabelControllerInstance])
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	c.writeKubeconfig(t, kubeconfig, c.token(t, release.Namespace, deployment.Spec.Template.Spec.ServiceAccountName))
	health, metrics := freeAddress(t), freeAddress(t)
	log := run(t, binary, append(deployment.Spec.Template.Spec.Containers[0].Args,
		"--health-probe-bind-address="+health, "--metrics-bind-address="+metrics, "--global-opt-interval=1s",
	), "KUBECONFIG="+kubeconfig, "POD_NAMESPACE="+release.Namespace)
	waitFor(t, "manager that is ready", log, func() bool {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	waitFor(t, "a status", log, func() bool {
		var va v1alpha1.VariantAutoscaling
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "served"}, &va); err != nil {
			t.Fatal(err)
		}
		return len(va.Status.Conditions) > 0
	})
	if said := string(read(t, log)); strings.Contains(said, "forbidden") {
		t.Errorf("the manager is refused something:\n%s", said)
	}
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: "stranger"}})
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: "prometheus"}})
	for account, want := range map[string]int{"prometheus": http.StatusOK, "stranger": http.StatusForbidden} {
		if got := get(t, "https://"+metrics+"/metrics", c.token(t, release.Namespace, account)); got != want {
			t.Errorf("/metrics for %s: got status %d, want %d", account, got, want)
		}
	}
	if got := get(t, "https://"+metrics+"/metrics", ""); got != http.StatusUnauthorized {
		t.Errorf("/metrics without a token: got status %d, want 401", got)
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
func run(t *testing.T, binary string, args []string, env ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("ending %s: %s", binary, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %s:\n%s", binary, err, read(t, path))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return path
}

// freeAddress returns an address of the loopback interface that nobody uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func waitFor(t *testing.T, what, log string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
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
