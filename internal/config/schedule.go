package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// mostWindows bounds the windows of one ConfigMap, and mostDays the days of one window, so that
// no namespace slows the cycle down.
const (
	mostWindows = 100
	mostDays    = 50
)

// Schedule returns the freeze windows: those of the system namespace, and those of each other
// namespace for its own variants.
func (s *Snapshot) Schedule() schedule.Schedule {
	out := slices.Clone(s.system.schedule)
	for _, namespace := range slices.Sorted(maps.Keys(s.layers)) {
		out = append(out, s.layers[namespace].schedule...)
	}
	return out
}

// readSchedule returns the accepted windows, sorted by key. A refused window keeps its last good
// content.
func readSchedule(of Source, system bool, last schedule.Schedule) (schedule.Schedule, []Finding) {
	f := newFindings(of)
	var out schedule.Schedule
	keep := func(key string) string {
		i := slices.IndexFunc(last, func(r schedule.Rule) bool { return r.Name == key })
		if i < 0 {
			return "nothing of this entry"
		}
		out = append(out, last[i])
		return "the last good entry"
	}
	for key, tree := range f.mappings(system, "YAML fields", keep) {
		if len(out) == mostWindows {
			f.add(Finding{Severity: Refused, Problem: "is one window too many", Want: fmt.Sprintf("%d windows or fewer", mostWindows), InForce: "nothing of this entry"})
			continue
		}
		before := len(f.list)
		rule, ok := readWindow(key, tree, of, system, f)
		if !ok {
			inForce := keep(key)
			f.hold(before, func(string) string { return inForce })
			continue
		}
		if rule.NeverEnds() {
			f.add(Finding{Severity: Doubtful, Problem: "never ends: it covers every hour of every week"})
		}
		out = append(out, rule)
	}
	return out, f.all()
}

// readWindow reads one window. It returns false for a refused one.
func readWindow(key string, tree map[string]any, of Source, system bool, f *findings) (schedule.Rule, bool) {
	w := schedule.Window{Name: key}
	var allow string
	names := map[string]*string{
		"allow": &allow, "from": &w.From, "to": &w.To, "timeZone": &w.TimeZone, "namespace": &w.Namespace, "model": &w.Model, "variant": &w.Variant,
	}
	known := append(slices.Sorted(maps.Keys(names)), "days")
	for _, field := range slices.Sorted(maps.Keys(tree)) {
		raw := tree[field]
		to, isName := names[field]
		switch {
		case raw == nil: // "field:" without a value is not set
		case isName:
			value, ok := text(raw)
			if !ok {
				f.add(Finding{Severity: Refused, Field: field, Value: show(raw), Want: "text, in quotation marks where it looks like a number"})
				return schedule.Rule{}, false
			}
			*to = value
		case field == "days":
			days, ok := readDays(raw)
			if !ok {
				f.add(Finding{Severity: Refused, Field: field, Value: show(raw), Want: fmt.Sprintf("a list of up to %d %s", mostDays, schedule.WantDays)})
				return schedule.Rule{}, false
			}
			w.Days = days
		default: // a misspelled selector would freeze every model
			f.add(Finding{Severity: Refused, Field: field, Problem: "is not known", Nearest: spelling.Nearest(field, known), Want: "one of " + strings.Join(known, ", ")})
			return schedule.Rule{}, false
		}
	}
	w.Allow = scaling.Allow(allow)
	if !system {
		if !ownNamespace(w.Namespace, of, f) {
			return schedule.Rule{}, false
		}
		w.Namespace = of.Namespace
	}
	f.concerns.Namespace, f.concerns.Model = w.Namespace, w.Model
	rule, err := schedule.Parse(w)
	if wrong := (*schedule.Error)(nil); errors.As(err, &wrong) {
		f.add(Finding{Severity: Refused, Field: wrong.Field, Value: wrong.Value, Want: wrong.Want, Problem: missing(wrong.Value), Nearest: nearestAllow(wrong)})
	}
	return rule, err == nil
}

// missing returns the problem "is missing" for an empty value, else "".
func missing(value string) string {
	if value == "" {
		return "is missing"
	}
	return ""
}

func nearestAllow(wrong *schedule.Error) string {
	if wrong.Field != "allow" {
		return ""
	}
	return spelling.Nearest(wrong.Value, []string{string(scaling.AllowNone), string(scaling.AllowGrowth)})
}

// readDays reads a list of days, or one day.
func readDays(raw any) ([]string, bool) {
	list, isList := raw.([]any)
	if !isList {
		list = []any{raw}
	}
	var out []string
	for _, item := range list {
		day, ok := text(item)
		if !ok || day == "" {
			return nil, false
		}
		out = append(out, day)
	}
	return out, len(out) > 0 && len(out) <= mostDays
}

// scheduleKeys documents KindSchedule.
func scheduleKeys() []Key {
	key := func(name, kind, otherwise, accepts, meaning string) Key {
		return Key{In: KindSchedule, Name: name, Type: kind, Default: otherwise, Accepts: accepts, Meaning: meaning, PerNamespace: true}
	}
	return []Key{
		key("allow", "text", "", schedule.WantAllow, "which changes are allowed within the window; required"),
		key("timeZone", "text", "", schedule.WantTimeZone, "time zone of days and times; required"),
		key("days", "list", "every day", schedule.WantDays, "days on which the window begins"),
		key("from", "text", "00:00", schedule.WantFrom, "time at which it begins"),
		key("to", "text", "24:00", schedule.WantTo, "time at which it ends, on the next day where it is not after from"),
		key("namespace", "text", "", "a namespace", "namespace that the window is for; every one if not said"),
		key("model", "text", "", "the ID of a model", "model that it is for; every one if not said"),
		key("variant", "text", "", "the name of a VariantAutoscaling or of an annotated scaler", "variant that it is for; every one if not said"),
	}
}
