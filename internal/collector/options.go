package collector

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Options are the settings of a Collector. The zero value works and caches
// nothing.
type Options struct {
	// Concurrency is how many questions may be under way at once. 0 means 6.
	Concurrency int
	// QueryTimeout limits one question, with the retries of the Source. 0 means 10s.
	QueryTimeout time.Duration
	// Budget limits a collection with all of its questions. 0 means 30s.
	Budget time.Duration
	// Limits are the least ages for Fresh and Aging. A limit of 0 means that of DefaultLimits.
	Limits Limits
	// Backend is the source of readings that snapshots name.
	Backend scaling.Backend
	// Namespaces restricts every question. Empty means the whole cluster.
	Namespaces []string
	// Percentiles reports whether a model has a latency objective: only then its histograms are
	// asked for. Nil means never.
	Percentiles func(scaling.ModelKey) bool
	// Objective returns the objective of such a model: of its histograms only the buckets around it
	// are asked for, once the buckets are known. Nil means all buckets.
	Objective func(scaling.ModelKey) scaling.Objective
	// Idle follows every fetch, and tells since when models show no request. Nil means that
	// snapshots do not tell it.
	Idle *IdleTracker
	// Waiting returns how many requests for a model the Gate saw at the gateway, where it looks
	// more often; 0 for none. Nil means that there is no Gate.
	Waiting func(scaling.ModelKey) float64
	// Cache keeps complete measurements. Nil means cache.NoOp.
	Cache cache.Cache
	// TTL decides how long measurements are kept. Pages count as Fresh for as much longer. Nil
	// means cache.DefaultTTL; without a cache it has no effect.
	TTL cache.Lifetime
	// RefreshInterval is how often Refresh is called: it fetches entries that would expire before
	// the next call has fetched, an interval later. 0 means 15s.
	RefreshInterval time.Duration
	// Observe is called after every question with its name, its duration and its error. One call at
	// a time, in the order of the catalogue within each round of questions; those of Idle come in
	// between. Nil ignores them.
	Observe func(name string, took time.Duration, err error)
	// ObserveFetch is called after every fetch, for every caller, with its duration and the error
	// because of which it is not kept. One call at a time. Nil ignores them.
	ObserveFetch func(took time.Duration, err error)
	// ObserveCache is called at every Collect with the numbers of models that had a live entry and
	// that had none. Calls may be concurrent. Nil ignores them.
	ObserveCache func(hits, misses int)
	// ObserveCrowding is called after every complete fetch of more models than the cache has room
	// for, with their number. One call at a time. Nil ignores them.
	ObserveCrowding func(models int)
}

// withDefaults returns o with every unset field filled in.
func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 6
	}
	if o.QueryTimeout <= 0 {
		o.QueryTimeout = 10 * time.Second
	}
	if o.Budget <= 0 {
		o.Budget = 30 * time.Second
	}
	if o.Limits.Fresh <= 0 {
		o.Limits.Fresh = DefaultLimits().Fresh
	}
	if o.Limits.Aging <= 0 {
		o.Limits.Aging = DefaultLimits().Aging
	}
	if o.Percentiles == nil {
		o.Percentiles = func(scaling.ModelKey) bool { return false }
	}
	if o.Cache == nil {
		o.Cache = cache.NoOp{}
	}
	if o.TTL == nil {
		o.TTL = cache.DefaultTTL
	}
	if _, off := o.Cache.(cache.NoOp); off {
		o.TTL = cache.Fixed(0)
	}
	if o.RefreshInterval <= 0 {
		o.RefreshInterval = 15 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration, error) {}
	}
	if o.ObserveFetch == nil {
		o.ObserveFetch = func(time.Duration, error) {}
	}
	if o.ObserveCache == nil {
		o.ObserveCache = func(int, int) {}
	}
	if o.ObserveCrowding == nil {
		o.ObserveCrowding = func(int) {}
	}
	return o
}
