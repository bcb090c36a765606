package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

var update = flag.Bool("update", false, "rewrite testdata")

// golden compares got with testdata/name. Escape sequences are written as ␛.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update rewrites it):\n%s", path, diff)
	}
}

// sampled is f at so many points from 0 to end.
func sampled(name string, end float64, points int, f func(float64) float64) Line {
	l := Line{Name: name}
	for i := range points {
		x := end * float64(i) / float64(points-1)
		l.Points = append(l.Points, Point{x, f(x)})
	}
	return l
}

// example has a logarithmic and a linear panel, two lines that end together, and a
// text that has to be escaped.
func example() Plot {
	wait := func(factor float64) func(float64) float64 {
		return func(x float64) float64 { return 20 + factor*x/(8.01-x) }
	}
	return Plot{
		Title: "A queue & its <wait>",
		X:     "arrival rate, requests/s",
		Panels: []Panel{
			{
				Y:      "TTFT, ms",
				Lines:  []Line{sampled("mean", 8, 200, wait(10)), sampled("p99", 8, 200, wait(46))},
				Limits: []Mark{{200, "target 200"}},
			},
			{
				Y: "ITL, ms",
				Lines: []Line{
					sampled("mean", 8, 3, func(x float64) float64 { return 20 + 2*x }),
					{Name: "bound", Points: []Point{{0, 22}, {8, 38}}, Thin: true},
				},
				Dots: Dots{Name: "seen", Points: []Point{{1, 21}, {4.2, 31}, {7, 33}}},
			},
		},
		Marks: []Mark{{2, "half"}, {6.5, "sized"}},
	}
}

func mustLines(t *testing.T, p Plot, width int, paint console.Paint) []string {
	t.Helper()
	lines, err := p.Lines(width, paint)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestLinesDrawsForATerminal(t *testing.T) {
	plain := mustLines(t, example(), 72, console.Paint{})
	golden(t, "plain.txt", strings.Join(plain, "\n")+"\n")
	colour := mustLines(t, example(), 48, console.Terminal{Colour: true}.Paint())
	golden(t, "colour.txt", strings.Join(colour, "\n")+"\n")
}

func TestLinesAreDrawnFromTheirFirstPointToTheirLast(t *testing.T) {
	for name, c := range map[string]struct{ first, last, share float64 }{
		"from 0": {2, 8, 6.0 / 8}, "negative": {-8, -2, 1}, "around 0": {-1, 1, 1}, "thin": {1, 1.001, 1},
	} {
		p := Plot{Panels: []Panel{{Lines: []Line{{Points: []Point{{c.first, 1}, {c.last, 1}}}}}}}
		text := strings.Join(mustLines(t, p, 60, console.Paint{}), "\n")
		drawn, axis := 0.0, 0.0
		for _, r := range text {
			switch {
			case r > 0x2800 && r <= 0x28ff:
				drawn++
			case r == '─' || r == '┬':
				axis++
			}
		}
		if want := c.share * axis; math.Abs(drawn-want) > 1 {
			t.Errorf("%s: %v cells of %v are drawn, want %v:\n%s", name, drawn, axis, want, text)
		}
	}
}

func TestLinesFitTheWidth(t *testing.T) {
	for width := range 160 {
		for _, line := range mustLines(t, example(), width, console.Terminal{Colour: true}.Paint()) {
			if got, limit := console.Width(line), max(width, leastWidth); got > limit {
				t.Fatalf("a line for a width of %d takes %d cells: %q", width, got, line)
			}
		}
	}
}

func TestWriteSVGDrawsAPicture(t *testing.T) {
	var b strings.Builder
	if err := example().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "example.svg", b.String())
	// It needs nothing else: no reference but the name of the format itself.
	text := strings.Replace(b.String(), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
	for _, outside := range []string{"http", "href", "url(", "@import", "<script"} {
		if strings.Contains(text, outside) {
			t.Errorf("the picture has %q", outside)
		}
	}
}

func TestALineWithoutANameHasTheColourOfTheLineBefore(t *testing.T) {
	points := []Point{{0, 1}, {1, 2}}
	p := Plot{Panels: []Panel{{Lines: []Line{
		{Name: "a", Points: points}, {Thin: true, Points: points}, {Name: "b", Points: points}, {Thin: true, Points: points},
	}}}}
	var b strings.Builder
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]int{`class="thin line0"`: 1, `class="thin line1"`: 1, `class="line line1"`: 1} {
		if got := strings.Count(b.String(), class); got != want {
			t.Errorf("%d paths have %s, want %d", got, class, want)
		}
	}
}

// svgElement is what the tests read of a picture.
type svgElement struct {
	XMLName xml.Name
	Class   string       `xml:"class,attr"`
	X       float64      `xml:"x,attr"`
	Y       float64      `xml:"y,attr"`
	Text    string       `xml:",chardata"`
	Inside  []svgElement `xml:",any"`
}

func TestWriteSVGKeepsLabelsApartAndColoursByName(t *testing.T) {
	p := example()
	p.Panels[0].Lines = append(p.Panels[0].Lines, p.Panels[0].Lines[0], p.Panels[0].Lines[0])
	p.Panels[0].Lines[2].Name, p.Panels[0].Lines[3].Name = "like mean", "too"
	slices.Reverse(p.Panels[0].Lines)
	var b strings.Builder
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	var svg svgElement
	if err := xml.Unmarshal([]byte(b.String()), &svg); err != nil {
		t.Fatal(err)
	}
	var ys []float64
	classes := map[string]string{}
	for _, e := range svg.Inside {
		if e.XMLName.Local != "text" || e.X <= rightEdge {
			continue
		}
		ys = append(ys, e.Y)
		if class, seen := classes[e.Text]; seen && class != e.Class {
			t.Errorf("%s is %s and %s", e.Text, class, e.Class)
		}
		classes[e.Text] = e.Class
	}
	slices.Sort(ys)
	for i := 1; i < len(ys); i++ {
		if ys[i]-ys[i-1] < textHeight-0.2 { // written with one decimal
			t.Errorf("labels at %v and %v overlap", ys[i-1], ys[i])
		}
	}
	want := map[string]string{"too": "line0", "like mean": "line1", "p99": "line2", "mean": "line3", "bound": "line4", "seen": "line0", "target 200": "limit"}
	if diff := cmp.Diff(want, classes); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeDrawnIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plot)
		want   string
	}{
		{"no panel", func(p *Plot) { p.Panels = nil }, "plot: there is no panel, want at least one"},
		{"no line", func(p *Plot) { p.Panels[1].Lines = nil }, `plot: panel "ITL, ms": there is no line, want at least one`},
		{"one point", func(p *Plot) { p.Panels[1].Lines[0].Points = []Point{{1, 1}} }, `plot: panel "ITL, ms": the line "mean" has 1 points, want at least 2`},
		{
			"no number", func(p *Plot) { p.Panels[1].Lines[0].Points[1].Y = math.NaN() },
			`plot: panel "ITL, ms": point 1 of the line "mean" is at (4, NaN), want each 0 or 1e-100 to 1e100`,
		},
		{
			"infinity", func(p *Plot) { p.Panels[1].Lines[0].Points[2].X = math.Inf(1) },
			`plot: panel "ITL, ms": point 2 of the line "mean" is at (+Inf, 36), want each 0 or 1e-100 to 1e100`,
		},
		{
			"backwards", func(p *Plot) { p.Panels[1].Lines[0].Points[1].X = 0 },
			`plot: panel "ITL, ms": point 1 of the line "mean" is at x = 0, want more than that of the point before, 0`,
		},
		{
			"a dot", func(p *Plot) { p.Panels[1].Dots.Points[0].Y = math.Inf(1) },
			`plot: panel "ITL, ms": dot 0 of "seen" is at (1, +Inf), want each 0 or 1e-100 to 1e100`,
		},
		{
			"a limit", func(p *Plot) { p.Panels[0].Limits[0].At = 1e-200 },
			`plot: panel "TTFT, ms": the limit "target 200" is at 1e-200, want 0 or 1e-100 to 1e100`,
		},
		{"a mark", func(p *Plot) { p.Marks[1].At = math.Inf(-1) }, `plot: the mark "sized" is at -Inf, want 0 or 1e-100 to 1e100`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := example()
			c.change(&p)
			_, err := p.Lines(80, console.Paint{})
			if err == nil || err.Error() != c.want {
				t.Errorf("Lines: got %v, want %s", err, c.want)
			}
			if err := p.WriteSVG(io.Discard); err == nil || err.Error() != c.want {
				t.Errorf("WriteSVG: got %v, want %s", err, c.want)
			}
		})
	}
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	if err := example().WriteSVG(broken{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want %v", err, os.ErrClosed)
	}
}

// FuzzPlot draws lines of any size: no value that is accepted breaks a picture.
func FuzzPlot(f *testing.F) {
	f.Add(0.0, 8.0, 20.0, 3000.0, 200.0, uint8(80))
	f.Add(-1e100, 1e100, -1e-100, 1e100, 0.0, uint8(10))
	f.Add(1.0, math.Nextafter(1, 2), 5.0, 5.0, 5.0, uint8(200))
	f.Add(1e-100, 2e-100, 1e-100, 1e100, 1e-100, uint8(41))
	f.Fuzz(func(t *testing.T, x0, x1, y0, y1, limit float64, width uint8) {
		p := Plot{X: "x", Panels: []Panel{{
			Y: "y", Lines: []Line{{Name: "line", Points: []Point{{x0, y0}, {x1, y1}}}}, Limits: []Mark{{limit, "limit"}},
		}}, Marks: []Mark{{x0, "mark"}}}
		if p.check() != nil {
			t.Skip()
		}
		for _, line := range mustLines(t, p, int(width), console.Paint{}) {
			if got := console.Width(line); got > max(int(width), leastWidth) {
				t.Fatalf("%d cells for a width of %d: %q", got, width, line)
			}
		}
		var b strings.Builder
		if err := p.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("no number in\n%s", b.String())
		}
	})
}

func TestSpreadKeepsPlacesApartWithinTheirRoom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		places := make([]float64, 1+random.IntN(8))
		for i := range places {
			places[i] = 10 * random.Float64()
		}
		slices.Sort(places)
		slices.Reverse(places)
		got := spread(places, 1, 10)
		for i, at := range got {
			if at < -1e-9 || at > 10+1e-9 || i > 0 && got[i-1]-at < 1-1e-9 {
				t.Fatalf("%v became %v, want 0 to 10, at least 1 apart", places, got)
			}
		}
	}
	if diff := cmp.Diff([]float64{9, 5, 1}, spread([]float64{9, 5, 1}, 1, 10)); diff != "" {
		t.Errorf("places that are apart move (-want +got):\n%s", diff)
	}
}
