//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/faults"
)

// The main release's Service of External Metrics, and the Secret with its certificate.
const mainService, mainSecret = "wva-main-external-metrics", "serving"

// clockLag is by how much the clock of Prometheus is behind in the fault of clocks.
const clockLag = 10 * time.Minute

// installAll installs the main release, which serves External Metrics, and one for each
// fault of a manager, and waits until those are Ready that can be.
func (p *plumbing) installAll(t *testing.T) {
	t.Helper()
	ca := p.ca(t)
	p.certify(t, time.Now().AddDate(1, 0, 0))
	releases := map[string]map[string]any{
		mainRelease: {
			"controllerInstance": mainInstance,
			"externalMetrics":    map[string]any{"enabled": true, "certificateSecret": mainSecret, "caCert": ca},
		},
		// One whose HPAs read the decision by prometheus-adapter.
		namespaceOf("adapter-without-rule"): {},
	}
	for _, f := range faults.AllPlumbing() {
		if f.Scope == faults.OfManager {
			releases[namespaceOf(f.ID)] = map[string]any{"rbac": map[string]any{"scale": true}}
		}
	}
	p.prometheusOf(t, releases)
	p.holdLease(t, namespaceOf("lease-held-by-another"))
	var done sync.WaitGroup
	for namespace, values := range releases {
		if err := p.bed.Namespace(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		done.Go(func() { p.install(t, namespace, values) })
	}
	done.Wait()
	if t.Failed() {
		t.FailNow()
	}
	p.takeRight(t, namespaceOf("status-not-writable"), "variantautoscalings/status", "update", "patch")
	p.takeRight(t, namespaceOf("no-right-to-list-pods"), "pods", "list", "watch")
	p.restartManagers(t, namespaceOf("no-right-to-list-pods"))
	for _, namespace := range []string{mainRelease, namespaceOf("adapter-without-rule"), namespaceOf("status-not-writable")} {
		p.managersReady(t, namespace)
	}
}

// install installs a release. A fault of the cluster or of a variant is in the main one.
func (p *plumbing) install(t *testing.T, namespace string, own map[string]any) {
	values := map[string]any{
		"controller":       map[string]any{"image": map[string]any{"repository": "localhost/workload-variant-autoscaler", "tag": "dev"}, "replicas": 1},
		"fullnameOverride": "wva",
		"prometheus":       map[string]any{"baseURL": p.bed.State.Prometheus, "allowInsecure": true},
	}
	if namespace != mainRelease {
		values["watchNamespace"] = namespace
	}
	maps.Copy(values, own)
	if err := p.helm.Install(t.Context(), "wva", namespace, nil, values); err != nil {
		t.Error(err)
	}
}

// prometheusOf gives the releases of the faults of Prometheus the proxies that have them.
func (p *plumbing) prometheusOf(t *testing.T, releases map[string]map[string]any) {
	t.Helper()
	to, err := url.Parse(p.bed.State.Prometheus)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ErrorLog: log.New(io.Discard, "", 0)}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="prometheus"`)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	releases[namespaceOf("prometheus-refuses-credentials")]["prometheus"] = map[string]any{"baseURL": refusing.URL, "allowInsecure": true}

	unknown := httptest.NewUnstartedServer(through) // with a certificate that its own CA signed
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0)
	unknown.StartTLS()
	t.Cleanup(unknown.Close)
	wrong := releases[namespaceOf("prometheus-wrong-ca")]
	wrong["prometheus"] = map[string]any{"baseURL": unknown.URL, "caCert": p.ca(t)}
	wrong["configMaps"] = map[string]any{"create": false} // the path of a volume is known here as a variable only

	late := httptest.NewServer(lagging(through))
	t.Cleanup(late.Close)
	releases[namespaceOf("clock-skew")]["prometheus"] = map[string]any{"baseURL": late.URL, "allowInsecure": true}
}

// lagging answers as a Prometheus whose clock is behind, and whose series have its times.
func lagging(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, err := readForm(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if at, err := strconv.ParseFloat(form.Get("time"), 64); err == nil {
			form.Set("time", strconv.FormatFloat(at+clockLag.Seconds(), 'f', 3, 64))
		}
		body := form.Encode()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Del("Accept-Encoding") // the answer is read here
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		text := unixTime.ReplaceAllStringFunc(answer.Body.String(), func(at string) string {
			seconds, err := strconv.ParseFloat(at[1:], 64)
			if err != nil {
				return at
			}
			return at[:1] + strconv.FormatFloat(seconds-clockLag.Seconds(), 'f', 3, 64)
		})
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", time.Now().Add(-clockLag).UTC().Format(http.TimeFormat))
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, text) // the manager may have given up
	})
}

// unixTime is a time of this decade in an answer: of a row, or as the number of one.
var unixTime = regexp.MustCompile(`[\["]1[78][0-9]{8}(\.[0-9]+)?`)

// readForm returns the form of a query, which is posted.
func readForm(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return url.ParseQuery(string(body))
}

// holdLease has a lease held by what is no pod.
func (p *plumbing) holdLease(t *testing.T, namespace string) {
	t.Helper()
	now := metav1.NewMicroTime(time.Now())
	p.apply(t, namespace, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "72dd1cf1.llm-d.ai"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("laptop_0d5e"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now,
		},
	})
}

// takeRight takes verbs on a resource from the roles of a release that serves its own namespace.
func (p *plumbing) takeRight(t *testing.T, namespace, res string, verbs ...string) {
	t.Helper()
	var roles rbacv1.RoleList
	if err := p.bed.Client.List(t.Context(), &roles, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for i := range roles.Items {
		r := &roles.Items[i]
		less := lessened(r.Rules, res, verbs)
		if fmt.Sprint(less) == fmt.Sprint(r.Rules) {
			continue
		}
		r.Rules = less
		if err := p.bed.Client.Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		taken++
	}
	if taken == 0 {
		t.Fatalf("no role of %s allows %v of %s", namespace, verbs, res)
	}
}

// restartManagers ends the managers of a release, which come again.
func (p *plumbing) restartManagers(t *testing.T, namespace string) {
	t.Helper()
	if err := p.bed.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace), managerPods); err != nil {
		t.Fatal(err)
	}
}

// managerPods selects the managers of a release.
var managerPods = client.MatchingLabels{"control-plane": "controller-manager"}

// managersReady waits until the one manager of a release is Ready.
func (p *plumbing) managersReady(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, 2*time.Minute, func(ctx context.Context) string {
		var pods corev1.PodList
		if err := p.bed.Client.List(ctx, &pods, client.InNamespace(namespace), managerPods); err != nil {
			return err.Error()
		}
		if len(pods.Items) != 1 || !isReady(pods.Items[0]) || pods.Items[0].DeletionTimestamp != nil {
			return fmt.Sprintf("%d managers in %s, want one that is Ready", len(pods.Items), namespace)
		}
		return ""
	})
}

// ca returns the certificate of the cluster's CA.
func (p *plumbing) ca(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.bed.State.CACert)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// certify gives the main release a certificate of External Metrics until an end.
func (p *plumbing) certify(t *testing.T, end time.Time) {
	t.Helper()
	cert, key, err := p.bed.IssueUntil(end, mainService+"."+mainRelease+".svc")
	if err != nil {
		t.Fatal(err)
	}
	p.apply(t, mainRelease, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: mainRelease, Name: mainSecret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	})
}

// clusterFaults make a fault of the cluster, by what it is called, and return what heals it.
var clusterFaults = map[string]func(p *plumbing, t *testing.T) (heal func()){
	"adapter-without-rule": func(p *plumbing, t *testing.T) func() { return p.servedByAdapter(t) },
	"other-api-service":    func(p *plumbing, t *testing.T) func() { return p.servedByAdapter(t) },
	"certificate-expired": func(p *plumbing, t *testing.T) func() {
		renew := func(end time.Time) {
			p.certify(t, end)
			p.restartManagers(t, mainRelease) // a Secret that changes takes a minute to the file of a pod
			p.managersReady(t, mainRelease)
		}
		renew(time.Now().Add(-time.Minute))
		return func() { renew(time.Now().AddDate(1, 0, 0)) }
	},
	"older-crd": func(p *plumbing, t *testing.T) func() {
		var now apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(crd.VariantAutoscalings(), &now); err != nil {
			t.Fatal(err)
		}
		older := now.DeepCopy()
		older.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{}
		decodeFile(t, filepath.Join(p.bed.Root, "api", "v1alpha1", "testdata", "older", "f.yaml"), older.Spec.Versions[0].Schema.OpenAPIV3Schema)
		if err := p.bed.Define(t.Context(), older); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := p.bed.Define(t.Context(), &now); err != nil {
				t.Fatal(err)
			}
		}
	},
}

// duringClusterFault makes a fault of the cluster, has it looked at, and heals it.
func (p *plumbing) duringClusterFault(t *testing.T, f faults.Plumbing) {
	t.Helper()
	begin, known := clusterFaults[f.ID]
	if !known {
		t.Fatalf("there is no way to inject %s", f.ID)
	}
	s := p.siteOfCluster(t, f)
	heal := begin(p, t)
	s.begun = time.Now()
	p.change(t, s)
	p.look(t, []*site{s})
	heal()
}

// siteOfCluster returns a variant that a fault of the cluster will concern.
func (p *plumbing) siteOfCluster(t *testing.T, f faults.Plumbing) *site {
	t.Helper()
	s := &site{Plumbing: f, namespace: namespaceOf(f.ID), system: mainRelease}
	v := aside(s.namespace, plumbed)
	v.ModelID, v.NoHPA = "meta/"+f.ID, false
	instance := mainInstance
	if f.ID == "adapter-without-rule" {
		s.system, instance = s.namespace, ""
	}
	p.apply(t, s.namespace, objectsOf(v, instance)...)
	eventually(t, time.Minute, func(ctx context.Context) string {
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		if err := p.bed.Client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: plumbed}, h); err != nil {
			return err.Error()
		}
		if f.ID == "adapter-without-rule" || slices.ContainsFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionTrue
		}) {
			return ""
		}
		return fmt.Sprintf("the HPA of %s is not active: %+v", s.namespace, h.Status.Conditions)
	})
	return s
}

// change has the status of a variant written: its bounds change.
func (p *plumbing) change(t *testing.T, s *site) {
	t.Helper()
	eventually(t, 10*time.Second, func(ctx context.Context) string {
		va := aside(s.namespace, plumbed).Autoscaling()
		if err := p.bed.Client.Get(ctx, client.ObjectKeyFromObject(va), va); err != nil {
			return err.Error()
		}
		before := va.DeepCopy()
		va.Spec.MinReplicas = 2
		if err := p.bed.Client.Patch(ctx, va, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// servedByAdapter has prometheus-adapter serve External Metrics, without a rule for the
// decision, in place of the main release.
func (p *plumbing) servedByAdapter(t *testing.T) (heal func()) {
	t.Helper()
	const namespace, service = "monitoring", "prometheus-adapter"
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	const other = "externalRules:\n- seriesQuery: 'up'\n  resources: {overrides: {namespace: {resource: namespace}}}\n  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'\n"
	if err := os.WriteFile(config, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, err := p.bed.Issue(service + "." + namespace + ".svc")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port, kubeconfig := ports(t, 1)[0], p.bed.State.Kubeconfig
	stop := launch(t, "prometheus-adapter-without-rule", filepath.Join(p.bed.Root, ".local", "bin", "prometheus-adapter"), nil,
		"--config="+config, "--prometheus-url="+p.bed.State.Prometheus, "--metrics-relist-interval=5s", "--metrics-max-age=1m",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--tls-cert-file="+filepath.Join(dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(dir, "tls.key"),
		"--client-ca-file="+p.bed.State.CACert,
		"--lister-kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	t.Cleanup(stop)
	p.apply(t, namespace, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	p.register(t, namespace, service, port)
	return func() {
		p.register(t, mainRelease, mainService, 443)
		stop()
	}
}

// register has the API server send External Metrics to a Service, and waits until it does.
func (p *plumbing) register(t *testing.T, namespace, service string, port int) {
	t.Helper()
	api := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.external.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"caBundle": base64.StdEncoding.EncodeToString([]byte(p.ca(t))),
			"service":  map[string]any{"namespace": namespace, "name": service, "port": int64(port)},
		},
	}}
	if err := p.bed.Apply(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, func(ctx context.Context) string {
		if err := p.bed.Client.Get(ctx, client.ObjectKeyFromObject(api), api); err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(api.Object, "status", "conditions")
		text := fmt.Sprint(conditions)
		if strings.Contains(text, "status:True") {
			return ""
		}
		return fmt.Sprintf("%s/%s does not serve External Metrics: %s", namespace, service, text)
	})
}

// definition reads a CustomResourceDefinition.
func definition(t *testing.T, path string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	def := &apiextensionsv1.CustomResourceDefinition{}
	decodeFile(t, path, def)
	return def
}
