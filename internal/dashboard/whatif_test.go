package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// sample is a recorded cycle with its plan, as the commands of wva show it.
func sample(t *testing.T, name string) record.Cycle {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "cmd", "wva", "testdata", "samples", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	plan := replay.Decide(c).Plan
	c.Plan, c.Build = &plan, record.Build()
	return c
}

// series is a cycle that repeats, a minute apart.
func series(c record.Cycle, n int) []record.Cycle {
	out := make([]record.Cycle, n)
	for i := range out {
		out[i] = moved(c, time.Duration(i)*time.Minute)
		out[i].Cycle = scaling.CycleID(fmt.Sprintf("p-%d", i+1))
	}
	return out
}

// moved is a cycle at another time: all times of its text move with it.
func moved(c record.Cycle, by time.Duration) record.Cycle {
	if by == 0 {
		return c
	}
	var tree any
	if err := json.Unmarshal(c.Append(nil), &tree); err != nil {
		panic(err)
	}
	var move func(v any) any
	move = func(v any) any {
		switch v := v.(type) {
		case string:
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return at.Add(by).UTC().Format(time.RFC3339Nano)
			}
		case []any:
			for i := range v {
				v[i] = move(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = move(v[k])
			}
		}
		return v
	}
	text, err := json.Marshal(move(tree))
	if err != nil {
		panic(err)
	}
	out, err := record.Decode(text)
	if err != nil {
		panic(err)
	}
	return out
}

// holding is a source of cycles.
func holding(cycles ...record.Cycle) *still {
	s := &still{board: NewBoard(), cycles: Cycles{Says: "the record holds cycles"}}
	byID := map[scaling.CycleID]record.Cycle{}
	for _, c := range cycles {
		byID[c.Cycle] = c
		s.cycles.Refs = append(s.cycles.Refs, CycleRef{At: c.Now, ID: c.Cycle})
	}
	s.cycles.Read = func(_ context.Context, ref CycleRef) (record.Cycle, error) {
		if c, ok := byID[ref.ID]; ok {
			return c, nil
		}
		return record.Cycle{}, unknown("gone")
	}
	return s
}

// ask posts a what-if.
func (s site) ask(c *http.Client, body string) answerRead {
	return s.do(c, http.MethodPost, "/api/whatif", body, "Origin", s.URL, "Content-Type", "application/json")
}

func whatIf(t *testing.T, source Source, body string) WhatIf {
	t.Helper()
	s := served(t, source)
	got := s.ask(s.opened(), body)
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", got.Status, got.body)
	}
	var out WhatIf
	if err := json.Unmarshal([]byte(got.body), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// edited decodes the text of a cycle after an edit of its JSON: what a person does who decides it by hand.
func edited(t *testing.T, c record.Cycle, edit func(model, variant map[string]any, whole map[string]any)) record.Cycle {
	t.Helper()
	c.Plan = nil
	var tree map[string]any
	if err := json.Unmarshal(c.Append(nil), &tree); err != nil {
		t.Fatal(err)
	}
	model := tree["configuration"].([]any)[0].(map[string]any)
	variant := tree["snapshots"].([]any)[0].(map[string]any)["variants"].([]any)[0].(map[string]any)
	edit(model, variant, tree)
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	out, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAWhatIfIsTheDecisionOnTheEditedCycle(t *testing.T) {
	objective := func(name string, v float64) func(model, variant, whole map[string]any) {
		return func(model, _, _ map[string]any) { model["objective"].(map[string]any)[name] = v }
	}
	for _, tt := range []struct {
		name, body string
		edit       func(model, variant, whole map[string]any)
		changes    bool // the numbers of this cycle
	}{
		{"nothing", ``, func(_, _, _ map[string]any) {}, false},
		{"TTFT", `"ttft":40`, objective("ttft", 40), true},
		{"ITL", `"itl":5`, objective("itl", 5), true},
		{"attainment", `"attainment":0.5`, objective("attainment", 0.5), false},
		{"minimum", `"min":{"%s":5}`, func(_, variant, _ map[string]any) { variant["bounds"].(map[string]any)["min"] = 5 }, true},
		{"cost", `"cost":{"%s":99.5}`, func(_, variant, _ map[string]any) { variant["cost"] = 99.5 }, true},
		{"interval", `"interval":600`, func(_, _, whole map[string]any) { whole["interval"] = "10m0s" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := sample(t, "objective")
			model, first := c.Snapshots[0].Model, c.Snapshots[0].Variants[0].Key
			body := tt.body
			if strings.Contains(body, "%s") {
				body = fmt.Sprintf(body, first)
			}
			if body != "" {
				body = "," + body
			}
			got := whatIf(t, holding(c), fmt.Sprintf(`{"namespace":%q,"model":%q%s}`, model.Namespace, model.ID, body))
			by := edited(t, c, tt.edit)
			if (got.CyclesChanged == 1) != tt.changes {
				t.Errorf("%d of 1 cycles changed", got.CyclesChanged)
			}
			for _, of := range []struct {
				name   string
				course Course
				plan   scaling.Plan
				cycle  record.Cycle
			}{{"old", got.Old, *c.Plan, c}, {"new", got.New, replay.Decide(by).Plan, by}} {
				want, found, cost := map[string]float64{}, map[string]float64{}, 0.0
				for _, d := range of.plan.Decisions {
					want[d.Variant.Name] = float64(d.Target())
					_, v, _ := replay.Find(of.cycle, d.Variant)
					cost += v.CostPerHour(d.Target())
				}
				for _, v := range of.course.Variants {
					found[v.Name] = v.Desired[0]
				}
				if !maps.Equal(found, want) || of.course.Cost[0] != cost {
					t.Errorf("%s: decided %v at %g an hour, want %v at %g", of.name, found, of.course.Cost[0], want, cost)
				}
			}
		})
	}
}

func TestAWhatIfChangesWhatWasDecidedAndItsCost(t *testing.T) {
	c := sample(t, "growing")
	c.Interval = time.Minute
	model, v := c.Snapshots[0].Model, c.Snapshots[0].Variants[0]
	cycles := series(c, 61)
	got := whatIf(t, holding(cycles...), fmt.Sprintf(`{"namespace":%q,"model":%q,"min":{%q:7}}`, model.Namespace, model.ID, v.Key))
	if got.Cycles != 61 || got.CyclesChanged != 61 || len(got.T) != 61 || got.Hours != 1 {
		t.Errorf("%d cycles over %g hours, %d changed, %d times", got.Cycles, got.Hours, got.CyclesChanged, len(got.T))
	}
	if got.New.Variants[0].Desired[60] != 7 || got.CostNew <= got.CostOld {
		t.Errorf("decided %v at %g instead of %g", got.New.Variants[0].Desired, got.CostNew, got.CostOld)
	}
	if want := got.New.Cost[0] * got.Hours; got.CostNew < want*0.999 || got.CostNew > want*1.001 {
		t.Errorf("the cost is %g, want %g for an hour of the same decision", got.CostNew, want)
	}
	for i := 1; i < len(got.T); i++ {
		if !got.T[i].After(got.T[i-1].Time) {
			t.Fatalf("time %d is not after the one before", i)
		}
	}
	if !strings.Contains(got.Says, "open loop") || !strings.Contains(got.Says, "the record holds cycles") {
		t.Errorf("it says %q", got.Says)
	}
}

func TestAGapCostsThreeIntervals(t *testing.T) {
	c := sample(t, "growing")
	model := c.Snapshots[0].Model
	late := moved(c, 10*time.Hour)
	late.Cycle = "late"
	body := fmt.Sprintf(`{"namespace":%q,"model":%q}`, model.Namespace, model.ID)
	source := holding(c, late)
	if got, want := whatIf(t, source, body).Hours, 3*c.Interval.Hours(); c.Interval <= 0 || got < want*0.999 || got > want*1.001 {
		t.Errorf("a gap of ten hours counts as %g hours, want %g", got, want)
	}
	source.cycles.Sparse = true
	if got := whatIf(t, source, body); got.Hours < 9.99 || !strings.Contains(got.Says, "is taken to stand") {
		t.Errorf("where only changes are kept it counts as %g hours: %s", got.Hours, got.Says)
	}
}

func TestOfManyCyclesSomeAreDecidedAndThatIsSaid(t *testing.T) {
	c := sample(t, "growing")
	model := c.Snapshots[0].Model
	source := holding(c)
	source.cycles.Refs = nil
	for i := range 2*mostDecided + 1 {
		source.cycles.Refs = append(source.cycles.Refs, CycleRef{At: c.Now.Add(time.Duration(i) * time.Minute), ID: c.Cycle, place: i})
	}
	got := whatIf(t, source, fmt.Sprintf(`{"namespace":%q,"model":%q}`, model.Namespace, model.ID))
	if got.Cycles != 667 || !strings.Contains(got.Says, "Of every 3 cycles one is decided") {
		t.Errorf("%d were decided: %s", got.Cycles, got.Says)
	}
}

func TestWhatCannotBeReadIsCounted(t *testing.T) {
	cycles := series(sample(t, "growing"), 3)
	source := holding(cycles[0], cycles[2])
	source.cycles.Refs = append(source.cycles.Refs[:1], CycleRef{At: cycles[1].Now, ID: "gone"}, source.cycles.Refs[1])
	model := cycles[0].Snapshots[0].Model
	got := whatIf(t, source, fmt.Sprintf(`{"namespace":%q,"model":%q}`, model.Namespace, model.ID))
	if got.Cycles != 2 || !strings.Contains(got.Says, "1 cycles could not be read") {
		t.Errorf("%d were decided: %s", got.Cycles, got.Says)
	}
}

func TestBadSettingsAreRefusedWithWhatIsAccepted(t *testing.T) {
	c := sample(t, "growing")
	model, v := c.Snapshots[0].Model, c.Snapshots[0].Variants[1]
	s := served(t, holding(c))
	mine := s.opened()
	of := fmt.Sprintf(`"namespace":%q,"model":%q`, model.Namespace, model.ID)
	for body, want := range map[string]string{
		``:                              "the body is not as documented",
		`[]`:                            "the body is not as documented",
		`{}`:                            "want the members namespace and model",
		`{` + of + `,"ttl":1}`:          `unknown field`,
		`{` + of + `} {}`:               "there is more behind the object",
		`{` + of + `,"ttft":-1}`:        "ttft -1: want 0 for no objective, to 86400000 ms",
		`{` + of + `,"ttft":"1"}`:       "the body is not as documented",
		`{` + of + `,"itl":1e12}`:       "itl 1e+12: want 0 for no objective",
		`{` + of + `,"attainment":1}`:   "attainment 1: want a ratio above 0 and below 1",
		`{` + of + `,"attainment":0}`:   "attainment 0: want a ratio above 0 and below 1",
		`{` + of + `,"interval":0}`:     "interval 0: want 1 to 3600 s",
		`{` + of + `,"interval":36000}`: "interval 36000: want 1 to 3600 s",
		`{` + of + `,"min":{"` + v.Key.String() + `":-1}}`:   "-1: want a number of replicas, 0 to 2147483647",
		`{` + of + `,"min":{"` + v.Key.String() + `":1.5}}`:  "the body is not as documented",
		`{` + of + `,"min":{"` + v.Key.String() + `":2000}}`: "want at most its maxReplicas, 3",
		`{` + of + `,"min":{"demo/absent":1}}`:               `"demo/absent" is no variant of`,
		`{` + of + `,"cost":{"` + v.Key.String() + `":-1}}`:  "-1: want 0 to 1e+09",
		`{` + of + `,"cost":{"absent":1}}`:                   `"absent" is no variant of`,
	} {
		got := s.ask(mine, body)
		var out struct{ Error string }
		if err := json.Unmarshal([]byte(got.body), &out); err != nil || got.StatusCode != http.StatusBadRequest || !strings.Contains(out.Error, want) {
			t.Errorf("%s answers %s: %s, want %q", body, got.Status, got.body, want)
		}
	}
	if got := s.ask(mine, `{`+of+`,"min":{"`+strings.Repeat("x", longestBody)+`":1}}`); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body answers %s", got.Status)
	}
	if got := s.do(mine, http.MethodPost, "/api/whatif", `{`+of+`}`, "Origin", s.URL, "Content-Type", "text/plain"); got.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a body of another type answers %s", got.Status)
	}
	if got := s.ask(mine, `{"namespace":"demo","model":"absent"}`); got.StatusCode != http.StatusNotFound {
		t.Errorf("a model that is not there answers %s: %s", got.Status, got.body)
	}
}

func TestAnEditLeavesTheRecordedCycleAsItWas(t *testing.T) {
	c := sample(t, "objective")
	before := string(c.Append(nil))
	v := c.Snapshots[0].Variants[0]
	ttft, interval := 1.0, 2.0
	change := Settings{
		Namespace: c.Snapshots[0].Model.Namespace, Model: c.Snapshots[0].Model.ID, TTFT: &ttft, Interval: &interval,
		Min: map[string]int{v.Key.String(): 3}, Cost: map[string]float64{v.Key.String(): 4},
	}
	if after := change.apply(c); string(after.Append(nil)) == before {
		t.Error("nothing is changed")
	}
	if diff := cmp.Diff(before, string(c.Append(nil))); diff != "" {
		t.Errorf("the cycle changed (-before +after):\n%s", diff)
	}
}

func TestWhenTimeIsUpTheLatestCyclesAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cycles := series(sample(t, "growing"), 10)
		source := holding(cycles...)
		read := source.cycles.Read
		source.cycles.Read = func(ctx context.Context, ref CycleRef) (record.Cycle, error) {
			time.Sleep(10 * time.Second) // a slow disk
			if err := ctx.Err(); err != nil {
				return record.Cycle{}, err
			}
			return read(ctx, ref)
		}
		s := New(Options{Source: source, Assets: pages})
		ctx, stop := context.WithTimeout(t.Context(), whatifLimit+time.Second)
		defer stop()
		model := cycles[0].Snapshots[0].Model
		got, err := s.decideAgain(ctx, model, source.cycles, Settings{Namespace: model.Namespace, Model: model.ID})
		if err != nil {
			t.Fatal(err)
		}
		out := got.(WhatIf)
		if out.Cycles != 3 || !out.T[2].Equal(cycles[9].Now) || !strings.Contains(out.Says, "older cycles are left out") {
			t.Errorf("%d were decided, the last of %s: %s", out.Cycles, out.T[len(out.T)-1], out.Says)
		}
		ctx, gone := context.WithCancel(t.Context())
		gone()
		if _, err := s.decideAgain(ctx, model, source.cycles, Settings{Namespace: model.Namespace, Model: model.ID}); statusOf(err) != statusClientGone {
			t.Errorf("after the page is gone: %v", err)
		}
	})
}

func TestOneWhatIfRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sample(t, "growing")
		source := holding(c)
		read, hold := source.cycles.Read, make(chan struct{})
		source.cycles.Read = func(ctx context.Context, ref CycleRef) (record.Cycle, error) {
			<-hold
			return read(ctx, ref)
		}
		s := New(Options{Source: source, Assets: pages})
		model := c.Snapshots[0].Model
		body := fmt.Sprintf(`{"namespace":%q,"model":%q}`, model.Namespace, model.ID)
		post := func() *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/api/whatif", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			within(whatifLimit, s.whatif)(w, r.WithContext(t.Context()))
			return w
		}
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- post() }()
		synctest.Wait()
		if w := post(); !strings.Contains(w.Body.String(), `{"notYet":"another what-if is under way`) {
			t.Errorf("the second gets %d: %s", w.Code, w.Body)
		}
		close(hold)
		<-first
		if w := post(); w.Code != http.StatusOK {
			t.Errorf("after the first has ended one gets %d: %s", w.Code, w.Body)
		}
	})
}
