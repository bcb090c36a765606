package anycluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// runLabel is on every namespace of a run; its value is the run's ID.
const runLabel = "wva.llmd.ai/e2e"

// instanceLabel is on every object of the chart; its value is the release, which has the name of
// its namespace.
const instanceLabel = "app.kubernetes.io/instance"

// Options say where a run takes place and with what.
type Options struct {
	Root       string // the checkout
	Kubeconfig string
	Image      string  // holds /manager and /wva
	Archive    string  // of the image, for the nodes of a kind cluster; "" if they have it or can pull it
	Labels     []Label // none means all that the cluster can run
	Out        io.Writer
}

// Run is one run in a cluster. Several goroutines may use it at once, until End.
type Run struct {
	Options
	Facts
	Choice
	// ID is part of the name of everything that the run creates in the cluster.
	ID      string
	Config  *rest.Config
	Client  client.Client // without a cache
	Clients kubernetes.Interface

	helm Helm

	mu       sync.Mutex
	releases []string // their namespaces; guarded by mu
}

// Begin checks whether the run is possible, and changes nothing.
func Begin(ctx context.Context, o Options) (*Run, error) {
	if o.Image == "" {
		return nil, errors.New("which image to run is not said (make e2e KUBECONFIG=... IMG=name:tag)")
	}
	program, err := FindHelm(o.Root)
	if err != nil {
		return nil, err
	}
	r := &Run{Options: o, ID: "e2e-" + rand.String(5)}
	r.helm = Helm{Program: program, Kubeconfig: o.Kubeconfig, Chart: filepath.Join(o.Root, "charts", "workload-variant-autoscaler")}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if r.Facts, err = inspect(ctx, r.Clients, r.Client); err != nil {
		return nil, err
	}
	if r.Choice, err = choose(o.Labels, r.Facts); err != nil {
		return nil, err
	}
	return r, checkRights(ctx, r.Clients, r.Facts)
}

func (r *Run) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.Kubeconfig, err)
	}
	config.QPS, config.Burst = 50, 100
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("knowing the types: %w", err)
	}
	r.Config = config
	if r.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	if r.Clients, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return nil
}

// Namespace returns the name of a scenario's namespace; "" is the manager's.
func (r *Run) Namespace(l Label) string {
	if l == "" {
		return "wva-" + r.ID
	}
	return "wva-" + r.ID + "-" + string(l)
}

// Install makes the namespaces of the run, installs the manager and waits until it is available.
func (r *Run) Install(ctx context.Context) error {
	if err := r.loadImage(ctx); err != nil {
		return err
	}
	for _, l := range append([]Label{""}, r.Chosen...) {
		if err := r.createNamespace(ctx, r.Namespace(l)); err != nil {
			return err
		}
	}
	return r.install(ctx, r.Namespace(""), nil, r.values())
}

// InstallOpenShift installs a second manager, with the chart's values for OpenShift, in the
// namespace of its scenario, for the variant there.
func (r *Run) InstallOpenShift(ctx context.Context) error {
	files := []string{filepath.Join(r.helm.Chart, "ci", "openshift-values.yaml")}
	return r.install(ctx, r.Namespace(OpenShift), files, r.openShiftValues())
}

// createNamespace makes a namespace in which only restricted pods may run.
func (r *Run) createNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		runLabel: r.ID, "pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := r.Client.Create(ctx, ns); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// install installs a release in a namespace of the run and waits for its manager.
func (r *Run) install(ctx context.Context, namespace string, files []string, values map[string]any) error {
	r.mu.Lock()
	r.releases = append(r.releases, namespace)
	r.mu.Unlock()
	if err := r.helm.Install(ctx, namespace, namespace, files, values); err != nil {
		return err
	}
	return r.awaitManager(ctx, namespace)
}

// loadImage loads the archive of the image into the nodes of a kind cluster.
func (r *Run) loadImage(ctx context.Context) error {
	switch {
	case r.KindCluster == "" && r.Archive != "":
		return fmt.Errorf("%s is for kind clusters, and this is none: push the image to where the nodes can pull it", r.Archive)
	case r.KindCluster == "":
		return nil
	case r.Archive == "":
		fmt.Fprintf(r.Out, "no archive is given (IMG_ARCHIVE): the nodes of kind cluster %s have %s, or pull it\n", r.KindCluster, r.Image)
		return nil
	}
	cmd := exec.CommandContext(ctx, "kind", "load", "image-archive", r.Archive, "--name", r.KindCluster)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kind load image-archive %s --name %s: %w: %s", r.Archive, r.KindCluster, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// End removes everything that the run created. It continues after an error and returns all errors;
// it is an error if anything is left.
func (r *Run) End(ctx context.Context) error {
	var errs []error
	r.mu.Lock()
	releases := slices.Clone(r.releases)
	r.mu.Unlock()
	for _, namespace := range slices.Backward(releases) {
		// A release whose installation failed may not exist.
		if err := r.helm.Uninstall(ctx, namespace, namespace); err != nil && !strings.Contains(err.Error(), "not found") {
			errs = append(errs, err)
		}
	}
	var namespaces corev1.NamespaceList
	if err := r.Client.List(ctx, &namespaces, client.MatchingLabels{runLabel: r.ID}); err != nil {
		errs = append(errs, fmt.Errorf("listing the namespaces of the run: %w", err))
	}
	for i := range namespaces.Items {
		if err := client.IgnoreNotFound(r.Client.Delete(ctx, &namespaces.Items[i])); err != nil {
			errs = append(errs, fmt.Errorf("removing namespace %s: %w", namespaces.Items[i].Name, err))
		}
	}
	errs = append(errs, r.removeDefinition(ctx))
	return errors.Join(append(errs, r.awaitNothing(ctx))...)
}

// removeDefinition removes the CRD if the run installed it, unless others use it by now.
func (r *Run) removeDefinition(ctx context.Context) error {
	if r.Definition {
		return nil
	}
	crd, err := object(ctx, r.Client, definitionKind, definition)
	if err != nil || crd == nil {
		return err
	}
	var others v1alpha1.VariantAutoscalingList
	if err := r.Client.List(ctx, &others); err != nil {
		return fmt.Errorf("looking whether the CRD is in use: %w", err)
	}
	for _, va := range others.Items {
		if !strings.HasPrefix(va.Namespace, r.Namespace("")) {
			r.Definition = true // others use it now
			fmt.Fprintf(r.Out, "%s stays: %s/%s was made meanwhile\n", definition, va.Namespace, va.Name)
			return nil
		}
	}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, crd)); err != nil {
		return fmt.Errorf("removing %s: %w", definition, err)
	}
	return nil
}

// awaitNothing waits until nothing of the run is left.
func (r *Run) awaitNothing(ctx context.Context) error {
	var left []string
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		var err error
		left, err = r.remains(ctx)
		return err == nil && len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("these are left, remove them: %q (%w)", left, err)
	}
	return nil
}

// remains returns the objects of the run in the cluster.
func (r *Run) remains(ctx context.Context) (left []string, err error) {
	of := instanceLabel + " in (" + r.Namespace("") + "," + r.Namespace(OpenShift) + ")"
	for kind, selector := range map[schema.GroupVersionKind]string{
		{Version: "v1", Kind: "NamespaceList"}:                                                 runLabel + "=" + r.ID,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleList"}:           of,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBindingList"}:    of,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBindingList"}:           of, // one is in kube-system
		{Group: apiServiceKind.Group, Version: apiServiceKind.Version, Kind: "APIServiceList"}: of,
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := r.Client.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{LabelSelector: selector}}); err != nil {
			return nil, fmt.Errorf("looking for a %s that is left: %w", strings.TrimSuffix(kind.Kind, "List"), err)
		}
		for i := range list.Items {
			left = append(left, list.Items[i].GetKind()+" "+list.Items[i].GetName())
		}
	}
	if !r.Definition {
		there, err := exists(ctx, r.Client, definitionKind, definition)
		if err != nil {
			return nil, err
		}
		if there {
			left = append(left, "CustomResourceDefinition "+definition)
		}
	}
	slices.Sort(left)
	return left, nil
}
