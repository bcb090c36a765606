package model

import (
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// liveIntervals is the number of intervals for which an Unknown analyzer keeps its vote.
const liveIntervals = 3

// unknownWindows is the number of windows for which a remembered backlog is used while some
// replicas do not report theirs: one that never reports must not keep it for ever.
const unknownWindows = 2

// liveness holds when each analyzer was last known.
type liveness struct {
	now    time.Time
	last   map[string]time.Time
	within time.Duration
}

// recall returns when each analyzer of a model was last known, from the past and the present
// analyses.
func recall(in Input, past []memory.Informed, analyses []scaling.Analysis) liveness {
	interval := in.Interval
	if interval <= 0 {
		interval = in.Snapshot.Window
	}
	l := liveness{now: in.Snapshot.At, last: map[string]time.Time{}, within: liveIntervals * interval}
	for _, i := range past {
		if !i.At.After(l.now) {
			l.last[i.Analyzer] = i.At
		}
	}
	for _, a := range analyses {
		if a.Signal != scaling.Unknown {
			l.last[a.Analyzer] = l.now
		}
	}
	return l
}

// live reports whether an analyzer has a vote.
func (l liveness) live(analyzer string) bool {
	at, ever := l.last[analyzer]
	return ever && l.now.Sub(at) <= l.within
}

// remember lists the analyzers that are live, sorted.
func (l liveness) remember() []memory.Informed {
	var out []memory.Informed
	for name, at := range l.last {
		if l.live(name) {
			out = append(out, memory.Informed{Analyzer: name, At: at})
		}
	}
	slices.SortFunc(out, func(a, b memory.Informed) int { return strings.Compare(a.Analyzer, b.Analyzer) })
	return out
}

// backlog returns the requests of the model that wait, and the remembered backlog. Where
// some replicas do not report theirs, the remembered backlog is used for two windows; after
// that these replicas count as 0.
func backlog(in Input, last memory.Backlog) memory.Backlog {
	if last.At.After(in.Snapshot.At) {
		last = memory.Backlog{}
	}
	waiting := in.Snapshot.Load.GatewayQueue.Or(0)
	for _, r := range in.Snapshot.Sorted() {
		queue := r.Waiting()
		if !queue.Known() && in.Snapshot.At.Sub(last.At) < unknownWindows*in.Snapshot.Window {
			return last
		}
		waiting += queue.Or(0)
	}
	return last.Then(waiting, in.Snapshot.At, in.Snapshot.Window/2)
}

// remembered returns what is remembered of the requests of the model, updated with the Snapshot.
func remembered(in Input, past memory.Traffic, backlog memory.Backlog) queueing.Memory {
	if past.Footprint.At.After(in.Snapshot.At) {
		past = memory.Traffic{}
	}
	return queueing.Remember(past, in.Snapshot, backlog, in.Interval, in.Settings.Objective)
}
