package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// decisionsEvery is the least time between two writes of decisions: other processes, and the
	// next leader, answer from them.
	decisionsEvery = time.Second
	// decisionsFor is how long a process that does not lead answers from its last read.
	decisionsFor = 2 * time.Second
)

// DecidedKind is the kind that holds the decisions for the variants of a model without a
// VariantAutoscaling. A variant takes some 1,500 bytes.
func DecidedKind() Kind[Decided] {
	return Kind[Decided]{Name: "decisions", Version: 1, EntryBytes: 64 << 10, AllBytes: 896 << 10}
}

// Decided holds the decisions for the variants of a model, by their names.
type Decided map[string]Decision

// Decision is the decision for a variant without a VariantAutoscaling: the status that one would
// have.
type Decision struct {
	UID    types.UID                         `json:"uid"` // of the scaler that is the variant
	At     time.Time                         `json:"at"`  // when it was stored
	Status v1alpha1.VariantAutoscalingStatus `json:"status"`
}

// Merge implements Knowledge: of two decisions for a variant it takes the later one.
func (d Decided) Merge(o Decided) Decided {
	out := maps.Clone(d)
	if out == nil {
		out = Decided{}
	}
	for name, other := range o {
		if own, ok := out[name]; !ok || other.At.After(own.At) {
			out[name] = other
		}
	}
	return out
}

// Differs implements Knowledge.
func (d Decided) Differs(o Decided) bool {
	for name, own := range d {
		other, ok := o[name]
		if !ok || own.UID != other.UID || !apiequality.Semantic.DeepEqual(own.Status, other.Status) {
			return true
		}
	}
	return false
}

// Less implements Knowledge: it drops the oldest decision.
func (d Decided) Less() (Decided, bool) {
	if len(d) == 0 {
		return d, false
	}
	oldest := slices.MinFunc(slices.Sorted(maps.Keys(d)), func(a, b string) int { return d[a].At.Compare(d[b].At) })
	out := maps.Clone(d)
	delete(out, oldest)
	return out, true
}

// String implements Knowledge.
func (d Decided) String() string {
	parts := make([]string, 0, len(d))
	for _, name := range slices.Sorted(maps.Keys(d)) {
		text := name + ": no decision"
		if decided := d[name].Status.DesiredOptimizedAlloc; decided != nil {
			text = fmt.Sprintf("%s: %s", name, scaling.Replicas(decided.NumReplicas).Text())
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Decisions holds the decisions for variants without a VariantAutoscaling. The leader knows them
// and stores them within about a second; any other process reads them when asked. It is safe for
// concurrent use.
type Decisions struct {
	store   *Store // nil for memory alone
	entries *Entries[Decided]

	mu    sync.Mutex
	leads bool
	known map[scaling.VariantKey]modelDecision
	until time.Time // when a process that does not lead reads again
}

type modelDecision struct {
	model scaling.ModelKey
	Decision
}

// NewDecisions returns Decisions kept by a store of their own, made from o; in memory alone where
// stored is false.
func NewDecisions(o Options, stored bool) *Decisions {
	d := &Decisions{known: map[scaling.VariantKey]modelDecision{}}
	if stored {
		o.Every = decisionsEvery
		d.store = New(o)
		d.entries = Add(d.store, DecidedKind())
	}
	return d
}

// Run stores the decisions until ctx ends. Only the leader calls it.
func (d *Decisions) Run(ctx context.Context) error {
	if d.store == nil {
		<-ctx.Done()
		return nil
	}
	return d.store.Run(ctx)
}

// Lead takes over the decisions that the last leader stored. The leader calls it before the first
// cycle.
func (d *Decisions) Lead(ctx context.Context) {
	read := d.read(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leads = true; read != nil {
		d.known = read
	}
}

// read returns the stored decisions, nil where they cannot be read.
func (d *Decisions) read(ctx context.Context) map[scaling.VariantKey]modelDecision {
	if d.store == nil {
		return nil
	}
	stored := d.entries.Load(ctx)
	if stored == nil {
		return nil
	}
	out := map[scaling.VariantKey]modelDecision{}
	for model, decided := range stored {
		for name, one := range decided {
			key := scaling.VariantKey{Namespace: model.Namespace, Name: name}
			if other, ok := out[key]; !ok || one.At.After(other.At) { // a scaler that changed its model has two
				out[key] = modelDecision{model, one}
			}
		}
	}
	return out
}

// Status returns the status of a variant, and false where none is known for the object with that
// UID.
func (d *Decisions) Status(ctx context.Context, key scaling.VariantKey, uid types.UID) (v1alpha1.VariantAutoscalingStatus, bool) {
	d.refresh(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.known[key]
	if !ok || one.UID != uid {
		return v1alpha1.VariantAutoscalingStatus{}, false
	}
	return one.Status, true
}

// refresh reads the stored decisions if this process does not lead and its last read is too old.
// While they cannot be read, the last ones stay.
func (d *Decisions) refresh(ctx context.Context) {
	if d.store == nil {
		return
	}
	now := d.store.Clock.Now()
	d.mu.Lock()
	due := !d.leads && !now.Before(d.until)
	if due {
		d.until = now.Add(decisionsFor) // concurrent calls answer from known meanwhile
	}
	d.mu.Unlock()
	if !due {
		return
	}
	read := d.read(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.leads && read != nil {
		d.known = read
	}
}

// Write keeps the status of the variant that va stands for.
func (d *Decisions) Write(va *v1alpha1.VariantAutoscaling) {
	at := time.Time{}
	if d.store != nil {
		at = d.store.Clock.Now()
	}
	model := scaling.ModelKey{Namespace: va.Namespace, ID: va.Spec.ModelID}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[scaling.VariantKey{Namespace: va.Namespace, Name: va.Name}] = modelDecision{model, Decision{va.UID, at.UTC(), *va.Status.DeepCopy()}}
	d.keep()
}

// Keep forgets the decisions for all variants but those in alive.
func (d *Decisions) Keep(alive []types.NamespacedName) {
	lives := make(map[scaling.VariantKey]bool, len(alive))
	for _, key := range alive {
		lives[scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.known, func(key scaling.VariantKey, _ modelDecision) bool { return !lives[key] })
}

// keep hands all decisions to the store. The caller holds the lock.
func (d *Decisions) keep() {
	if d.store == nil {
		return
	}
	of := map[scaling.ModelKey]Decided{}
	for key, one := range d.known {
		if of[one.model] == nil {
			of[one.model] = Decided{}
		}
		of[one.model][key.Name] = Decision{one.UID, one.At, shortened(one.Status)}
	}
	d.entries.Keep(of)
}

// shortened returns a status as it is stored: without the messages that the next cycle writes
// again.
func shortened(s v1alpha1.VariantAutoscalingStatus) v1alpha1.VariantAutoscalingStatus {
	s = *s.DeepCopy()
	for i := range s.Conditions {
		if s.Conditions[i].Status == metav1.ConditionTrue && s.Conditions[i].Reason != string(v1alpha1.ReasonFallbackUsed) {
			s.Conditions[i].Message = ""
		}
	}
	return s
}
