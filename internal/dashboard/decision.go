package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// Decision is the answer to /api/decision.
type Decision struct {
	T       history.Time        `json:"t"`
	Cycle   scaling.CycleID     `json:"cycle"`
	Variant history.VariantName `json:"variant"`
	Model   string              `json:"model"`
	Kept    bool                `json:"kept"` // the inputs of the cycle are available
	// Sentence says what was decided and why. Changed says when the number last changed, "" where
	// that is not known.
	Sentence string    `json:"sentence"`
	Changed  string    `json:"changed"`
	Sections []Section `json:"sections"`
	Why      []Answer  `json:"why"`    // why it is not another decision; null where that is not known
	WhyNot   string    `json:"whyNot"` // why there are no answers, "" where there are
}

// Section is one part of the course of a decision.
type Section struct {
	Title     explain.Part `json:"title"`
	Sentences []string     `json:"sentences"`
	Numbers   []Number     `json:"numbers"`
}

// Number is a number that a decision was made from.
type Number struct {
	Name  string         `json:"name"`
	Value history.Number `json:"value"`
	Unit  string         `json:"unit"`
	How   string         `json:"how"`   // how it was computed
	Age   history.Number `json:"age"`   // s, at the time of the decision
	State string         `json:"state"` // of a Reading; "fresh" for a configured or counted number
}

// Answer is a question about a decision, and its answer, with one line per sentence.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// decision answers /api/decision.
func (s *Server) decision(ctx context.Context, _ http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	of := scaling.VariantKey{Namespace: q.Get("namespace"), Name: q.Get("name")}
	if of.Namespace == "" || of.Name == "" {
		return nil, refused("want the parameters namespace and name")
	}
	found, err := s.source.Decision(ctx, of, scaling.CycleID(q.Get("cycle")))
	if err != nil {
		return nil, err
	}
	out := view(of, found)
	if !found.Kept {
		out.WhyNot = found.WhyNot
		return out, nil
	}
	asking, stop := context.WithTimeout(ctx, whyLimit)
	defer stop()
	a, err := s.why.ask(asking, found.Cycle, of)
	if err != nil {
		out.WhyNot = err.Error()
		return out, nil
	}
	out.Why = []Answer{}
	for _, b := range counterfactual.Blocks(a, found.Cycle.Now) {
		out.Why = append(out.Why, Answer{b.Question + "?", strings.Join(b.Answer, "\n")})
	}
	return out, nil
}

// view returns a decision without the answers.
func view(of scaling.VariantKey, d Decided) Decision {
	out := Decision{
		T: d.Change.T, Cycle: d.Change.Cycle, Variant: history.VariantName{Namespace: of.Namespace, Name: of.Name},
		Kept: d.Kept, Sentence: d.Change.Sentence, Sections: []Section{},
	}
	if d.Change.Cycle != "" {
		out.Changed = fmt.Sprintf("this cycle changed the number from %d to %d", d.Change.From, d.Change.To)
	}
	if !d.Explained {
		return out
	}
	e := d.Explanation
	out.T, out.Cycle, out.Model = history.At(e.At), e.Cycle, e.Variant.Model.ID
	out.Sentence = sentence(e)
	if out.Changed == "" {
		out.Changed = changed(e)
	}
	out.Sections = sections(e, d.Cycle)
	if c := d.Cycle; d.Kept && c.Plan != nil && c.Build != record.Build() {
		if again := replay.Decide(c).Plan; !record.SamePlan(again, *c.Plan) {
			plan := &out.Sections[planSection]
			plan.Sentences = append(plan.Sentences, fmt.Sprintf("recorded by version %s; this program, %s, decides this cycle otherwise", c.Build, record.Build()))
		}
	}
	return out
}

// sentence returns what was decided and why.
func sentence(e explain.Explanation) string {
	if !e.Decided {
		return spelling.Visible("nothing was decided: "+cmp.Or(e.Variant.Missing, e.Analysis.Detail, "no analysis was made"), "")
	}
	cause := e.Decision.Cause()
	return spelling.Visible(fmt.Sprintf("%s: %s, %s", e.Decision.Target().Text(), cause.Reason, cause.Detail), "")
}

// changed returns when and how the decided number last changed.
func changed(e explain.Explanation) string {
	switch c := e.Changed; {
	case c.Cycle == e.Cycle && c.Cycle != "":
		return fmt.Sprintf("this cycle decided on %s", c.To.Text())
	case c.Cycle != "":
		return fmt.Sprintf("%s since cycle %s: %s", c.To.Text(), c.Cycle, c.Cause.Reason)
	case !e.Past.DecidedAt.IsZero():
		return fmt.Sprintf("%s since %s", e.Past.Desired.Text(), e.Past.DecidedAt.UTC().Format(time.RFC3339))
	}
	return ""
}

// planSection is the index of the section of the plan.
const planSection = 2

// sections returns the five parts of the course of a decision, with their sentences and numbers.
func sections(e explain.Explanation, c record.Cycle) []Section {
	parts := []explain.Part{explain.PartInput, explain.PartAnalysis, explain.PartPlan, explain.PartConstraints, explain.PartCarriedOut}
	numbers := [][]Number{inputs(e), analyses(e), plans(e), constraints(e, c), carried(e)}
	out := make([]Section, len(parts))
	for i, part := range parts {
		out[i] = Section{Title: part, Sentences: []string{}, Numbers: numbers[i]}
		if out[i].Numbers == nil {
			out[i].Numbers = []Number{}
		}
	}
	title := ""
	for _, l := range explain.Lines(e, e.At) {
		if l.Title != "" {
			title = strings.TrimSpace(l.Title)
		}
		for i, part := range parts {
			if part == l.Part {
				out[i].Sentences = append(out[i].Sentences, title+": "+l.Text)
			}
		}
	}
	return out
}
