package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// watchedNames returns every name of a ConfigMap that is read.
func watchedNames(names config.Names) []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(names))...)))
}

// newConfiguration returns the part that applies changes of ConfigMaps to the store and to the
// configuration in force, and the check whether the ConfigMaps are known.
func newConfiguration(c common, begin beginning, measure measurement) (*controller.Configuration, healthz.Checker, error) {
	o, mgr := c.operator, c.mgr
	var namespaces []string
	if o.WatchNamespace != "" {
		namespaces = []string{o.SystemNamespace, o.WatchNamespace}
	}
	refused := &refusals{clock: clock.RealClock{}}
	maps, err := controller.NewConfigMapWatch(func(options cache.Options) (cache.Cache, error) {
		options.Scheme, options.Mapper, options.DefaultWatchErrorHandler = mgr.GetScheme(), mgr.GetRESTMapper(), refused.note
		return newCache(mgr.GetConfig(), options)
	}, watchedNames(o.Names()), namespaces)
	if err != nil {
		return nil, nil, err
	}
	configuration := controller.NewConfiguration(controller.ConfigurationOptions{
		Log: c.log, SystemNamespace: o.SystemNamespace, Names: o.Names(), Store: begin.store, ConfigMaps: maps,
		Variants: c.served, ServesAll: o.WatchNamespace == "" && o.ControllerInstance == "", Informers: mgr.GetCache(), Scalers: c.scalers.Wait,
		Take: measure.apply, Wake: measure.cycles.Wake, Budget: c.limits(), Over: c.over,
		Events: c.recorder, Leads: mgr.Elected(), Logged: begin.logged,
		Cycle: func() scaling.CycleID { last, _ := c.memory.Latest(); return last.Cycle },
	})
	listed := func(ctx context.Context) bool { return configuration.Synced(ctx) == nil }
	return configuration, told(c.log, (&watched{refusals: refused, listed: listed}).check), nil
}

// readConfigMaps returns the ConfigMaps of the system namespace. Those of other namespaces do not
// configure the manager itself.
func readConfigMaps(ctx context.Context, reader client.Reader, o *config.Operator) ([]config.Source, error) {
	var sources []config.Source
	for _, name := range watchedNames(o.Names()) {
		var m corev1.ConfigMap
		err := reader.Get(ctx, client.ObjectKey{Namespace: o.SystemNamespace, Name: name}, &m)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", o.SystemNamespace, name, err)
		default:
			sources = append(sources, config.Source{Namespace: m.Namespace, Name: m.Name, Data: m.Data})
		}
	}
	return sources, nil
}

// mayListConfigMaps asks the API server whether this process may list the ConfigMaps of a
// namespace.
func mayListConfigMaps(ctx context.Context, to *rest.Config, namespace string) (bool, error) {
	c, err := authorizationv1client.NewForConfig(to)
	if err != nil {
		return false, fmt.Errorf("reaching the API server: %w", err)
	}
	review, err := c.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "list", Resource: "configmaps",
		}},
	}, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err): // an account may lack the right to ask
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking whether ConfigMaps of namespace %s may be listed: %w", namespace, err)
	}
	return review.Status.Allowed, nil
}

// configMapNames returns the names of all ConfigMaps of a namespace. Those of an earlier release
// have a prefix, so that no watch of one name finds them. A manager that may not list ConfigMaps
// gets no names, and the log says so: the roles of the repository allow the published names alone.
func configMapNames(ctx context.Context, kube connection, namespace string, log logr.Logger) ([]string, error) {
	may, err := mayListConfigMaps(ctx, kube.config, namespace)
	if err != nil {
		return nil, err
	}
	if !may {
		log.Info("ConfigMaps whose names an earlier release put a prefix before are not looked for: the manager may not list ConfigMaps of its namespace; "+
			"where there are such, docs/migration says which role it needs", "namespace", namespace)
		return []string{}, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := kube.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the names of ConfigMaps of namespace %s: %w", namespace, err)
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

// beginning is the configuration that the manager starts with.
type beginning struct {
	store      *config.Store      // with the ConfigMaps of the system namespace
	logged     []config.Finding   // findings about them, already logged
	candidates []*config.Operator // for the process, the best first; at least one
}

// readConfiguration reads the ConfigMaps of the system namespace in addition to the flags, the
// environment and the file.
func readConfiguration(ctx context.Context, on environment) (beginning, error) {
	names, err := configMapNames(ctx, on.kube, on.operator.SystemNamespace, on.log)
	if err != nil {
		return beginning{}, err
	}
	on.operator.PrefixedNames = names
	sources, err := readConfigMaps(ctx, on.kube.reader, on.operator)
	if err != nil {
		return beginning{}, err
	}
	return newBeginning(on.operator, sources, on.log)
}

// newBeginning returns the configuration of a process with these ConfigMaps. The first candidate
// includes the ConfigMaps. The second does not, so that wrong ConfigMaps do not keep a manager from
// starting.
func newBeginning(o *config.Operator, sources []config.Source, log logr.Logger) (beginning, error) {
	store, err := o.NewStore()
	if err != nil {
		return beginning{}, err
	}
	for _, f := range store.Apply(sources).Findings {
		log.Info("configuration is not what was written", "namespace", f.Namespace, "configMap", f.ConfigMap, "reason", f.String())
	}
	bare, err := o.NewStore()
	if err != nil {
		return beginning{}, err
	}
	var out []*config.Operator
	var first error // of the best candidate, so it is about the written settings
	for _, s := range []*config.Store{store, bare} {
		with, err := o.With(s.Snapshot().Settings())
		switch {
		case err == nil:
			out = append(out, with)
		case first == nil:
			first = err
		}
	}
	if len(out) == 0 {
		return beginning{}, first
	}
	return beginning{store: store, logged: store.Snapshot().Findings(), candidates: out}, nil
}

// inForce is the configuration of the process that is in force now, and the executor of its cycles.
// It is safe for concurrent use.
type inForce struct {
	process  *config.Operator // from flags, environment and file
	level    *logging.Level
	cycles   *executor.Executor
	operator atomic.Pointer[config.Operator]
}

// newInForce puts a configuration of a process into force.
func newInForce(on environment, o *config.Operator) (*inForce, error) {
	mode, err := executor.ParseMode(o.Executor)
	if err != nil {
		return nil, err
	}
	if err := on.level.SetLevel(o.LogLevel); err != nil {
		return nil, err
	}
	f := &inForce{process: on.operator, level: on.level}
	f.operator.Store(o)
	f.cycles = executor.New(clock.RealClock{}, mode, func() time.Duration { return f.now().Interval })
	return f, nil
}

// now returns the configuration in force.
func (f *inForce) now() *config.Operator { return f.operator.Load() }

// applier puts changed settings into force, also for the meter and the background fetching.
type applier struct {
	*inForce
	meter    *meter
	fetching *fetching
}

// apply puts settings into force and returns a finding for each that it cannot. The findings do not
// name the ConfigMap.
func (f *applier) apply(s config.Settings) []config.Finding {
	before := f.now()
	var refused []config.Finding
	if s.Backend != before.Collector.Backend {
		refused = append(refused, config.Finding{
			Severity: config.Refused, Key: "COLLECTOR_BACKEND", Value: s.Backend, Problem: "takes effect when the manager starts again", InForce: before.Collector.Backend,
		})
		s.Backend = before.Collector.Backend
	}
	next, err := f.process.With(s)
	if err == nil {
		err = f.meter.take(next)
	}
	if err != nil {
		refused = append(refused, notInForce(err))
		s.Prometheus = before.Prometheus // the other settings have been accepted
		if next, err = f.process.With(s); err == nil {
			err = f.meter.take(next)
		}
		if err != nil {
			return append(refused, notInForce(err))
		}
	}
	f.operator.Store(next)
	if err := f.level.SetLevel(next.LogLevel); err != nil {
		refused = append(refused, notInForce(err))
	}
	if mode, err := executor.ParseMode(next.Executor); err != nil {
		refused = append(refused, notInForce(err))
	} else {
		f.cycles.SetMode(mode)
	}
	if pace(before) != pace(next) {
		f.fetching.passes.Wake("configuration changed")
	}
	return refused
}

// pace returns the time between background fetches, 0 for none.
func pace(o *config.Operator) time.Duration {
	if !o.Collector.Cache.Background() {
		return 0
	}
	return o.FetchInterval()
}

// notInForce returns a finding that err kept settings from taking effect.
func notInForce(err error) config.Finding {
	found := config.Finding{Severity: config.Refused, Problem: "cannot be put into force: " + err.Error(), InForce: "what was before"}
	if field, ok := errors.AsType[*config.FieldError](err); ok {
		found.Key, found.Value, found.Want, found.Problem = field.Key, field.Value, field.Want, ""
	}
	return found
}
