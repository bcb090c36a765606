package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// following holds whether decisions are carried out, by variant. It is set after a cycle was
// published, and so is not on its page. The zero value is empty. It is safe for concurrent use.
type following struct {
	mu sync.Mutex
	by map[scaling.VariantKey]followed
}

// followed says whether the decision on a variant is carried out, with the reason.
type followed struct {
	follows bool
	reason  scaling.Reason
}

// Following exports whether the decision on a variant is carried out and the next one would be,
// with the reason of the condition ScalerFollowing. The reason "" means unknown, and ends the
// series. It also ends when a published record does not hold the variant.
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

// keep drops all variants except the given ones.
func (f *following) keep(variants []scaling.Variant) {
	kept := make(map[scaling.VariantKey]bool, len(variants))
	for _, v := range variants {
		kept[v.Key] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.by, func(key scaling.VariantKey, _ followed) bool { return !kept[key] })
}

// series returns the series of a scrape. Of variants whose labels are equal after they were cut it
// returns the first: two equal series would make the whole scrape fail.
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
