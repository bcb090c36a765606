package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ConfigMaps knows the ConfigMaps that may hold configuration.
type ConfigMaps interface {
	// Start begins to watch, and returns once it has seen all existing ones. It calls changed for
	// each change until ctx ends, from several goroutines at once.
	Start(ctx context.Context, changed func(ConfigMapChange)) error
	// All returns them as they are now; the caller must not modify them.
	All(ctx context.Context) ([]corev1.ConfigMap, error)
	// Wait returns when nothing started by Start runs any more.
	Wait()
}

// ConfigMapChange says what happened to a ConfigMap.
type ConfigMapChange struct {
	Key     client.ObjectKey
	Trigger string // created, updated or deleted
}

// Informers provides the informer of a kind of object; a cache does.
type Informers interface {
	GetInformer(ctx context.Context, of client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// ConfigurationOptions are the parts of a Configuration. All but Scalers, Budget, Over, Logged and
// Clock are required.
type ConfigurationOptions struct {
	Log             logr.Logger
	SystemNamespace string
	Names           config.Names
	Store           *config.Store
	ConfigMaps      ConfigMaps
	// Variants lists the VariantAutoscalings that are served: only their namespaces may override
	// settings.
	Variants client.Reader
	// ServesAll says that this manager alone serves the cluster: an entry for a model that no
	// VariantAutoscaling names then has no effect, and is a finding.
	ServesAll bool
	// Informers report when other namespaces have VariantAutoscalings.
	Informers Informers
	// Scalers waits until the scalers that may be variants are listed, or are known not to be
	// allowed; nil does not wait.
	Scalers func(ctx context.Context)
	// Take puts changed settings of the manager into force, and returns a finding for each one that
	// it cannot. It need not fill in their Namespace and ConfigMap. One goroutine at a time calls
	// it.
	Take func(config.Settings) []config.Finding
	// Wake asks for a cycle, with a reason. It must not block.
	Wake func(reason string)
	// Cycle returns the id of the last cycle, "" before the first.
	Cycle  func() scaling.CycleID
	Events events.EventRecorder
	// Budget is the budget of each namespace: how many findings are reported. Over gets the number
	// of those that are not; nil ignores it.
	Budget budget.Limits
	Over   *budget.LeftOut
	// Logged are the findings that the start has logged already.
	Logged []config.Finding
	// Leads is closed when this process begins to lead. Until then it reports nothing and wakes no
	// cycle.
	Leads <-chan struct{}
	// Clock measures how long a look takes; nil is the real one.
	Clock clock.WithTicker
}

// rests is how many times the duration of the last look the next look waits: edits in a loop take a
// tenth of a processor.
const rests = 9

// Configuration keeps a Store up to date with ConfigMaps, in every process of a manager. The leader
// also reports the findings, and wakes one cycle where a decision may come out otherwise, whatever
// the number of VariantAutoscalings. It is safe for concurrent use.
type Configuration struct {
	ConfigurationOptions
	work   chan struct{} // there is something to look at
	synced chan struct{} // closed after the first look at everything

	mu       sync.Mutex
	changes  map[client.ObjectKey]string // since the last look
	faults   []config.Finding            // of the settings that Take refused
	watchers []chan struct{}

	// The goroutine of Start alone uses these.
	settings *config.Settings // the last ones that Take put into force
	told     map[config.Finding]bool
	logged   map[config.Finding]bool
	findings []config.Finding // of the last look
}

var (
	_ manager.Runnable               = (*Configuration)(nil)
	_ manager.LeaderElectionRunnable = (*Configuration)(nil)
)

// NewConfiguration returns a Configuration.
func NewConfiguration(o ConfigurationOptions) *Configuration {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	logged := map[config.Finding]bool{}
	for _, f := range o.Logged {
		logged[f] = true
	}
	return &Configuration{
		ConfigurationOptions: o, work: make(chan struct{}, 1), synced: make(chan struct{}),
		changes: map[client.ObjectKey]string{}, told: map[config.Finding]bool{}, logged: logged,
	}
}

// NeedLeaderElection returns false: every process keeps its configuration up to date, so that any
// of them can lead at once.
func (c *Configuration) NeedLeaderElection() bool { return false }

// Start watches until ctx ends.
func (c *Configuration) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer c.ConfigMaps.Wait()
	defer cancel()
	if err := c.ConfigMaps.Start(ctx, c.notice); err != nil {
		return err
	}
	if err := c.watchNamespaces(ctx); err != nil {
		return err
	}
	if c.Scalers != nil {
		c.Scalers(ctx)
	}
	if _, err := c.look(ctx); err != nil {
		return err
	}
	close(c.synced)
	leads, leading := c.Leads, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-leads:
		case <-c.work:
		}
		select {
		case <-leads: // before the look: cycles may have run without this configuration
			leads, leading = nil, true
		default:
		}
		began := c.Clock.Now()
		switch seen, err := c.look(ctx); {
		case err != nil:
			c.Log.Error(err, "the configuration stays what it was")
		case leading:
			c.tell(seen)
			c.wake(seen)
		}
		select {
		case <-ctx.Done():
		case <-c.Clock.After(rests * c.Clock.Since(began)):
		}
	}
}

// Synced waits until the first look at all ConfigMaps has ended.
func (c *Configuration) Synced(ctx context.Context) error {
	select {
	case <-c.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the configuration: %w", ctx.Err())
	}
}

// watchNamespaces requests a look when a namespace may have gained or lost the right to override:
// with the first and the last of its VariantAutoscalings, and when it is excluded. It also does
// when a VariantAutoscaling names another model.
func (c *Configuration) watchNamespaces(ctx context.Context) error {
	again := func(any) { c.lookAgain() }
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&v1alpha1.VariantAutoscaling{}: toolscache.ResourceEventHandlerFuncs{AddFunc: again, DeleteFunc: again, UpdateFunc: func(before, after any) {
			if servesAnother(before, after) {
				c.lookAgain()
			}
		}},
		namespaces(): toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			if matters(before, after) {
				c.lookAgain()
			}
		}},
	} {
		informer, err := c.Informers.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watching %T for namespaces with overrides: %w", object, err)
		}
		// The handler ends with the informer, and so with the manager.
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching %T for namespaces with overrides: %w", object, err)
		}
	}
	return nil
}

// servesAnother reports whether a VariantAutoscaling names another model than before, for which
// there may be entries.
func servesAnother(before, after any) bool {
	a, isOne := before.(*v1alpha1.VariantAutoscaling)
	b, isOther := after.(*v1alpha1.VariantAutoscaling)
	return isOne && isOther && a.Spec.ModelID != b.Spec.ModelID
}

// notice remembers that a ConfigMap changed.
func (c *Configuration) notice(change ConfigMapChange) {
	c.mu.Lock()
	c.changes[change.Key] = change.Trigger
	c.mu.Unlock()
	c.lookAgain()
}

// LookAgain requests a look at the configuration: namespaces may have gained or lost variants. It
// does not block.
func (c *Configuration) LookAgain() { c.lookAgain() }

func (c *Configuration) lookAgain() {
	select {
	case c.work <- struct{}{}:
	default: // the look that is already due sees this too
	}
}

// sight is the result of a look.
type sight struct {
	configMaps []corev1.ConfigMap // the ones that are read, by namespace and name
	variants   int                // the number of VariantAutoscalings that are served
	models     []scaling.ModelKey // the models that they serve
	findings   []config.Finding
	// matters says whether a decision may come out otherwise than before. changes are the events of
	// the ConfigMaps that are read.
	matters bool
	changes map[client.ObjectKey]string
}

// look applies the present ConfigMaps.
func (c *Configuration) look(ctx context.Context) (sight, error) {
	seen, err := c.read(ctx)
	if err != nil {
		return seen, err
	}
	sources := make([]config.Source, len(seen.configMaps))
	for i, m := range seen.configMaps {
		sources[i] = config.Source{Namespace: m.Namespace, Name: m.Name, Data: m.Data}
	}
	before := c.Store.Snapshot().Settings().AnnotatedScalers
	report := c.Store.Apply(sources)
	if c.Store.Snapshot().Settings().AnnotatedScalers != before {
		c.lookAgain() // other namespaces have variants
	}
	seen.matters = report.Changed
	seen.findings = slices.Concat(report.Findings, c.take(seen.configMaps))
	if c.ServesAll {
		seen.findings = append(seen.findings, c.Store.Snapshot().Unserved(seen.models)...)
	}
	told, left := config.Within(c.Budget.Of(budget.Findings), seen.findings)
	seen.findings = told
	c.Over.Note(budget.Findings, left)
	if !slices.Equal(seen.findings, c.findings) || report.Changed {
		c.notifyWatchers()
	}
	c.findings = seen.findings
	return seen, nil
}

// read returns the ConfigMaps of the system namespace and of namespaces with VariantAutoscalings.
func (c *Configuration) read(ctx context.Context) (sight, error) {
	c.mu.Lock()
	changes := c.changes
	c.changes = map[client.ObjectKey]string{}
	c.mu.Unlock()
	var list v1alpha1.VariantAutoscalingList
	if err := c.Variants.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return sight{}, fmt.Errorf("listing VariantAutoscalings: %w", err)
	}
	read, models := map[string]bool{c.SystemNamespace: true}, make([]scaling.ModelKey, len(list.Items))
	for i := range list.Items {
		va := &list.Items[i]
		read[va.Namespace] = true
		models[i] = scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}
	}
	all, err := c.ConfigMaps.All(ctx)
	if err != nil {
		return sight{}, err
	}
	all = slices.DeleteFunc(all, func(m corev1.ConfigMap) bool { return !read[m.Namespace] })
	slices.SortFunc(all, func(a, b corev1.ConfigMap) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	maps.DeleteFunc(changes, func(key client.ObjectKey, _ string) bool { return !read[key.Namespace] })
	return sight{configMaps: all, variants: len(list.Items), models: models, changes: changes}, nil
}

// wake asks for one cycle if a decision may come out otherwise: because ConfigMaps changed, or
// because other namespaces have variants and so overrides.
func (c *Configuration) wake(seen sight) {
	if !seen.matters {
		return
	}
	reason := "overrides in namespaces changed"
	for _, key := range slices.SortedFunc(maps.Keys(seen.changes), compareKeys) {
		// Users of the published versions look for this text.
		c.Log.Info("ConfigMap changed, triggering global reconciliation",
			"configMap", key.Name, "namespace", key.Namespace, "totalVAs", seen.variants, "trigger", seen.changes[key])
		reason = "ConfigMap changed"
	}
	c.Wake(reason)
}

func compareKeys(a, b client.ObjectKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
