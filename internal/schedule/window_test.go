package schedule

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// parsed returns a rule that must be accepted.
func parsed(t testing.TB, w Window) Rule {
	t.Helper()
	if w.Allow == "" {
		w.Allow = scaling.AllowNone
	}
	r, err := Parse(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at is an instant.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAWindowIsInForceByTheClocksOfItsZone: 2026-11-25 is a Wednesday. Zurich goes to summer time on
// 2026-03-29 (02:00 to 03:00, at 01:00 UTC) and back on 2026-10-25 (03:00 to 02:00, at 01:00 UTC);
// Samoa skipped 2011-12-30.
func TestAWindowIsInForceByTheClocksOfItsZone(t *testing.T) {
	const zurich = "Europe/Zurich"
	night := Window{From: "22:00", To: "06:00", TimeZone: zurich}
	tests := map[string]struct {
		window Window
		now    string
		until  string // "" where the window is not in force
	}{
		"a day, within":                       {Window{Days: []string{"Wed"}, TimeZone: "UTC"}, "2026-11-25T12:00:00Z", "2026-11-26T00:00:00Z"},
		"a day, at its first instant":         {Window{Days: []string{"Wed"}, TimeZone: "UTC"}, "2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z"},
		"a day, at its end":                   {Window{Days: []string{"Wed"}, TimeZone: "UTC"}, "2026-11-26T00:00:00Z", ""},
		"another day":                         {Window{Days: []string{"Tue", "Thursday"}, TimeZone: "UTC"}, "2026-11-25T12:00:00Z", ""},
		"hours, within":                       {Window{From: "09:00", To: "17:30", TimeZone: "UTC"}, "2026-11-25T17:29:59Z", "2026-11-25T17:30:00Z"},
		"hours, of another zone":              {Window{From: "09:00", To: "17:30", TimeZone: "America/New_York"}, "2026-11-25T13:59:59Z", ""},
		"hours, in their zone":                {Window{From: "09:00", To: "17:30", TimeZone: "America/New_York"}, "2026-11-25T14:00:00Z", "2026-11-25T22:30:00Z"},
		"over midnight, in the evening":       {night, "2026-11-25T21:00:00Z", "2026-11-26T05:00:00Z"},
		"over midnight, in the morning":       {night, "2026-11-26T04:59:59Z", "2026-11-26T05:00:00Z"},
		"over midnight, at noon":              {night, "2026-11-26T12:00:00Z", ""},
		"of the day on which it begins":       {Window{Days: []string{"Tue"}, From: "22:00", To: "06:00", TimeZone: "UTC"}, "2026-11-25T05:00:00Z", "2026-11-25T06:00:00Z"},
		"not of the day on which it ends":     {Window{Days: []string{"Wed"}, From: "22:00", To: "06:00", TimeZone: "UTC"}, "2026-11-25T05:00:00Z", ""},
		"from and to alike are a whole day":   {Window{Days: []string{"Wed"}, From: "12:00", To: "12:00", TimeZone: "UTC"}, "2026-11-26T11:59:00Z", "2026-11-26T12:00:00Z"},
		"a range of days ends with its last":  {Window{Days: []string{"Fri-Sun"}, TimeZone: "UTC"}, "2026-11-27T08:00:00Z", "2026-11-30T00:00:00Z"},
		"a range over the end of the week":    {Window{Days: []string{"sat-mon"}, TimeZone: "UTC"}, "2026-11-30T08:00:00Z", "2026-12-01T00:00:00Z"},
		"a date":                              {Window{Days: []string{"2026-11-25"}, TimeZone: "UTC"}, "2026-11-25T08:00:00Z", "2026-11-26T00:00:00Z"},
		"a date of another year":              {Window{Days: []string{"2025-11-25"}, TimeZone: "UTC"}, "2026-11-25T08:00:00Z", ""},
		"a range of dates over the new year":  {Window{Days: []string{"2026-12-20..2027-01-03"}, TimeZone: "UTC"}, "2026-12-24T08:00:00Z", "2027-01-04T00:00:00Z"},
		"every day, without an end":           {Window{TimeZone: "UTC"}, "2026-11-25T08:00:00Z", "0001-01-01T00:00:00Z"},
		"every day, over midnight whole days": {Window{From: "06:00", To: "06:00", TimeZone: "UTC"}, "2026-11-25T05:00:00Z", "0001-01-01T00:00:00Z"},

		"the beginning is skipped: not before":        {Window{From: "02:30", To: "04:00", TimeZone: zurich}, "2026-03-29T00:59:59Z", ""},
		"the beginning is skipped: at the change":     {Window{From: "02:30", To: "04:00", TimeZone: zurich}, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		"the end is skipped: before the change":       {Window{From: "01:00", To: "02:30", TimeZone: zurich}, "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		"the end is skipped: at the change":           {Window{From: "01:00", To: "02:30", TimeZone: zurich}, "2026-03-29T01:00:00Z", ""},
		"the beginning happens twice: the first":      {Window{From: "02:30", To: "04:00", TimeZone: zurich}, "2026-10-25T00:30:00Z", "2026-10-25T03:00:00Z"},
		"the beginning happens twice: in between":     {Window{From: "02:30", To: "04:00", TimeZone: zurich}, "2026-10-25T01:10:00Z", "2026-10-25T03:00:00Z"},
		"the end happens twice: after the first":      {Window{From: "01:00", To: "02:30", TimeZone: zurich}, "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"},
		"the end happens twice: at the second":        {Window{From: "01:00", To: "02:30", TimeZone: zurich}, "2026-10-25T01:30:00Z", ""},
		"a night of 25 hours ends by the clock":       {Window{From: "22:00", To: "06:00", TimeZone: zurich}, "2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z"},
		"a night of 23 hours ends by the clock":       {Window{From: "22:00", To: "06:00", TimeZone: zurich}, "2026-03-28T22:00:00Z", "2026-03-29T04:00:00Z"},
		"a day that a zone skipped is no time at all": {Window{Days: []string{"2011-12-30"}, TimeZone: "Pacific/Apia"}, "2011-12-30T10:00:00Z", ""},
		"the day after it":                            {Window{Days: []string{"2011-12-31"}, TimeZone: "Pacific/Apia"}, "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			until, in := parsed(t, tt.window).In(at(t, tt.now))
			if in != (tt.until != "") || in && !until.Equal(at(t, tt.until)) {
				t.Errorf("in force %t until %s, want until %q", in, until.UTC().Format(time.RFC3339), tt.until)
			}
		})
	}
}

func TestAFieldThatIsNotAcceptedIsNamed(t *testing.T) {
	good := Window{Allow: scaling.AllowGrowth, Days: []string{"Mon"}, From: "09:00", To: "17:00", TimeZone: "UTC"}
	tests := map[string]struct {
		change func(*Window)
		field  string
	}{
		"another change":          {func(w *Window) { w.Allow = "shrink" }, "allow"},
		"no change named":         {func(w *Window) { w.Allow = "" }, "allow"},
		"another day":             {func(w *Window) { w.Days = []string{"Mon", "Montag"} }, "days"},
		"an empty day":            {func(w *Window) { w.Days = []string{""} }, "days"},
		"a range without end":     {func(w *Window) { w.Days = []string{"Mon-"} }, "days"},
		"a date that is none":     {func(w *Window) { w.Days = []string{"2026-02-30"} }, "days"},
		"dates in reverse":        {func(w *Window) { w.Days = []string{"2026-12-24..2026-12-20"} }, "days"},
		"24:00 as a beginning":    {func(w *Window) { w.From = "24:00" }, "from"},
		"an hour without minutes": {func(w *Window) { w.From = "9" }, "from"},
		"one digit":               {func(w *Window) { w.From = "9:00" }, "from"},
		"after midnight":          {func(w *Window) { w.To = "24:01" }, "to"},
		"no zone":                 {func(w *Window) { w.TimeZone = "" }, "timeZone"},
		"a zone of the machine":   {func(w *Window) { w.TimeZone = "Local" }, "timeZone"},
		"a zone that is not":      {func(w *Window) { w.TimeZone = "Europe/Atlantis" }, "timeZone"},
		"a file":                  {func(w *Window) { w.TimeZone = "../../etc/passwd" }, "timeZone"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := good
			tt.change(&w)
			_, err := Parse(w)
			if wrong := (*Error)(nil); !errors.As(err, &wrong) || wrong.Field != tt.field || wrong.Want == "" {
				t.Errorf("got %v, want an error of %s", err, tt.field)
			}
		})
	}
	if _, err := Parse(good); err != nil {
		t.Error(err)
	}
}

// TestAWindowIsWhatItsClockShows compares windows with the clock read at each instant, on days
// without a change of the clocks, and the end with the first instant that is not in it.
func TestAWindowIsWhatItsClockShows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	zones := []string{"UTC", "Europe/Zurich", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"}
	clock := func(minutes int) string {
		return time.Date(0, 1, 1, 0, minutes, 0, 0, time.UTC).Format("15:04")
	}
	for range 3000 {
		from, to := r.IntN(24*60), r.IntN(24*60)
		w := parsed(t, Window{From: clock(from), To: clock(to), TimeZone: zones[r.IntN(len(zones))], Days: []string{time.Weekday(r.IntN(7)).String()}})
		now := time.Date(2026, 6, 1, 0, r.IntN(20*24*60), 0, 0, time.UTC) // June: no zone of these changes
		local := now.In(w.zone)
		minute, today := local.Hour()*60+local.Minute(), w.weekdays[local.Weekday()]
		yesterday := w.weekdays[(local.Weekday()+6)%7]
		want := today && minute >= from && minute < to
		if to <= from {
			want = today && minute >= from || yesterday && minute < to
		}
		until, in := w.In(now)
		if in != want {
			t.Fatalf("%+v at %s: in force %t, want %t", w.Window, local, in, want)
		}
		if _, still := w.In(until.Add(-time.Second)); in && !still {
			t.Fatalf("%+v at %s: not in force a second before its end, %s", w.Window, local, until)
		}
		if _, still := w.In(until); in && still {
			t.Fatalf("%+v at %s: in force at its end, %s", w.Window, local, until)
		}
	}
}

func TestOfWindowsThatOverlapTheStrictestHolds(t *testing.T) {
	now := at(t, "2026-11-25T12:00:00Z")
	v := scaling.Variant{Key: scaling.VariantKey{Namespace: "a", Name: "v"}, Model: scaling.ModelKey{Namespace: "a", ID: "m"}}
	window := func(name string, allow scaling.Allow, to string, change ...func(*Window)) Rule {
		w := Window{Name: name, Allow: allow, To: to, TimeZone: "UTC"}
		for _, f := range change {
			f(&w)
		}
		return parsed(t, w)
	}
	elsewhere := func(w *Window) { w.Namespace = "b" }
	model, variant := func(w *Window) { w.Model = "m" }, func(w *Window) { w.Variant = "v" }
	tests := map[string]struct {
		rules []Rule
		want  string
	}{
		"none":                          {nil, ""},
		"over":                          {[]Rule{window("a", scaling.AllowNone, "11:00")}, ""},
		"one":                           {[]Rule{window("a", scaling.AllowGrowth, "13:00")}, "growth a"},
		"the stricter":                  {[]Rule{window("a", scaling.AllowGrowth, "15:00"), window("b", scaling.AllowNone, "13:00")}, "none b"},
		"the longer of two alike":       {[]Rule{window("a", scaling.AllowNone, "13:00"), window("b", scaling.AllowNone, "14:00")}, "none b"},
		"the one without an end":        {[]Rule{window("a", scaling.AllowNone, "13:00"), window("b", scaling.AllowNone, "")}, "none b"},
		"the first name":                {[]Rule{window("b", scaling.AllowNone, "13:00"), window("a", scaling.AllowNone, "13:00")}, "none a"},
		"of another namespace":          {[]Rule{window("a", scaling.AllowNone, "13:00", elsewhere), window("b", scaling.AllowGrowth, "13:00")}, "growth b"},
		"of the model and the variant":  {[]Rule{window("a", scaling.AllowNone, "13:00", model, variant)}, "none a"},
		"of another model":              {[]Rule{window("a", scaling.AllowNone, "13:00", func(w *Window) { w.Model = "n" })}, ""},
		"of another variant":            {[]Rule{window("a", scaling.AllowNone, "13:00", func(w *Window) { w.Variant = "w" })}, ""},
		"of the namespace of a variant": {[]Rule{window("a", scaling.AllowNone, "13:00", func(w *Window) { w.Namespace = "a" })}, "none a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				variants := []scaling.Variant{v}
				got := Schedule(tt.rules).At(now).Freeze(variants)[0].Freeze
				text := ""
				if got.Allow != "" {
					text = string(got.Allow) + " " + got.Window
				}
				if text != tt.want {
					t.Errorf("got %q, want %q", text, tt.want)
				}
				if diff := cmp.Diff(v, variants[0]); diff != "" {
					t.Errorf("the variant was modified:\n%s", diff)
				}
				if n := len(tt.rules); n > 1 {
					tt.rules[0], tt.rules[n-1] = tt.rules[n-1], tt.rules[0]
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("none", "Mon-Fri", "22:00", "06:00", "Europe/Zurich", int64(1_790_000_000))
	f.Add("growth", "2026-12-20..2027-01-03", "", "24:00", "UTC", int64(1_797_000_000))
	f.Add("none", "Sun", "02:30", "02:30", "America/New_York", int64(1_772_953_200))
	f.Fuzz(func(t *testing.T, allow, day, from, to, zone string, seconds int64) {
		r, err := Parse(Window{Allow: scaling.Allow(allow), Days: []string{day}, From: from, To: to, TimeZone: zone})
		if err != nil {
			if wrong := (*Error)(nil); !errors.As(err, &wrong) || wrong.Field == "" || wrong.Want == "" {
				t.Fatalf("%v names no field", err)
			}
			return
		}
		now := time.Unix(seconds%(1<<33), 0)
		until, in := r.In(now)
		switch {
		case in && !until.IsZero() && !until.After(now):
			t.Fatalf("in force at %s until %s", now, until)
		case in && until.IsZero() != r.NeverEnds():
			t.Fatalf("ends at %s; never: %t", until, r.NeverEnds())
		}
	})
}
