package watch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Analyze returns the analyses that the cycle after last would make of snap, at least one, the
// foremost first. By returns an Analyze.
type Analyze func(last memory.Record, snap scaling.Snapshot) []scaling.Analysis

// Look holds the inputs of one check between two cycles.
type Look struct {
	Last      memory.Record // with fleet, snapshots, analyses, plan, history and interval
	Fleet     scaling.Fleet // as it is now; read only where Alone
	Snapshots []scaling.Snapshot
	// Alone says that no other part notices changes that only time makes.
	Alone bool
}

// Reason says why a cycle should run now, "" if it can wait for its interval. It is pure,
// so that a simulation uses the manager's rule.
func (l Look) Reason(analyze Analyze) string {
	var parts []scaling.Snapshot
	for _, s := range l.Snapshots {
		parts = append(parts, s.Parts()...)
	}
	analyses := make([][]scaling.Analysis, len(parts))
	for i, s := range parts {
		analyses[i] = analyze(l.Last, s)
	}
	reason := changed(l.Last, parts, analyses)
	if reason == "" {
		reason = waiting(l.Last, l.Snapshots)
	}
	if reason == "" && l.Alone {
		reason = cmp.Or(unsettled(l.Last, l.Fleet, analyses), idle(l.Last, l.Snapshots))
	}
	return reason
}

// By returns an Analyze that analyzes every model as its policy says. It returns only the analyses
// that decide.
func By(policy func(scaling.ModelKey) settings.Model) Analyze {
	return func(last memory.Record, snap scaling.Snapshot) []scaling.Analysis {
		of := policy(snap.Model)
		of.Objective = of.Objective.Of(snap.Role)
		return model.Analyses(model.Input{Snapshot: snap, History: last.History, Settings: of, Interval: last.Interval})
	}
}

// changed describes the first change that a cycle would see since the recorded cycle, in the models
// that both know, and counts the others; "" for none. snapshots are those of the parts, with the
// analyses of each at the same index.
func changed(record memory.Record, snapshots []scaling.Snapshot, analyses [][]scaling.Analysis) string {
	decided := make(map[scaling.Part][]scaling.Analysis, len(snapshots))
	for _, a := range record.Analyses {
		decided[a.Part()] = append(decided[a.Part()], a)
	}
	faults := make(map[scaling.ModelKey]bool, len(record.Snapshots))
	for _, s := range record.Snapshots {
		faults[s.Model] = s.Fault != ""
	}
	first, count := "", 0
	for i, s := range snapshots {
		what := ""
		if before, ok := faults[s.Model]; ok && before != (s.Fault != "") {
			what = "metrics are back"
			if !before {
				what = "metrics are out of reach"
			}
		} else {
			what = changedSignal(decided[s.Part()], analyses[i])
		}
		if what == "" {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("model %s: %s", s.Part(), what)
		}
	}
	if count > 1 {
		return fmt.Sprintf("%s; and %d more", first, count-1)
	}
	return first
}

// changedSignal names a signal that differs from the last cycle's: the signal of the foremost
// analysis, or of another that wants to grow and did not before; "" for none. A change of another
// analysis to Shrink does not count: it alone removes no replica.
func changedSignal(before, now []scaling.Analysis) string {
	if len(before) == 0 {
		return ""
	}
	if before[0].Signal != now[0].Signal {
		return fmt.Sprintf("signal went from %s to %s", before[0].Signal, now[0].Signal)
	}
	for _, a := range now[1:] {
		i := slices.IndexFunc(before, func(b scaling.Analysis) bool { return b.Analyzer == a.Analyzer })
		if i >= 0 && a.Signal == scaling.Grow && before[i].Signal != scaling.Grow {
			return fmt.Sprintf("signal of %s went from %s to %s", a.Analyzer, before[i].Signal, a.Signal)
		}
	}
	return ""
}

// unsettled names the first state that may change with time alone, "" when everything has settled.
func unsettled(record memory.Record, fleet scaling.Fleet, analyses [][]scaling.Analysis) string {
	for _, of := range analyses {
		if a := of[0]; a.Signal != scaling.Steady {
			return fmt.Sprintf("model %s: signal is %s", a.Part(), a.Signal)
		}
	}
	seen := make(map[scaling.VariantKey]scaling.ReplicaCounts, len(record.Fleet.Variants))
	for _, v := range record.Fleet.Variants {
		seen[v.Key] = v.Replicas
	}
	for _, v := range fleet.Variants {
		now, before := v.Replicas, seen[v.Key]
		past, decided := record.History[v.Key]
		switch {
		case !now.Observed:
			return fmt.Sprintf("variant %s: its target is not readable", v.Key)
		case decided && past.Desired != now.Current:
			return fmt.Sprintf("variant %s: %d replicas decided, target has %d", v.Key, past.Desired, now.Current)
		case now.Ready != now.Current:
			return fmt.Sprintf("variant %s: %d of %d replicas Ready", v.Key, now.Ready, now.Current)
		case now.Current != before.Current || now.Ready != before.Ready:
			return fmt.Sprintf("variant %s: replicas changed", v.Key)
		}
	}
	return ""
}
