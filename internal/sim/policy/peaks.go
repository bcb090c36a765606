package policy

import "time"

// peaksOverTime keeps what live pods report, for the rules that read max_over_time: one high sample
// counts for the whole window.
type peaksOverTime struct {
	window time.Duration
	pods   map[string]*podPeaks // by variant and name
}

type podPeaks struct{ kv, queue series }

// podPeak is the peak of one pod; an unknown part is 0.
type podPeak struct {
	Peak
	knownKV, knownQueue bool
}

// observe takes in the readings of all pods, forgets the pods that are gone, and
// returns the peaks by variant and pod, in the order of the variants.
func (s *peaksOverTime) observe(now time.Time, variants []Variant) [][]podPeak {
	alive := map[string]*podPeaks{}
	out := make([][]podPeak, len(variants))
	for i, v := range variants {
		for _, pod := range v.Pods {
			key := v.Key.String() + "/" + pod.Name
			m := s.pods[key]
			if m == nil {
				m = &podPeaks{}
			}
			alive[key] = m
			if pod.KVCacheUsage.Known() {
				m.kv.add(now, pod.KVCacheUsage.Value, s.window)
			}
			if pod.QueueLength.Known() {
				m.queue.add(now, pod.QueueLength.Value, s.window)
			}
			var p podPeak
			p.KV, p.knownKV = m.kv.peak(now, s.window)
			p.Queue, p.knownQueue = m.queue.peak(now, s.window)
			out[i] = append(out[i], p)
		}
	}
	s.pods = alive
	return out
}
