package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/report"
)

// onePolicy is a page with one scenario and one policy.
func onePolicy(p report.Result) report.Document {
	return report.Document{Title: "t", Scenarios: []report.Scenario{{
		Name: "s", Objectives: report.Objectives{TTFT: 500, Attainment: 0.9}, Policies: []report.Result{p},
	}}}
}

// embedded is the JSON in a file, decoded.
func embedded(tb testing.TB, file string) (d struct {
	Phrases   []string
	Scenarios []struct {
		Policies []struct {
			Name      string
			Drawn     bool
			Place     *struct{ Cost, Attainment [3]float64 }
			TTFT, ITL struct {
				T []float64
				V []*float64
			}
			Replicas []struct {
				T []float64
				V []*float64
			}
			Decisions struct {
				T                         []float64
				Variant, From, To, Phrase []int
				Numbers                   []string
			}
		}
	}
},
) {
	tb.Helper()
	found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(file)
	if found == nil {
		tb.Fatal("the file has no data in it")
	}
	if err := json.Unmarshal([]byte(found[1]), &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestEqualPagesGiveEqualBytes(t *testing.T) {
	p := samplePage(t)
	if a, b := written(t, p), written(t, p); a != b {
		t.Error("the same page was written in two ways")
	}
	q := p
	q.Scenarios = append([]report.Scenario(nil), p.Scenarios...)
	policies := append([]report.Result(nil), p.Scenarios[0].Policies...)
	policies[0], policies[2] = policies[2], policies[0]
	q.Scenarios[0].Policies = policies
	if written(t, p) != written(t, q) {
		t.Error("the order in which policies are given changes the file")
	}
}

// TestNothingIsFetched holds the file against everything that makes a browser
// look elsewhere.
func TestNothingIsFetched(t *testing.T) {
	file := strings.Replace(written(t, samplePage(t)), `"http://www.w3.org/2000/svg"`, "", 1) // a name
	for _, mark := range []string{"http:", "https:", "//cdn", " src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("} {
		if i := strings.Index(file, mark); i >= 0 {
			t.Errorf("the file has %q in it: %q", mark, file[max(0, i-40):min(len(file), i+60)])
		}
	}
	if !strings.Contains(file, `http-equiv="Content-Security-Policy" content="default-src 'none';`) {
		t.Error("the file does not forbid the browser to fetch")
	}
}

// TestTheScriptIsOne has the script read by node, where there is one, as it
// stands in the file: the templates may not have changed it.
func TestTheScriptIsOne(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node to read the script with")
	}
	file := written(t, samplePage(t))
	_, script, found := strings.Cut(file, "<script>")
	script, _, closed := strings.Cut(script, "</script>")
	if !found || !closed {
		t.Fatal("the file has no script in it")
	}
	name := filepath.Join(t.TempDir(), "page.js")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), node, "--check", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNamesAndReasonsAreData(t *testing.T) {
	const hostile = `</script><script>alert(1)</script><img onerror=x>"'&{{.}}` + "\u2028`${x}`"
	d := report.Decision{Variant: hostile, From: 1, To: 2, Reason: hostile}
	page := report.Document{Title: hostile, Commit: hostile, Scenarios: []report.Scenario{{
		Name: hostile, Description: hostile,
		Policies: []report.Result{{
			Name: hostile, About: hostile, Unfinished: hostile, Variants: []string{hostile}, Decisions: []report.Decision{d},
			Parameters: []report.Parameter{{Name: hostile, Value: hostile, Default: hostile, Tried: []string{hostile}}},
		}},
	}}}
	file := written(t, page)
	for _, mark := range []string{"<script>alert", "<img"} {
		if strings.Contains(file, mark) {
			t.Errorf("the file has %q in it as markup", mark)
		}
	}
	if got := strings.Count(file, "</script>"); got != 2 {
		t.Errorf("%d scripts end in the file, want the 2 of the page", got)
	}
	if got := embedded(t, file).Scenarios[0].Policies[0].Name; got != hostile {
		t.Errorf("the name arrives as %q, want %q", got, hostile)
	}
}

// TestEveryDecisionIsInTheFile takes the file apart as its script does.
func TestEveryDecisionIsInTheFile(t *testing.T) {
	p := samplePage(t)
	d := embedded(t, written(t, p))
	want, got, total := map[string][]string{}, map[string][]string{}, 0
	variants := map[string][]string{}
	line := func(at float64, variant string, from, to scaling.Replicas, why string) string {
		return fmt.Sprintf("%.3f %s %d %d %s", at, variant, from, to, why)
	}
	for _, policy := range p.Scenarios[0].Policies {
		variants[policy.Name] = policy.Variants
		for _, one := range policy.Decisions {
			total++
			want[policy.Name] = append(want[policy.Name], line(one.At.Seconds(), one.Variant, one.From, one.To, one.Reason))
		}
	}
	for _, policy := range d.Scenarios[0].Policies {
		at := 0.0
		for i, passed := range policy.Decisions.T {
			at += passed
			why := d.Phrases[policy.Decisions.Phrase[i]]
			for number := range strings.FieldsSeq(policy.Decisions.Numbers[i]) {
				why = strings.Replace(why, "\x00", number, 1)
			}
			variant := variants[policy.Name][policy.Decisions.Variant[i]]
			got[policy.Name] = append(got[policy.Name], line(at, variant, scaling.Replicas(policy.Decisions.From[i]), scaling.Replicas(policy.Decisions.To[i]), why))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || total < 20 {
		t.Errorf("%d decisions; (-want +got)\n%s", total, diff)
	}
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	nan := math.NaN()
	p := onePolicy(report.Result{
		Name: "p", Unfinished: "interrupted", Variants: []string{"a"},
		Samples: []report.Sample{
			{At: time.Minute, TTFT: nan, ITL: 0, Queued: 0, Replicas: []scaling.Replicas{1}},
			{At: 2 * time.Minute, TTFT: 20, ITL: math.Inf(1), Queued: nan, Replicas: []scaling.Replicas{1}},
		},
		Measures: report.Measures{Cost: report.SpreadOf(nan), Goodput: report.SpreadOf(0), Attainment: report.SpreadOf()},
	})
	file := written(t, p)
	policy := embedded(t, file).Scenarios[0].Policies[0]
	zero, twenty := 0.0, 20.0
	if diff := cmp.Diff([]*float64{nil, &twenty}, policy.TTFT.V); diff != "" {
		t.Errorf("TTFT (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]*float64{&zero, nil}, policy.ITL.V); diff != "" {
		t.Errorf("ITL (-want +got)\n%s", diff)
	}
	if policy.Place != nil {
		t.Errorf("a policy without cost stands at %+v, want nowhere", *policy.Place)
	}
	cells := regexp.MustCompile(`<td class="number" data-sort="(.*?)">(.*?)</td>`).FindAllStringSubmatch(file, -1)
	known := 0
	for i, c := range cells {
		want := []string{"", "–"}
		if i == 2 { // goodput
			want = []string{"0", "0"}
		}
		if diff := cmp.Diff(want, c[1:]); diff != "" {
			t.Errorf("cell %d (-want +got)\n%s", i, diff)
		}
		known++
	}
	if known != 15 || !strings.Contains(file, "not finished: interrupted") {
		t.Errorf("%d cells and the reason, want 15 and the reason", known)
	}
}

// TestTheTableNeedsNoScript looks for every measure outside of the scripts.
func TestTheTableNeedsNoScript(t *testing.T) {
	p := samplePage(t)
	file := regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(written(t, p), "")
	for _, policy := range p.Scenarios[0].Policies {
		if !strings.Contains(file, `<th scope="row">`+policy.Name) {
			t.Errorf("%s is in no row", policy.Name)
		}
		if want := fmt.Sprintf(`data-sort="%v"`, policy.Measures.Cost.Mean); !strings.Contains(file, want) {
			t.Errorf("the cost of %s is in no cell: want %s", policy.Name, want)
		}
	}
}

func TestLongSeriesOfManyPoliciesStaySmall(t *testing.T) {
	const policies, days = 20, 7
	page := report.Document{Scenarios: []report.Scenario{{Name: "week"}}}
	s := &page.Scenarios[0]
	for i := range policies {
		p := report.Result{Name: fmt.Sprint("p", i), Variants: []string{"a", "b"}}
		for minute := range days * 24 * 60 {
			load := 1 + math.Sin(float64(minute)/200+float64(i))
			p.Samples = append(p.Samples, report.Sample{
				At: time.Duration(minute) * time.Minute, Queued: math.Floor(100 * load), TTFT: 123.456 * load, ITL: 23.456 * load,
				Replicas: []scaling.Replicas{scaling.Replicas(7 * load), scaling.Replicas(3 * load)},
			})
			if minute%30 == 0 {
				p.Decisions = append(p.Decisions, report.Decision{
					At: time.Duration(minute) * time.Minute, Variant: "a", From: 3, To: 4,
					Reason: fmt.Sprintf("KV cache usage is %.3f of %.3f and %d requests wait, so that %d replicas are needed", load, 0.8, minute%7, 4),
				})
			}
		}
		s.Policies = append(s.Policies, p)
	}
	file := written(t, page)
	if got := len(file); got > 2<<20 {
		t.Errorf("a week of %d policies takes %d bytes, want 2 MB at most", policies, got)
	}
	for _, p := range embedded(t, file).Scenarios[0].Policies {
		if got := len(p.TTFT.V); got > 600 || got < 200 {
			t.Errorf("%s: %d points, want 200 to 600", p.Name, got)
		}
		if got := len(p.Replicas); got != 3 {
			t.Errorf("%s: %d series of replicas, want all together and two variants", p.Name, got)
		}
	}
	t.Logf("%d bytes", len(file))
}

func TestBadPagesAreRefused(t *testing.T) {
	sample := func(at time.Duration, replicas ...scaling.Replicas) report.Sample {
		return report.Sample{At: at, Replicas: replicas}
	}
	tests := map[string]struct {
		page report.Document
		want string
	}{
		"no scenario": {report.Document{}, "report: scenarios is empty, want one or more"},
		"no name":     {report.Document{Scenarios: []report.Scenario{{}}}, `report: scenarios[""].name is "", want a name that no other has`},
		"name twice": {
			report.Document{Scenarios: []report.Scenario{{Name: "s"}, {Name: "s"}}},
			`report: scenarios["s"].name is "s", want a name that no other has`,
		},
		"attainment in %": {
			report.Document{Scenarios: []report.Scenario{{Name: "s", Objectives: report.Objectives{Attainment: 90}}}},
			`report: scenarios["s"].objectives.attainment is 90, want a ratio in [0, 1]`,
		},
		"policy twice": {
			report.Document{Scenarios: []report.Scenario{{Name: "s", Policies: []report.Result{{Name: "p"}, {Name: "p"}}}}},
			`report: scenarios["s"].policies["p"].name is "p", want a name that no other has`,
		},
		"time goes back": {
			onePolicy(report.Result{Name: "p", Samples: []report.Sample{sample(2), sample(1)}}),
			`report: scenarios["s"].policies["p"].samples[1].at is 1ns, want no earlier than the one before it`,
		},
		"before the start": {
			report.Document{Scenarios: []report.Scenario{{Name: "s", Offered: []report.Point{{At: -1}}}}},
			`report: scenarios["s"].offered[0].at is -1ns, want 0 or later`,
		},
		"replicas missing": {
			onePolicy(report.Result{Name: "p", Variants: []string{"a", "b"}, Samples: []report.Sample{sample(1, 1)}}),
			`report: scenarios["s"].policies["p"].samples[0].replicas is of length 1, want one for each of the 2 variants`,
		},
		"unknown variant": {
			onePolicy(report.Result{Name: "p", Variants: []string{"a"}, Decisions: []report.Decision{{Variant: "b"}}}),
			`report: scenarios["s"].policies["p"].decisions[0].variant is "b", want one of ["a"]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			err := report.Write(&b, test.page)
			var e *report.Error
			if !errors.As(err, &e) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if b.Len() > 0 {
				t.Errorf("%d bytes were written of a page that cannot be shown", b.Len())
			}
		})
	}
}

func TestAFailingWriterIsReported(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	if err := report.Write(w, samplePage(t)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
	}
}
