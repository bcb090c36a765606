package watch

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// news says what a cycle would see now and the recorded one did not, in the
// models that both know; "" when that is nothing. analyses are those of
// snapshots, in their order.
func news(record scaling.Record, snapshots []scaling.Snapshot, analyses []scaling.Analysis) string {
	signals := make(map[scaling.ModelKey]scaling.Signal, len(record.Analyses))
	for _, a := range record.Analyses {
		if _, decided := signals[a.Model]; !decided {
			signals[a.Model] = a.Signal // of several, the first decided
		}
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
		} else if before, ok := signals[s.Model]; ok && before != analyses[i].Signal {
			what = fmt.Sprintf("signal went from %s to %s", before, analyses[i].Signal)
		}
		if what == "" {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("model %s: %s", s.Model, what)
		}
	}
	if count > 1 {
		return fmt.Sprintf("%s; and %d more", first, count-1)
	}
	return first
}

// unrest says what time alone may change, "" when everything has settled.
func unrest(record scaling.Record, fleet scaling.Fleet, analyses []scaling.Analysis) string {
	for _, a := range analyses {
		if a.Signal != scaling.Steady {
			return fmt.Sprintf("model %s: signal is %s", a.Model, a.Signal)
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
