package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/crd"
)

// SystemNamespace is the namespace of the manager's objects.
const SystemNamespace = "workload-variant-autoscaler-system"

// Options says where a Bed finds its programs and keeps its state.
type Options struct {
	// Root is the checkout: its bin has manager and wva, its .local/bin has
	// localcluster and kubectl.
	Root string
	// Dir is the folder of the cluster's state, created if need be.
	Dir string
	// FeatureGates are those of Kubernetes, Name=true,..., "" for the defaults. A cluster that was
	// up before keeps its own.
	FeatureGates string
	// Kubernetes is a program with the control plane of another release (test/localcluster,
	// up --kubernetes), "" for the usual one. A cluster that was up before keeps its own.
	Kubernetes string
	// Images are the programs of further images, by the last part of the image's repository. A
	// cluster that was up before keeps its own.
	Images map[string]string
	// Out gets progress, a line at a time. Required.
	Out io.Writer
}

// Bed is a running local cluster and everything started in it. Several goroutines may apply
// objects, add nodes and start load at once; only one may start managers and the emulator.
type Bed struct {
	Options
	Config *rest.Config
	// Client reads and writes without a cache.
	Client client.Client
	State  ClusterState

	found      bool   // the cluster was up before
	kubeconfig string // of the manager's account, "" until there is one

	forwarder *Process // nil before the first
	mu        sync.Mutex
	processes []*Process
	cleanups  []func(context.Context) error
}

// ClusterState is the state of the local cluster in cluster.json.
type ClusterState struct {
	Kubeconfig          string `json:"kubeconfig"`
	APIServer           string `json:"apiServer"`
	Prometheus          string `json:"prometheus"`
	PrometheusConfigDir string `json:"prometheusConfigDir"`
	CACert              string `json:"caCert"`
	CAKey               string `json:"caKey"`
	Kubectl             string `json:"kubectl"`
	AuditLog            string `json:"auditLog"`
}

// Up starts the local cluster, unless it runs, and installs the CRD.
func Up(ctx context.Context, o Options) (*Bed, error) {
	b := &Bed{Options: o}
	b.found = b.localcluster(ctx, io.Discard, "status") == nil
	if err := b.localcluster(ctx, o.Out, "up", o.flags()...); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the local cluster: %w", err), b.Down(context.WithoutCancel(ctx)))
	}
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.Down(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// flags returns the flags of the local cluster: the programs of this project's image and of other
// images, the feature gates, and the release of Kubernetes.
func (o Options) flags() []string {
	flags := []string{"--image", "workload-variant-autoscaler=" + filepath.Join(o.Root, "bin", "manager")}
	for _, name := range slices.Sorted(maps.Keys(o.Images)) {
		flags = append(flags, "--image", name+"="+o.Images[name])
	}
	if o.FeatureGates != "" {
		flags = append(flags, "--feature-gates", o.FeatureGates)
	}
	if o.Kubernetes != "" {
		flags = append(flags, "--kubernetes", o.Kubernetes)
	}
	return flags
}

// prepare connects to the running cluster and installs the CRD.
func (b *Bed) prepare(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(b.Dir, "cluster.json"))
	if err != nil {
		return fmt.Errorf("reading the local cluster's state: %w", err)
	}
	if err := json.Unmarshal(data, &b.State); err != nil {
		return fmt.Errorf("reading the local cluster's state: %w", err)
	}
	if err := b.connect(); err != nil {
		return err
	}
	var own apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.VariantAutoscalings(), &own); err != nil {
		return fmt.Errorf("reading the CRD: %w", err)
	}
	return b.Define(ctx, &own)
}

// localcluster runs a command of the local cluster.
func (b *Bed) localcluster(ctx context.Context, out io.Writer, verb string, flags ...string) error {
	return command(ctx, out, filepath.Join(b.Root, ".local", "bin", "localcluster"), append([]string{verb, "--dir", b.Dir}, flags...)...)
}

// Scheme returns a scheme with every type that a Bed handles.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			panic("testbed: " + err.Error()) // two types of one kind: a broken build
		}
	}
	return s
}

func (b *Bed) connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", b.State.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", b.State.Kubeconfig, err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	b.Config = cfg
	if b.Client, err = client.New(cfg, client.Options{Scheme: Scheme()}); err != nil {
		return fmt.Errorf("connecting to the local cluster: %w", err)
	}
	return nil
}

// Define applies a CRD and waits until the API server serves it.
func (b *Bed) Define(ctx context.Context, def *apiextensionsv1.CustomResourceDefinition) error {
	if err := b.Apply(ctx, def); err != nil {
		return err
	}
	err := poll(ctx, func() (bool, error) {
		if err := b.Client.Get(ctx, client.ObjectKeyFromObject(def), def); err != nil {
			return false, nil //nolint:nilerr // not readable yet: asked again until ctx ends
		}
		if !slices.ContainsFunc(def.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}) {
			return false, nil
		}
		// An established type appears in the discovery a moment later.
		kind := schema.GroupKind{Group: def.Spec.Group, Kind: def.Spec.Names.Kind}
		_, err := b.Client.RESTMapper().RESTMapping(kind, def.Spec.Versions[0].Name)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be served: %w", def.Name, err)
	}
	return nil
}

// Apply creates the objects, or updates those that exist.
func (b *Bed) Apply(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		gvk, err := b.Client.GroupVersionKindFor(o)
		if err != nil {
			return fmt.Errorf("applying %s: %w", o.GetName(), err)
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		//nolint:staticcheck // the typed Apply needs generated configurations that the CRD has none of
		if err := b.Client.Patch(ctx, o, client.Apply, client.FieldOwner("testbed"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s/%s: %w", gvk.Kind, o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// run starts a program that ends with the Bed; its path is relative to Root.
func (b *Bed) run(name, program string, args, env []string) (*Process, error) {
	p, err := start(name, filepath.Join(b.Dir, "log"), filepath.Join(b.Root, program), args, env)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes = append(b.processes, p)
	return p, nil
}

// Cleanup makes Down call clean, the last one first, if the cluster stays. Otherwise all objects
// end with the cluster.
func (b *Bed) Cleanup(clean func(context.Context) error) {
	if b.found {
		b.OnDown(clean)
	}
}

// OnDown makes Down call end, the last one first, whether the cluster stays or not: for resources
// outside of it.
func (b *Bed) OnDown(end func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cleanups = append(b.cleanups, end)
}

// Down ends everything that the Bed started, last first, and the cluster unless it was up before.
// It continues after an error and returns all errors.
func (b *Bed) Down(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(b.processes) {
		p.Stop()
	}
	for _, clean := range slices.Backward(b.cleanups) {
		errs = append(errs, clean(ctx))
	}
	if !b.found {
		errs = append(errs, b.localcluster(ctx, b.Out, "down"))
	}
	return errors.Join(errs...)
}

// ReloadPrometheus makes Prometheus read its scrape configuration again.
func (b *Bed) ReloadPrometheus(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.State.Prometheus+"/-/reload", http.NoBody)
	if err != nil {
		return fmt.Errorf("reloading Prometheus: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("reloading Prometheus: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("reloading Prometheus: %s: %s", resp.Status, body)
	}
	return nil
}
