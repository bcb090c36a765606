package profile

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Missing says why what is known of v does not count yet: how much was seen, then what keeps this
// sample from adding to it. f is what was seen, this sample included. It is empty where enough was
// seen.
func Missing(s scaling.Snapshot, v scaling.Variant, f memory.Fit) []string {
	if f.Informed() {
		return nil
	}
	itl, _ := f.Sums()
	out := []string{fmt.Sprintf("%.1f of the %d windows (%s) were seen in which its replicas serve and no more requests wait than replicas are Ready",
		itl.Samples, memory.SamplesEnough, s.Window)}
	if s.Window <= 0 {
		out[0] = "no window of its replicas was seen"
	}
	if v.Replicas.Ready == 0 {
		return append(out, "it has no Ready replica")
	}
	if _, known := s.Load.Computed(); !known {
		out = append(out, "how long prompts are is not known")
	}
	if v.Replicas.ReadyWithin(s.At, s.Window) {
		out = append(out, fmt.Sprintf("its newest replica is Ready for less than a window: since %s", v.Replicas.NewestReady.Format("15:04:05")))
	}
	if overloaded(s) {
		out = append(out, fmt.Sprintf("%.0f requests wait, more than replicas are Ready: what is seen in an overload counts only while nothing else is known", s.Waiting()))
	}
	return append(out, silent(s, v)...)
}

// silent says why no replica of v shows an ordinary step; it returns nothing where one does.
func silent(s scaling.Snapshot, v scaling.Variant) []string {
	var idle, full, stuck scaling.Replicas
	for _, r := range s.Replicas {
		switch {
		case r.Variant != v.Key:
		case r.Stuck != "":
			stuck++
		case r.Pace.Decoding < leastDecoding:
			idle++
		case r.KVCacheUsage.Or(1) >= crowded:
			full++
		default:
			return nil
		}
	}
	var out []string
	for _, of := range []struct {
		replicas scaling.Replicas
		says     string
	}{
		{idle, "without a request that decodes, or their pages do not say how many tokens and requests there were"},
		{full, fmt.Sprintf("with a KV cache that is more than %.0f %% full, or whose use is not known", 100*crowded)},
		{stuck, "stuck"},
	} {
		if of.replicas > 0 {
			out = append(out, fmt.Sprintf("%s %s", of.replicas.Text(), of.says))
		}
	}
	return slices.Clip(out)
}
