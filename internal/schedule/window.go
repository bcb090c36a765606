package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the manager's image has no zones of its own

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Window is a freeze window as its user writes it.
type Window struct {
	Name  string        // "" is allowed
	Allow scaling.Allow // AllowNone or AllowGrowth
	// Days are the days on which the window begins: weekdays (Mon), ranges of them (Mon-Fri), dates
	// (2026-12-24) and ranges of these (2026-12-20..2027-01-03). An empty list means all days.
	Days []string
	// From and To are times of day, 00:00 to 23:59, and 24:00 for To. "" means 00:00 and 24:00.
	From, To string
	// TimeZone is the name of a zone of the IANA database: Europe/Zurich, UTC.
	TimeZone string
	// Namespace, Model (an ID) and Variant (a name) restrict the window; "" means all.
	Namespace, Model, Variant string
}

// Error says that a field of a Window is not accepted.
type Error struct {
	Field string // as in ConfigMaps: allow, days, from, to, timeZone
	Value string
	Want  string // what is accepted
}

// Error names the field, the value and what is accepted.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %q is not accepted: want %s", e.Field, e.Value, e.Want)
}

// What is accepted, in words.
const (
	WantAllow    = "none or growth"
	WantDays     = "weekdays (Mon), ranges of weekdays (Mon-Fri), dates (2026-12-24) and ranges of dates (2026-12-20..2027-01-03)"
	WantFrom     = "a time of day from 00:00 to 23:59"
	WantTo       = "a time of day from 00:00 to 24:00"
	WantTimeZone = "the name of a time zone in the IANA database, such as Europe/Zurich or UTC"
)

// Rule is a Window that was parsed.
type Rule struct {
	Window

	weekdays [7]bool
	dates    []dates
	from, to int // minutes since 00:00; to > from, beyond 24 hours for the next day
	zone     *time.Location
}

// dates holds the days from the first to the last, each as its midnight in UTC.
type dates struct{ first, last time.Time }

// minutesOfDay is the length of a day without a change of the clocks.
const minutesOfDay = 24 * 60

// Parse checks a window. The error is an *Error about the first field that is not accepted.
func Parse(w Window) (Rule, error) {
	r := Rule{Window: w}
	if w.Allow != scaling.AllowNone && w.Allow != scaling.AllowGrowth {
		return Rule{}, &Error{"allow", string(w.Allow), WantAllow}
	}
	for _, day := range w.Days {
		if !r.addDays(day) {
			return Rule{}, &Error{"days", day, WantDays}
		}
	}
	if len(w.Days) == 0 {
		r.weekdays = [7]bool{true, true, true, true, true, true, true}
	}
	var ok bool
	if r.from, ok = timeOfDay(w.From, 0); !ok || r.from == minutesOfDay {
		return Rule{}, &Error{"from", w.From, WantFrom}
	}
	if r.to, ok = timeOfDay(w.To, minutesOfDay); !ok {
		return Rule{}, &Error{"to", w.To, WantTo}
	}
	if r.to <= r.from {
		r.to += minutesOfDay
	}
	zone, err := zoneOf(w.TimeZone)
	if err != nil {
		return Rule{}, &Error{"timeZone", w.TimeZone, WantTimeZone}
	}
	r.zone = zone
	return r, nil
}

// zoneOf loads a zone by its name. It refuses "" and "Local", which time.LoadLocation reads as UTC
// and as the zone of the machine.
func zoneOf(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q names no time zone", name)
	}
	return time.LoadLocation(name)
}

// timeOfDay reads "22:00" as minutes; "" gives otherwise.
func timeOfDay(text string, otherwise int) (minutes int, ok bool) {
	switch text {
	case "":
		return otherwise, true
	case "24:00":
		return minutesOfDay, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil && len(text) == len("15:04")
}

// addDays adds the days that a text names, and reports whether it names any.
func (r *Rule) addDays(text string) bool {
	if first, last, isRange := strings.Cut(text, ".."); isRange || strings.Count(text, "-") == 2 {
		if !isRange {
			last = first
		}
		from, err := time.Parse(time.DateOnly, first)
		to, errTo := time.Parse(time.DateOnly, last)
		if err != nil || errTo != nil || to.Before(from) {
			return false
		}
		r.dates = append(r.dates, dates{from, to})
		return true
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, to := weekday(first), weekday(last)
	if from < 0 || to < 0 {
		return false
	}
	for day := from; ; day = (day + 1) % 7 {
		r.weekdays[day] = true
		if day == to {
			return true
		}
	}
}

// weekday returns the number of a day by its name or the first three letters, -1 for none.
func weekday(name string) int {
	return slices.IndexFunc([]time.Weekday{0, 1, 2, 3, 4, 5, 6}, func(d time.Weekday) bool {
		return strings.EqualFold(name, d.String()) || strings.EqualFold(name, d.String()[:3])
	})
}

// begins reports whether the window begins on a day, given as its midnight in UTC.
func (r Rule) begins(day time.Time) bool {
	return r.weekdays[day.Weekday()] || slices.ContainsFunc(r.dates, func(d dates) bool {
		return !day.Before(d.first) && !day.After(d.last)
	})
}

// NeverEnds reports whether the window covers every hour of every week.
func (r Rule) NeverEnds() bool {
	return r.weekdays == [7]bool{true, true, true, true, true, true, true} && r.to-r.from >= minutesOfDay
}

// In reports whether the window is in force at now, and returns its end in the zone of the window;
// zero if it never ends.
func (r Rule) In(now time.Time) (until time.Time, in bool) {
	local := now.In(r.zone)
	today := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	// A window of yesterday may last until today; a zone may skip a day.
	for _, day := range []time.Time{today.AddDate(0, 0, -2), today.AddDate(0, 0, -1), today, today.AddDate(0, 0, 1)} {
		if !r.begins(day) {
			continue
		}
		if begin, end := r.on(day); !begin.After(now) && end.After(now) {
			return r.end(day, end), true
		}
	}
	return time.Time{}, false
}

// longestRun is the number of consecutive windows that end follows.
const longestRun = 400

// end returns the end of the windows that follow each other without a gap, beginning with the one
// that begins on day and ends at end; zero if they never end.
func (r Rule) end(day, end time.Time) time.Time {
	if r.NeverEnds() {
		return time.Time{}
	}
	for range longestRun {
		day = day.AddDate(0, 0, 1)
		if !r.begins(day) {
			break
		}
		begin, next := r.on(day)
		if begin.After(end) {
			break
		}
		end = next
	}
	return end.In(r.zone)
}

// on returns the beginning and the end of the window that begins on a day.
func (r Rule) on(day time.Time) (begin, end time.Time) {
	return clock(day, r.from, r.zone, false), clock(day, r.to, r.zone, true)
}

// clock returns the instant at which the clocks of a zone show so many minutes after the midnight
// that begins a day. Where they show that twice, it returns the later or the earlier instant; where
// they skip it, the instant of the change.
func clock(day time.Time, minutes int, zone *time.Location, later bool) time.Time {
	shown := day.Add(time.Duration(minutes) * time.Minute) // as if the zone were UTC
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	// No zone is a day away from UTC; no zone changes its clocks twice within three days.
	before, after := shown.Add(-offset(shown.Add(-36*time.Hour))), shown.Add(-offset(shown.Add(36*time.Hour)))
	shows := func(at time.Time) bool { return at.Add(offset(at)).Equal(shown) }
	switch {
	case shows(before) && (!later || !shows(after)):
		return before
	case shows(after):
		return after
	}
	skipped, _ := before.In(zone).ZoneBounds()
	return skipped
}
