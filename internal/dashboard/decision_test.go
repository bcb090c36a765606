package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// decisionOf asks a dashboard for the decision that a source has.
func decisionOf(t *testing.T, of scaling.VariantKey, d Decided) Decision {
	t.Helper()
	s := served(t, &still{board: NewBoard(), decision: d})
	got := s.get(s.opened(), "/api/decision?"+url.Values{"namespace": {of.Namespace}, "name": {of.Name}}.Encode())
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", got.Status, got.body)
	}
	var out Decision
	if err := json.Unmarshal([]byte(got.body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// keptDecision is a decision whose cycle is at hand.
func keptDecision(c record.Cycle, of scaling.VariantKey) Decided {
	d := Decided{Cycle: c, Kept: true}
	d.explain(of)
	return d
}

func TestADecisionIsToldAsExplainTellsIt(t *testing.T) {
	for _, name := range []string{"growing", "blocked", "objective"} {
		c := sample(t, name)
		for _, d := range c.Plan.Decisions {
			got := decisionOf(t, d.Variant, keptDecision(c, d.Variant))
			s, v, _ := replay.Find(c, d.Variant)
			e := replay.Explanation(c, replay.Decide(c), s, v)
			a, err := replay.Answers(c, d.Variant)
			if err != nil {
				t.Fatal(err)
			}
			var sentences, titles []string
			for _, section := range got.Sections {
				titles = append(titles, string(section.Title))
				sentences = append(sentences, section.Sentences...)
			}
			if want := []string{"Input", "Analysis", "Plan", "Constraints", "Carried out"}; !slices.Equal(titles, want) {
				t.Errorf("%s: the sections are %q", d.Variant, titles)
			}
			report := explain.Report(e, c.Now) + counterfactual.Report(a, c.Now)
			if len(sentences) != len(explain.Lines(e, c.Now)) {
				t.Errorf("%s: %d sentences of %d", d.Variant, len(sentences), len(explain.Lines(e, c.Now)))
			}
			for _, sentence := range sentences {
				if _, text, _ := strings.Cut(sentence, ": "); !strings.Contains(report, text) {
					t.Errorf("%s: wva explain does not say %q:\n%s", d.Variant, text, report)
				}
			}
			for _, why := range got.Why {
				for line := range strings.SplitSeq(why.Answer, "\n") {
					if !strings.Contains(report, line) {
						t.Errorf("%s: wva explain does not answer %q:\n%s", d.Variant, line, report)
					}
				}
			}
			cause := d.Cause()
			if want := fmt.Sprintf("%s: %s, %s", d.Target().Text(), cause.Reason, cause.Detail); got.Sentence != want || got.WhyNot != "" || len(got.Why) < 2 || got.Cycle != c.Cycle || !got.Kept {
				t.Errorf("%s: it says %q with %d answers (%s) of cycle %s, want %q", d.Variant, got.Sentence, len(got.Why), got.WhyNot, got.Cycle, want)
			}
		}
	}
}

func TestEachNumberSaysHowItWasComputedAndHowOldItWas(t *testing.T) {
	c := sample(t, "growing")
	key := c.Plan.Decisions[1].Variant
	got := decisionOf(t, key, keptDecision(c, key))
	byName := map[string]Number{}
	for _, section := range got.Sections {
		for _, n := range section.Numbers {
			byName[n.Name] = n
			if n.How == "" || n.Unit == "" || n.State == "" {
				t.Errorf("%s: %s", section.Title, fmt.Sprint(n))
			}
			if n.Value.Known() && n.State == "absent" || !n.Value.Known() && n.State == "fresh" {
				t.Errorf("%s is %v and %s", n.Name, n.Value, n.State)
			}
		}
	}
	_, v, _ := replay.Find(c, key)
	for name, want := range map[string]float64{
		"arrival rate": c.Snapshots[0].Load.ArrivalRate.Value, "replicas decided": float64(c.Plan.Decisions[1].Target()),
		"least replicas": 1, "most replicas": 3, "cost of a replica": 12, "current": float64(v.Replicas.Current), "reduction stabilization": 15, "largest reduction": 1,
	} {
		if n, ok := byName[name]; !ok || !near(n.Value, want) {
			t.Errorf("%s is %v, want %g", name, n.Value, want)
		}
	}
	i := slices.IndexFunc(c.Snapshots[0].Replicas, func(r scaling.ReplicaSample) bool { return r.Variant == key })
	r := c.Snapshots[0].Replicas[i]
	if n := byName[r.Pod+": KV cache usage"]; !near(n.Age, c.Now.Sub(r.At).Seconds()) || !near(n.Value, r.KVCacheUsage.Value) {
		t.Errorf("the KV cache usage is %v, %v s old; want %g, %g s", n.Value, n.Age, r.KVCacheUsage.Value, c.Now.Sub(r.At).Seconds())
	}
}

// near reports whether a number is the one wanted, with the digits that JSON has.
func near(got history.Number, want float64) bool {
	return math.Abs(float64(got)-want) <= 1e-6*math.Abs(want)
}

func TestUnknownNumbersAreNull(t *testing.T) {
	n := reading("x", ms, "how", scaling.Reading{}, since(time.Time{}, time.Time{}))
	text, err := json.Marshal(n)
	if want := `{"name":"x","value":null,"unit":"ms","how":"how","age":null,"state":"absent"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

func TestADecisionThatIsNotKeptIsTold(t *testing.T) {
	key := scaling.VariantKey{Namespace: "a", Name: "b"}
	got := decisionOf(t, key, Decided{WhyNot: "it is gone", Change: history.Change{Cycle: "p-1", From: 1, To: 2, Sentence: "2 replicas: Saturated"}})
	if got.Kept || got.Why != nil || got.WhyNot != "it is gone" || got.Sentence != "2 replicas: Saturated" || got.Changed != "this cycle changed the number from 1 to 2" || got.Cycle != "p-1" {
		t.Errorf("got %+v", got)
	}
}

func TestAnotherVersionThatDecidedOtherwiseIsNamed(t *testing.T) {
	c := sample(t, "growing")
	key := c.Plan.Decisions[0].Variant
	decisions := slices.Clone(c.Plan.Decisions)
	decisions[0] = decisions[0].Then(scaling.StageBounds, 17, scaling.ReasonBelowMin, "by another rule")
	c.Plan, c.Build = &scaling.Plan{At: c.Plan.At, Decisions: decisions}, "v0.0.1"
	got := decisionOf(t, key, keptDecision(c, key))
	plan := strings.Join(got.Sections[planSection].Sentences, "\n")
	if !strings.Contains(got.Sentence, "17 replicas") || !strings.Contains(plan, "recorded by version v0.0.1; this program, ") {
		t.Errorf("it says %q and\n%s", got.Sentence, plan)
	}
	if got.Why != nil || !strings.Contains(got.WhyNot, "decided 17, and this program") {
		t.Errorf("the answers are %v: %s", got.Why, got.WhyNot)
	}
}

func TestAnswersAreWorkedOutOnce(t *testing.T) {
	a := newAnswers()
	n := map[scaling.CycleID]int{}
	a.ask1 = func(c record.Cycle, _ scaling.VariantKey) (counterfactual.Answers, error) {
		n[c.Cycle]++ // one at a time
		return counterfactual.Answers{Cycle: c.Cycle}, nil
	}
	for range 3 {
		for _, id := range []scaling.CycleID{"a", "b"} {
			if got, err := a.ask(t.Context(), record.Cycle{Cycle: id}, scaling.VariantKey{}); err != nil || got.Cycle != id {
				t.Errorf("got %s, %v", got.Cycle, err)
			}
		}
	}
	if n["a"] != 1 || n["b"] != 1 {
		t.Errorf("they were worked out %v times", n)
	}
	for i := range 2 * mostAnswers {
		if _, err := a.ask(t.Context(), record.Cycle{Cycle: scaling.CycleID(fmt.Sprint(i))}, scaling.VariantKey{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.kept) != mostAnswers || len(a.order) != mostAnswers {
		t.Errorf("%d are kept in an order of %d", len(a.kept), len(a.order))
	}
}

func TestAnswersThatTakeLongAreKeptForLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers()
		a.ask1 = func(record.Cycle, scaling.VariantKey) (counterfactual.Answers, error) {
			time.Sleep(time.Minute)
			return counterfactual.Answers{Decisions: 7}, errors.New("of it")
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		c := record.Cycle{Cycle: "a"}
		if _, err := a.ask(ctx, c, scaling.VariantKey{}); err == nil || !strings.Contains(err.Error(), "open the decision again") {
			t.Errorf("at first: %v", err)
		}
		time.Sleep(time.Minute)
		ctx, stop = context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if got, err := a.ask(ctx, c, scaling.VariantKey{}); got.Decisions != 7 || err == nil || err.Error() != "of it" {
			t.Errorf("later: %v, %v", got, err)
		}
	})
}
