package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// following is whether decisions are carried out, by variant. It is found after a cycle
// was published, and so is not on its page. The zero value is empty. It is safe for
// concurrent use.
type following struct {
	mu sync.Mutex
	by map[scaling.VariantKey]followed
}

// followed is whether the decision on a variant is carried out, and the reason.
type followed struct {
	follows bool
	reason  scaling.Reason
}

// Following exports whether the decision on a variant is carried out and the next one
// would be, and the reason that the condition ScalerFollowing has. With the reason ""
// it is not known, and what was exported ends; it also ends when a record is published
// that does not hold the variant.
func (m *Metrics) Following(key scaling.VariantKey, follows bool, reason scaling.Reason) {
	m.following.set(key, followed{follows, reason})
}

func (f *following) set(key scaling.VariantKey, now followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.reason == "" {
		delete(f.by, key)
		return
	}
	if f.by == nil {
		f.by = map[scaling.VariantKey]followed{}
	}
	f.by[key] = now
}

// keep drops all variants but some.
func (f *following) keep(variants []scaling.Variant) {
	kept := make(map[scaling.VariantKey]bool, len(variants))
	for _, v := range variants {
		kept[v.Key] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.by, func(key scaling.VariantKey, _ followed) bool { return !kept[key] })
}

// series returns what a scrape shows. Of variants whose labels equal each other's after
// they were cut it shows the first: two equal series would make the whole scrape fail.
func (f *following) series(of family) []prometheus.Metric {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]prometheus.Metric, 0, len(f.by))
	var last []string
	for _, key := range slices.SortedFunc(maps.Keys(f.by), scaling.VariantKey.Compare) {
		labels := variant(key)
		if slices.Equal(labels, last) {
			continue
		}
		last = labels
		value := 0.0
		if f.by[key].follows {
			value = 1
		}
		out = append(out, prometheus.MustNewConstMetric(of.desc, of.kind, value, append(slices.Clip(labels), Label(string(f.by[key].reason)))...))
	}
	return out
}
