package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed assets
var assets embed.FS

// Write writes a document as one HTML file. An *Error says what in it cannot be shown; any other
// error is that of w. Equal documents give equal bytes.
func Write(w io.Writer, p Document) error {
	if err := p.validate(); err != nil {
		return err
	}
	page, err := template.ParseFS(assets, "assets/*")
	if err != nil {
		return fmt.Errorf("report: reading the templates: %w", err)
	}
	// The page goes into memory first: half a page is worse than none.
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "page.html", newView(p)); err != nil {
		return fmt.Errorf("report: filling in the templates: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("report: writing %q: %w", p.Title, err)
	}
	return nil
}

// view is what the templates read.
type view struct {
	Title, Commit, Seeds string
	Scenarios            []scenarioView
	Columns              []column
	Data                 data
}

type scenarioView struct {
	Name, Description, Target, Verdict string
	Seed                               uint64
	Rows                               []row
	Clairvoyant                        []fact
	Measured                           bool
	Remarks                            []Remark
	Tuned                              []tuned
}

// fact is a line beside a table.
type fact struct{ Name, Text string }

// tuned is a policy with its tuned parameters.
type tuned struct {
	Policy     string
	Parameters []Parameter
}

func newView(p Document) view {
	v := view{Title: p.Title, Commit: p.Commit, Columns: columns(), Data: newData(p)}
	if v.Title == "" {
		v.Title = "Policies compared"
	}
	seeds := make([]string, len(p.Seeds))
	for i, s := range p.Seeds {
		seeds[i] = fmt.Sprint(s)
	}
	v.Seeds = strings.Join(seeds, ", ")
	for _, s := range p.Scenarios {
		v.Scenarios = append(v.Scenarios, newScenarioView(s))
	}
	return v
}

func newScenarioView(s Scenario) scenarioView {
	policies := ranked(s.Policies, s.Objectives)
	v := scenarioView{
		Name: s.Name, Description: s.Description, Seed: s.Seed,
		Target: s.Objectives.String(), Verdict: verdict(policies, s.Objectives, s.Clairvoyant),
		Rows: rows(policies, s.Objectives), Clairvoyant: s.Clairvoyant.facts(s.Measured),
		Measured: s.Measured, Remarks: s.Remarks,
	}
	for _, p := range policies {
		if len(p.Parameters) > 0 {
			v.Tuned = append(v.Tuned, tuned{p.Name, p.Parameters})
		}
	}
	return v
}

// String returns the objectives as words: "95 % of the requests with TTFT within 500 ms".
func (o Objectives) String() string {
	var each []string
	if o.TTFT > 0 {
		each = append(each, "TTFT within "+latency(o.TTFT))
	}
	if o.ITL > 0 {
		each = append(each, "ITL within "+latency(o.ITL))
	}
	if len(each) == 0 {
		return "no objective"
	}
	return percent(o.Attainment) + " of the requests with " + strings.Join(each, " and ")
}

// facts returns the result of the clairvoyant in words, nothing if it is unknown. For a measured
// scenario it is a lower bound and not a schedule.
func (c Clairvoyant) facts(measured bool) []fact {
	var facts []fact
	if measured && c.Cost.Known() && c.Attainment.Known() {
		return []fact{{"lower bound", fmt.Sprintf("the cheapest replicas of each cycle by itself, which serve at once, cost %s with %s of the requests within their objectives",
			number(c.Cost.Mean), percent(c.Attainment.Mean))}}
	}
	if c.Cost.Known() && c.Attainment.Known() {
		facts = append(facts, fact{"feasible", fmt.Sprintf("a schedule that knows every arrival reaches %s at a cost of %s",
			percent(c.Attainment.Mean), number(c.Cost.Mean))})
	}
	return facts
}
