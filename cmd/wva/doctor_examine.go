package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scale"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// examination reads a cluster into a case. Its reads run in parallel, each with a time limit.
type examination struct {
	doctor.Case
	doctorFlags

	config   *rest.Config
	client   client.Client
	held     *held
	managers []appsv1.Deployment
	// prometheusAt is the address of Prometheus, and prefixes the metric prefixes that the manager
	// reads there.
	prometheusAt string
	prefixes     query.Prefixes

	mu sync.Mutex // of Missed and held
}

// lookupEnv returns an environment variable, like os.Getenv.
func lookupEnv(name string) string { return os.Getenv(name) }

// examine reads the cluster and the manifests into a case. It returns an error only for manifests
// that it cannot use: the case notes failed reads.
func (f doctorFlags) examine(ctx context.Context, manifests []unapplied, progress io.Writer) (*examination, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	log.SetLogger(logr.Discard()) // without a logger, the library complains on stderr
	e := &examination{doctorFlags: f, held: newHeld(scheme)}
	e.Now, e.Pre, e.System, e.Missed = time.Now(), f.pre, f.lease.Namespace, map[doctor.Read]doctor.Missed{}
	e.connectTo(ctx, scheme)
	if e.client != nil {
		e.readAll(ctx, progress)
	} else {
		e.missAll()
		if len(manifests) > 0 { // they are examined without the cluster
			delete(e.Missed, doctor.ReadVariants)
			delete(e.Missed, doctor.ReadConfig)
		}
	}
	files, err := e.apply(manifests)
	if err != nil {
		return nil, err
	}
	e.assemble(ctx, files)
	e.readLeft()
	e.readPrefixes(ctx, progress)
	return e, nil
}

// connectTo connects to the API server. Without an answer there is no client.
func (e *examination) connectTo(ctx context.Context, scheme *runtime.Scheme) {
	config, namespace, err := readKubeconfig(e.kubeconfig)
	if err == nil {
		if e.namespace == "" {
			e.namespace = namespace
		}
		e.config = rest.CopyConfig(config)
		e.config.QPS, e.config.Timeout = -1, readWithin // one pass; the server limits its rate
		err = e.greet(ctx, scheme)
	}
	if err != nil {
		if e.namespace == "" {
			e.namespace = "default"
		}
		e.Missed[doctor.ReadServer] = doctor.Missed{Why: oneLine(err)}
	}
}

// greet reads the version and the clock of the API server, and creates the client.
func (e *examination) greet(ctx context.Context, scheme *runtime.Scheme) error {
	asked := rest.CopyConfig(e.config)
	offset := dated(asked)
	version, err := serverVersion(ctx, asked)
	if err != nil {
		return err
	}
	e.Server, e.Clocks.Server = version, *offset
	e.client, err = client.New(e.config, client.Options{Scheme: scheme})
	return err
}

// dated makes a client note how far the clock of the answering server is off, by the header Date.
func dated(config *rest.Config) *doctor.Offset {
	offset := &doctor.Offset{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
				*offset = doctor.Offset{By: time.Until(at).Round(time.Second), Known: true}
			}
			return resp, nil
		})
	})
	return offset
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// look is one read: the name of what it reads, and the function.
type look struct {
	what doctor.Read
	read func(ctx context.Context) error
}

// missAll notes that no read was possible.
func (e *examination) missAll() {
	why := e.Missed[doctor.ReadServer]
	for _, l := range append(e.first(), e.then()...) {
		e.Missed[l.what] = why
	}
}

// readAll reads in two rounds: the second depends on the first.
func (e *examination) readAll(ctx context.Context, progress io.Writer) {
	if e.Pre {
		e.round(ctx, progress, "Reading what an installation would meet", e.before())
		return
	}
	e.round(ctx, progress, "Reading the cluster", e.first())
	e.round(ctx, progress, "Asking the manager", e.then())
}

// round makes reads in parallel, each within its time limit, and notes the failed ones.
func (e *examination) round(ctx context.Context, progress io.Writer, title string, looks []look) {
	begun := time.Now()
	fmt.Fprintf(progress, "%s: %d things ... ", title, len(looks))
	var all sync.WaitGroup
	for _, l := range looks {
		all.Go(func() {
			ctx, stop := context.WithTimeout(ctx, readWithin)
			defer stop()
			if err := l.read(ctx); err != nil {
				e.miss(l.what, err)
			}
		})
	}
	all.Wait()
	fmt.Fprintf(progress, "%.1f s\n", time.Since(begun).Seconds())
}

// miss notes why a read failed.
func (e *examination) miss(what doctor.Read, err error) {
	m := doctor.Missed{Why: oneLine(err)}
	if right, refused := rbac.Missing(err); refused {
		m.Right = right.Verb + " " + right.Resource
		if right.Group != "" {
			m.Right += "." + right.Group
		}
	} else if apierrors.IsForbidden(err) {
		m.Right = "get " + string(what)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		m.Why = fmt.Sprintf("no answer within %s", readWithin)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Missed[what] = m
}

// inScope returns the list options for the examined namespaces.
func (e *examination) inScope() []client.ListOption {
	if e.everywhere {
		return nil
	}
	return []client.ListOption{client.InNamespace(e.namespace)}
}

// list lists a kind once and adds its objects to held.
func (e *examination) list(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := e.client.List(ctx, list, opts...); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held.put(list)
}

// assemble builds the variants of the case with the manager's own discovery.
func (e *examination) assemble(ctx context.Context, files map[client.ObjectKey]string) {
	e.configure(ctx)
	by := scalers.New(e.held, clock.RealClock{})
	served := discovery.Served{Reader: e.held, Everywhere: true, Annotated: &scalers.Annotated{Reader: by, On: func() bool { return true }}}
	var objects v1alpha1.VariantAutoscalingList
	if err := served.List(ctx, &objects); err != nil {
		e.miss(doctor.ReadVariants, err)
		return
	}
	cluster := discovery.New(served, scale.New(scalesOf{e.client}))
	cluster.By = by
	fleet, err := cluster.Fleet(ctx, e.Now)
	if err != nil {
		e.miss(doctor.ReadWorkloads, err)
	}
	resolved := map[scaling.VariantKey]scaling.Variant{}
	for _, v := range fleet.Variants {
		resolved[v.Key] = v
	}
	pods := map[scaling.VariantKey][]corev1.Pod{}
	named := map[client.ObjectKey]corev1.Pod{}
	for _, p := range e.ServingPods {
		named[client.ObjectKeyFromObject(&p)] = p
	}
	for _, p := range fleet.Pods {
		if pod, ok := named[client.ObjectKey{Namespace: p.Namespace, Name: p.Name}]; ok {
			pods[p.Variant] = append(pods[p.Variant], pod)
		}
	}
	for i := range objects.Items {
		va := &objects.Items[i]
		key := scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}
		if !va.DeletionTimestamp.IsZero() || !e.everywhere && va.Namespace != e.namespace {
			continue
		}
		e.Variants = append(e.Variants, doctor.Variant{
			Object: *va, File: files[client.ObjectKeyFromObject(va)], Resolved: resolved[key], Scalers: cluster.Scalers(key),
			Failure: cluster.PodFailure(key), Rivals: cluster.Contenders(key), Problem: scalers.Problem(va), Pods: pods[key],
		})
	}
}

// scalesOf is the client that reads the scales of kinds without an informer; nil without a cluster.
type scalesOf struct{ client.Client }

// IsObjectNamespaced reports whether the kind of an object is namespaced.
func (s scalesOf) IsObjectNamespaced(object runtime.Object) (bool, error) {
	if s.Client == nil {
		return false, errors.New("no cluster is reached")
	}
	return s.Client.IsObjectNamespaced(object)
}

// configure reads the configuration in the ConfigMaps.
func (e *examination) configure(ctx context.Context) {
	if _, missed := e.Missed[doctor.ReadConfig]; missed {
		return
	}
	var maps corev1.ConfigMapList
	if err := e.held.List(ctx, &maps); err != nil {
		e.miss(doctor.ReadConfig, err)
		return
	}
	if err := e.readConfig(maps.Items); err != nil {
		e.miss(doctor.ReadConfig, err)
	}
}

// holder returns the name of the pod in the identity of a lease holder.
func holder(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}
