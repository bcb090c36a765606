package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// frozen returns the freeze of the variant v of llama, on Wednesday 2026-11-25 at noon in UTC.
func frozen(s *Snapshot) any {
	v := scaling.Variant{Key: scaling.VariantKey{Namespace: llama.Namespace, Name: "v"}, Model: llama}
	f := s.Schedule().At(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)).Of(v)
	if f.Allow == "" {
		return ""
	}
	return string(f.Allow) + " " + strings.ReplaceAll(strings.TrimPrefix(f.String(), "freeze window "), `"`, "")
}

func TestANamespaceFreezesItsOwnVariantsOnly(t *testing.T) {
	const window = "allow: none\ntimeZone: UTC\nto: 13:00"
	tests := map[string]struct {
		maps []Source
		want any
	}{
		"its own":                      {[]Source{in("team", scheduleMap, "w", window)}, "none w, until 2026-11-25 13:00 UTC"},
		"its own, named":               {[]Source{in("team", scheduleMap, "w", window+"\nnamespace: team")}, "none w, until 2026-11-25 13:00 UTC"},
		"another's":                    {[]Source{in("other", scheduleMap, "w", window)}, ""},
		"another's, for this one":      {[]Source{in("other", scheduleMap, "w", window+"\nnamespace: team")}, ""},
		"the stricter of both":         {[]Source{system(scheduleMap, "s", "allow: growth\ntimeZone: UTC"), in("team", scheduleMap, "w", window)}, "none w, until 2026-11-25 13:00 UTC"},
		"none looser than the cluster": {[]Source{system(scheduleMap, "s", window), in("team", scheduleMap, "w", "allow: growth\ntimeZone: UTC")}, "none s, until 2026-11-25 13:00 UTC"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.Apply(tt.maps)
			if got := frozen(s.Snapshot()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAWindowWithAMistakeFreezesNothingElse: a selector that is not understood must not freeze
// every model.
func TestAWindowWithAMistakeFreezesNothingElse(t *testing.T) {
	for entry, want := range map[string]string{
		"allow: none\ntimeZone: UTC\nvariants: v":        `w, variants: is not known: want one of`,
		"allow: none\ntimeZone: UTC\nvariant: [v]":       `w, variant: "[\"v\"]" is not accepted: want text`,
		"allow: nome\ntimeZone: UTC":                     `w, allow: "nome" is not accepted: want none or growth; did you mean none?`,
		"timeZone: UTC":                                  `w, allow: is missing: want none or growth`,
		"allow: none":                                    `w, timeZone: is missing: want the name of a time zone`,
		"allow: none\ntimeZone: UTC\ndays: []":           `w, days: "[]" is not accepted: want a list of up to 50 weekdays`,
		"allow: none\ntimeZone: UTC\nfrom: 7":            `w, from: "7" is not accepted: want text, in quotation marks`,
		"allow: none\ntimeZone: UTC\nfrom: '7'":          `w, from: "7" is not accepted: want a time of day from 00:00 to 23:59`,
		"allow: none\ntimeZone: UTC\ndays: [Mo]":         `w, days: "Mo" is not accepted: want weekdays (Mon)`,
		"allow: none\ntimeZone: UTC\nnamespace: [1]\n":   `w, namespace: "[1]" is not accepted: want text`,
		"allow: none\ntimeZone: UTC\ndays: [2026-02-30]": `w, days: "2026-02-30" is not accepted`,
	} {
		t.Run(entry, func(t *testing.T) {
			s := newStore(t)
			report := s.Apply([]Source{system(scheduleMap, "w", entry, "x", "allow: none\ntimeZone: UTC\nvariant: other\nto: 12:00")})
			wantFinding(t, report.Findings, want, "in force: nothing of this entry")
			if got := s.Snapshot().Schedule(); len(got) != 1 || got[0].Name != "x" {
				t.Errorf("got %v, want the window x alone", got)
			}
		})
	}
}

func TestAWindowThatNeverEndsIsNamed(t *testing.T) {
	for entry, never := range map[string]bool{
		"allow: none\ntimeZone: UTC":                                 true,
		"allow: growth\ntimeZone: UTC\nfrom: 06:00\nto: 06:00":       true,
		"allow: none\ntimeZone: UTC\ndays: [Mon-Sun]":                true,
		"allow: none\ntimeZone: UTC\nto: 23:59":                      false,
		"allow: none\ntimeZone: UTC\ndays: [Mon-Sat]":                false,
		"allow: none\ntimeZone: UTC\ndays: [2026-01-01..2026-12-31]": false,
	} {
		report := newStore(t).Apply([]Source{system(scheduleMap, "w", entry)})
		if got := len(report.Findings) == 1 && strings.Contains(report.Findings[0].String(), "never ends"); got != never || len(report.Findings) > 1 {
			t.Errorf("%s: got %v, want a finding: %t", entry, report.Findings, never)
		}
	}
}

func TestWindowsAreBounded(t *testing.T) {
	data := make([]string, 0, 202)
	for i := range 101 {
		data = append(data, fmt.Sprintf("w%03d", i), "allow: growth\ntimeZone: UTC\nvariant: x\nto: 12:00")
	}
	s := newStore(t)
	report := s.Apply([]Source{in("team", scheduleMap, data...)})
	wantFinding(t, report.Findings, "w100: is one window too many: want 100 windows or fewer")
	if got := len(s.Snapshot().Schedule()); got != mostWindows {
		t.Errorf("got %d windows, want %d", got, mostWindows)
	}
}
