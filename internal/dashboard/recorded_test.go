package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// written writes cycles to a file, and text behind them.
func written(t *testing.T, behind string, cycles ...record.Cycle) string {
	t.Helper()
	var text []byte
	for _, c := range cycles {
		text = append(c.Append(text), '\n')
	}
	path := filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(path, append(text, behind...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shown runs a Recorded until it has read its files, and ends it with the test.
func shown(t *testing.T, files ...string) *Recorded {
	t.Helper()
	r := NewRecorded(files, time.Now)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for {
		_, _, news := r.Board().Read()
		r.mu.Lock()
		read := r.done
		r.mu.Unlock()
		if read {
			return r
		}
		<-news
	}
}

func troubleOf(t *testing.T, r *Recorded) string {
	t.Helper()
	f, err := r.Fleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f.Source.Trouble
}

func TestARecordIsShown(t *testing.T) {
	cycles := series(sample(t, "growing"), 5)
	r := shown(t, written(t, "", cycles[:3]...), written(t, "", cycles[3:]...))
	f, err := r.Fleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := cycles[4]
	if f.Cycle != last.Cycle || !f.At.Equal(last.Now.Truncate(time.Millisecond)) && f.At.Sub(last.Now).Abs() > time.Second || f.Source.Kind != "record" || f.Source.Trouble != "" || len(f.Models) != 1 || len(f.Models[0].Variants) != 2 {
		t.Errorf("the fleet is %+v", f)
	}
	model := last.Snapshots[0].Model
	m, err := r.Model(t.Context(), model, time.Time{}, time.Time{})
	if err != nil || len(m.T) != 5 {
		t.Fatalf("%d rows, %v", len(m.T), err)
	}
	for _, d := range m.Decisions {
		if !d.Kept {
			t.Errorf("the decision of %s is not at hand", d.Cycle)
		}
	}
	if _, err := r.Replicas(t.Context(), model, time.Time{}, time.Time{}); err != nil {
		t.Error(err)
	}
	for _, c := range cycles {
		d, err := r.Decision(t.Context(), c.Plan.Decisions[0].Variant, c.Cycle)
		if err != nil || !d.Kept || !d.Explained || d.Cycle.Cycle != c.Cycle || !d.Cycle.Now.Equal(c.Now) {
			t.Errorf("the decision of %s: %v, of %s", c.Cycle, err, d.Cycle.Cycle)
		}
	}
	if d, err := r.Decision(t.Context(), last.Plan.Decisions[0].Variant, ""); err != nil || d.Cycle.Cycle != last.Cycle {
		t.Errorf("the last decision is of %s: %v", d.Cycle.Cycle, err)
	}
}

func TestWhatARecordDoesNotHoldIsNotFound(t *testing.T) {
	c := sample(t, "growing")
	s := served(t, shown(t, written(t, "", c)))
	mine := s.opened()
	key := c.Plan.Decisions[0].Variant
	for path, want := range map[string]string{
		"/api/model?namespace=demo&model=absent":    "the record has no model demo/absent",
		"/api/replicas?namespace=demo&model=absent": "the record has no model demo/absent",
		"/api/decision?" + url.Values{"namespace": {key.Namespace}, "name": {key.Name}, "cycle": {"absent-1"}}.Encode(): `the record has no cycle "absent-1"`,
		"/api/decision?namespace=demo&name=absent": "has no variant demo/absent",
	} {
		var body struct{ Error string }
		got := s.get(mine, path)
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.StatusCode != http.StatusNotFound || !strings.Contains(body.Error, want) {
			t.Errorf("%s answers %s: %s", path, got.Status, got.body)
		}
	}
}

func TestARecordThatIsCutOffIsShownUpToThere(t *testing.T) {
	cycles := series(sample(t, "growing"), 3)
	whole := cycles[2].Append(nil)
	file := written(t, string(whole[:len(whole)/2]), cycles[:2]...)
	r := shown(t, file)
	if got, want := troubleOf(t, r), file+": line 3: the line is torn: it ends within its record"; got != want {
		t.Errorf("the trouble is %q, want %q", got, want)
	}
	if f, _ := r.Fleet(t.Context()); f.Cycle != cycles[1].Cycle {
		t.Errorf("the fleet is of %s, want %s", f.Cycle, cycles[1].Cycle)
	}
}

func TestLinesThatCannotBeReadAreNamed(t *testing.T) {
	cycles := series(sample(t, "growing"), 2)
	file := written(t, "\n{}\nnonsense\n[]\n{\"format\":7}\n"+string(cycles[1].Append(nil))+"\n", cycles[0])
	got := troubleOf(t, shown(t, file))
	if !strings.HasPrefix(got, file+": line 3: now: is missing: the instant of the decision; ") || !strings.HasSuffix(got, "; one further line could not be read") || strings.Contains(got, "line 2") {
		t.Errorf("the trouble is %q", got)
	}
}

func TestFilesInTheWrongOrderAreNamed(t *testing.T) {
	cycles := series(sample(t, "growing"), 2)
	newer, older := written(t, "", cycles[1]), written(t, "", cycles[0])
	r := shown(t, newer, older)
	if got := troubleOf(t, r); !strings.HasPrefix(got, older+": line 1: its cycle, of ") || !strings.HasSuffix(got, "name the older file first") {
		t.Errorf("the trouble is %q", got)
	}
	if len(r.cycles) != 1 {
		t.Errorf("%d cycles are shown", len(r.cycles))
	}
}

func TestAFileWithoutACycleIsAnError(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "another file": "# Read me\n\nThis is text.\n"} {
		r := NewRecorded([]string{written(t, text)}, time.Now)
		if err := r.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "there is no cycle in ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := NewRecorded([]string{filepath.Join(t.TempDir(), "absent")}, time.Now).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "opening the record: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestAFileThatWasChangedIsSaid(t *testing.T) {
	cycles := series(sample(t, "growing"), 3)
	file := written(t, "", cycles...)
	r := shown(t, file)
	if err := os.WriteFile(file, []byte(strings.Repeat(" ", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := r.Decision(t.Context(), cycles[0].Plan.Decisions[0].Variant, cycles[0].Cycle)
	if err == nil || !strings.Contains(err.Error(), "start wva dashboard again") || statusOf(err) != http.StatusBadGateway {
		t.Errorf("got %v", err)
	}
}

func TestARecordIsDecidedAgain(t *testing.T) {
	c := sample(t, "growing")
	c.Interval = time.Minute
	cycles := series(c, 10)
	model, v := c.Snapshots[0].Model, c.Snapshots[0].Variants[0]
	body := fmt.Sprintf(`{"namespace":%q,"model":%q,"min":{%q:6}}`, model.Namespace, model.ID, v.Key)
	got := whatIf(t, shown(t, written(t, "", cycles...)), body)
	if got.Cycles != 10 || got.CyclesChanged != 10 || got.New.Variants[0].Desired[9] != 6 || !strings.HasPrefix(got.Says, "The record holds 10 cycles. ") {
		t.Errorf("%d cycles, %d changed: %s", got.Cycles, got.CyclesChanged, got.Says)
	}
}

func TestCyclesThatAPersonWroteAreShown(t *testing.T) {
	c := sample(t, "growing")
	c.Cycle, c.Plan = "", nil
	r := shown(t, written(t, "", c))
	key := c.Snapshots[0].Variants[0].Key
	if d, err := r.Decision(t.Context(), key, scaling.CycleID("")); err != nil || !d.Explained {
		t.Errorf("got %v", err)
	}
}
