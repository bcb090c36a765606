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
	// QueryTimeout bounds one question, with what the Source tries again. 0 means
	// 10s.
	QueryTimeout time.Duration
	// Budget bounds a collection with all of its questions. 0 means 30s.
	Budget time.Duration
	// Limits are the least ages for Fresh and Aging. A limit of 0 means that of
	// DefaultLimits.
	Limits Limits
	// Backend is what snapshots say of where their readings come from.
	Backend scaling.Backend
	// Namespaces restricts every question. Empty means the whole cluster.
	Namespaces []string
	// Percentiles says which models have a latency objective: only their
	// histograms are asked for. Nil means none.
	Percentiles func(scaling.ModelKey) bool
	// Objective returns the objective of such a model: of its histograms only the
	// buckets around it are asked for, once it is known which there are. Nil means that
	// all are.
	Objective func(scaling.ModelKey) scaling.Objective
	// Idle is told of every fetch, and tells since when models show no request. Nil
	// means that snapshots do not say it.
	Idle *IdleTracker
	// Waiting returns how many requests were seen to wait at the gateway for a model
	// by the Gate, which looks there more often; 0 for none. Nil: there is no Gate.
	Waiting func(scaling.ModelKey) float64
	// Cache keeps complete measurements. Nil means cache.NoOp.
	Cache cache.Cache
	// TTL says for how long, and so how much longer pages count as Fresh. Nil
	// means cache.DefaultTTL; without a cache it has no effect.
	TTL cache.Lifetime
	// RefreshInterval is how often Refresh is called: it fetches what would not
	// live until the next call has fetched, an interval later. 0 means 15s.
	RefreshInterval time.Duration
	// Observe is told of every question after it ended: its name, how long it took
	// and its error. One call at a time, in the order of the catalogue within each
	// round of questions; those of Idle come in between. Nil ignores them.
	Observe func(name string, took time.Duration, err error)
	// ObserveFetch is told of every fetch after it ended, for every caller: how
	// long it took, and the error because of which it is not kept. One call at a
	// time. Nil ignores them.
	ObserveFetch func(took time.Duration, err error)
	// ObserveCache is told of every Collect: for how many models there was a live
	// entry and for how many there was none. It may be called side by side. Nil
	// ignores them.
	ObserveCache func(hits, misses int)
	// ObserveCrowding is told of every complete fetch whose models the cache has
	// not enough room for: how many there are. One call at a time. Nil
	// ignores them.
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
