package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestNumbersAreShownInTheirUnit(t *testing.T) {
	two := 2
	for _, c := range []struct {
		v        float64
		unit     string
		decimals *int
		want     string
	}{
		{0, "s", nil, "0 s"},
		{0.0237, "s", nil, "23.7 ms"},
		{90, "s", nil, "1.5 min"},
		{90000, "s", nil, "1.04 d"},
		{0.005, "percentunit", nil, "0.5%"},
		{1, "percentunit", nil, "100%"},
		{64 << 20, "bytes", nil, "64 MiB"},
		{12.34, "reqps", nil, "12.3 req/s"},
		{1250, "short", nil, "1.25 K"},
		{-1, "none", nil, "-1"},
		{-0.0004, "none", &two, "-0.00"},
		{16.5, "short", &two, "16.50"},
		{math.NaN(), "s", nil, "no value"},
	} {
		if got := number(c.v, c.unit, c.decimals); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestTicksEncloseTheValues(t *testing.T) {
	for _, c := range []struct{ least, most, smallest float64 }{
		{0, 1, 0}, {0, 7, 0}, {-1, 1, 1}, {0, 0.0031, 0}, {0, 1, 1}, {3, 4, 1}, {-17, 2300, 0}, {0, 61.4, 0},
	} {
		got := ticks(c.least, c.most, c.smallest)
		if got[0] > c.least || got[len(got)-1] < c.most-1e-9*math.Abs(c.most) || len(got) < 2 || len(got) > 7 {
			t.Errorf("%v to %v: %v", c.least, c.most, got)
		}
		for i := 1; i < len(got); i++ {
			if got[i]-got[i-1] < c.smallest {
				t.Errorf("%v to %v: ticks %v are closer than %v", c.least, c.most, got, c.smallest)
			}
		}
	}
}

func TestRowsOfATableAreMergedByTheirCommonLabels(t *testing.T) {
	one := func(ref string, v float64, metric model.Metric) dashboard.Series {
		return dashboard.Series{RefID: ref, Labels: metric, Points: []model.SamplePair{{Value: model.SampleValue(v)}}}
	}
	got := merge([]dashboard.Series{
		one("A", 1, model.Metric{"n": "x", "type": "t"}), one("A", 2, model.Metric{"n": "y", "type": "t"}),
		one("B", 3, model.Metric{"n": "y"}), one("B", 4, model.Metric{"n": "z"}),
	})
	want := []record{
		{map[string]string{"n": "x", "type": "t"}, map[string]float64{"Value #A": 1}},
		{map[string]string{"n": "y", "type": "t"}, map[string]float64{"Value #A": 2, "Value #B": 3}},
		{map[string]string{"n": "z"}, map[string]float64{"Value #B": 4}},
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(record{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// sheet returns a dashboard of one panel.
func sheet(p dashboard.Panel, series ...dashboard.Series) *dashboard.Sheet {
	p.Grid = dashboard.Grid{W: 12, H: 8}
	return &dashboard.Sheet{
		Dashboard: &dashboard.Dashboard{Title: "a <board>", Panels: []dashboard.Panel{p}},
		Look:      dashboard.Look{At: noon, Range: 10 * time.Minute, Step: time.Minute},
		Choices:   []dashboard.Choice{{Label: "Model", Value: "a&b"}},
		Answers:   []dashboard.Answer{{Panel: p, Series: series}},
	}
}

// drawn draws a sheet and returns the text, which must be XML.
func drawn(t *testing.T, s *dashboard.Sheet) string {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, s); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for decoder := xml.NewDecoder(&b); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return text
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

// minutes returns a series with a value for each minute before noon, the last at
// noon.
func minutes(values ...float64) dashboard.Series {
	s := dashboard.Series{RefID: "A", Name: "one"}
	for i, v := range values {
		at := noon.Add(time.Duration(i+1-len(values)) * time.Minute)
		s.Points = append(s.Points, model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: model.SampleValue(v)})
	}
	return s
}

func TestALineIsBrokenWhereValuesAreMissing(t *testing.T) {
	line := func(text string) string {
		_, after, _ := strings.Cut(text, `class="line l0" d="`)
		path, _, _ := strings.Cut(after, `"`)
		return path
	}
	gap := minutes(1, 2, 3, 4, 5)
	gap.Points = append(gap.Points[:2], gap.Points[4:]...)
	for _, c := range []struct {
		name   string
		series dashboard.Series
		pieces int
	}{
		{"whole", minutes(1, 2, 3), 1},
		{"not a number", minutes(1, 2, math.NaN(), 3), 2},
		{"no points for a while", gap, 2},
	} {
		// The legend's mark is a line too, and stands before.
		text := drawn(t, sheet(dashboard.Panel{Type: "timeseries"}, c.series))
		text = text[strings.LastIndex(text, `class="line l0"`):]
		if got := strings.Count(line(text), "M"); got != c.pieces {
			t.Errorf("%s: %d pieces, want %d: %s", c.name, got, c.pieces, line(text))
		}
	}
}

func TestAPanelWithoutDataSaysItsWords(t *testing.T) {
	p := dashboard.Panel{Type: "timeseries"}
	p.FieldConfig.Defaults.NoValue = "Nothing is known of this."
	if text := drawn(t, sheet(p)); !strings.Contains(text, ">Nothing is known of this.<") {
		t.Errorf("the words are missing in\n%s", text)
	}
}

func TestMoreLinesThanTheLegendHoldsAreCounted(t *testing.T) {
	var series []dashboard.Series
	for range 40 {
		s := minutes(1, 2)
		s.Name = "a-rather-long-name-of-a-pod"
		series = append(series, s)
	}
	text := drawn(t, sheet(dashboard.Panel{Type: "timeseries"}, series...))
	shown := strings.Count(text, ">a-rather-long-name-of-a-pod<")
	_, after, _ := strings.Cut(text, ">and ")
	if !strings.HasPrefix(after, strconv.Itoa(40-shown)+" more<") {
		t.Errorf("%d names are shown, and then %.20s", shown, after)
	}
}

func TestBarsStandWhereThereAreValues(t *testing.T) {
	p := dashboard.Panel{Type: "timeseries"}
	p.FieldConfig.Defaults.Custom.DrawStyle = "bars"
	text := drawn(t, sheet(p, minutes(1, math.NaN(), 1)))
	_, after, _ := strings.Cut(text, `class="bar l0" d="`)
	path, _, _ := strings.Cut(after, `"`)
	if got := strings.Count(path, "Z"); got != 2 {
		t.Errorf("%d bars, want 2: %s", got, path)
	}
}

func TestTheColumnsOfATableShareItsWidth(t *testing.T) {
	one := func(ref, name, kind string) dashboard.Series {
		return dashboard.Series{RefID: ref, Labels: model.Metric{"name": model.LabelValue(name), "kind": model.LabelValue(kind)}, Points: []model.SamplePair{{Value: 1}}}
	}
	got := columns(dashboard.Answer{Series: []dashboard.Series{one("A", "a-rather-long-name", "x"), one("A", "b", "y")}})
	want := [][]string{{"Value #A", "1", "1"}, {"kind", "x", "y"}, {"name", "a-rather-long-name", "b"}}
	sum := 0.0
	for i, c := range got {
		if diff := cmp.Diff(c.cells, want[i]); diff != "" {
			t.Errorf("column %d (-got +want):\n%s", i, diff)
		}
		sum += c.share
	}
	if len(got) != 3 || math.Abs(sum-1) > 1e-9 || got[2].share < 2*got[1].share {
		t.Errorf("%d columns take %v of the width: %v", len(got), sum, got)
	}
}
