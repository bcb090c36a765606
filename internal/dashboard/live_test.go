package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// statusError is an answer of a manager.
type statusError int

func (s statusError) Error() string   { return fmt.Sprintf("asking the manager: %d", int(s)) }
func (s statusError) StatusCode() int { return int(s) }

// stage is a manager that runs cycles, restarts and refuses, as a test says. It runs in a bubble of synctest.
type stage struct {
	mu       sync.Mutex
	name     string
	down     bool
	stalled  bool // it answers, and runs no cycle
	reused   bool // connections lead to the manager that leads now, whichever they were made to
	may      func(namespace string) bool
	models   []history.Model
	interval time.Duration
	began    time.Time

	seen
}

// seen is what was asked of a stage.
type seen struct {
	reached, closed, asked int
	paths                  []string
}

// sofar returns what was asked so far.
func (s *stage) sofar() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.seen
	out.paths = slices.Clone(out.paths)
	return out
}

func (s *stage) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *stage) reach(context.Context) (Manager, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("looking for the manager that leads: there is none")
	}
	s.reached++
	return &line{stage: s, name: s.name}, nil
}

// line is a connection to a stage. It breaks when another manager leads.
type line struct {
	stage *stage
	name  string
}

func (l *line) Name() string { return l.name }
func (l *line) Close()       { l.stage.set(func() { l.stage.closed++ }) }

func (l *line) Get(_ context.Context, path string, into any) error {
	s := l.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	s.paths = append(s.paths, path)
	if s.down || s.name != l.name && !s.reused {
		return errors.New("asking the manager: EOF")
	}
	namespace, one := strings.CutPrefix(path, fleetPath+"/")
	switch {
	case one && !s.may(namespace), path == fleetPath && !s.may(""):
		return statusError(http.StatusForbidden)
	case one || path == fleetPath:
		return again(s.fleet(namespace), into)
	case strings.HasPrefix(path, historyPath):
		return again(history.ModelHistory{From: history.At(time.Now())}, into)
	}
	return statusError(http.StatusNotFound)
}

// fleet is what there is of a namespace, "" for all.
func (s *stage) fleet(namespace string) history.Fleet {
	n := 1 + int(time.Since(s.began)/s.interval)
	if s.stalled {
		n = 1
	}
	out := history.Fleet{
		Cycle: scaling.CycleID(fmt.Sprintf("%s-%d", s.name, n)), Interval: s.interval.Seconds(),
		At: history.At(s.began.Add(time.Duration(n-1) * s.interval)), From: history.At(s.began), Models: []history.Model{}, Refused: []string{},
	}
	for _, m := range s.models {
		if namespace == "" || m.Namespace == namespace {
			out.Models = append(out.Models, m)
		}
	}
	return out
}

// again passes a value through JSON, as a network does.
func again(v, into any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = bytes.Clone(text)
		return nil
	}
	return json.Unmarshal(text, into)
}

func everywhere(string) bool { return true }

// follow runs a Live on a stage within a bubble, and ends it with the test.
func follow(t *testing.T, s *stage, o LiveOptions) *Live {
	t.Helper()
	s.began = time.Now()
	if s.interval == 0 {
		s.interval = 20 * time.Second
	}
	o.Reach = s.reach
	l := NewLive(o)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return l
}

// after lets time pass in the bubble.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func fleetOf(t *testing.T, l *Live) history.Fleet {
	t.Helper()
	f, err := l.Fleet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEachCycleIsShownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere}
		l := follow(t, s, LiveOptions{})
		first := fleetOf(t, l)
		if first.Cycle != "a-1" || first.Source.Kind != "live" || first.Source.Name != "a" || first.Source.Trouble != "" {
			t.Errorf("the fleet is %+v", first)
		}
		after(200 * time.Second)
		last := fleetOf(t, l)
		if last.Cycle != "a-11" || last.Revision != first.Revision+10 {
			t.Errorf("after ten cycles it is %s of revision %d, was %s of %d", last.Cycle, last.Revision, first.Cycle, first.Revision)
		}
		if got := s.sofar(); got.reached != 1 || got.asked > 22 {
			t.Errorf("in ten cycles it was connected to %d times and asked %d times", got.reached, got.asked)
		}
	})
}

func TestAManagerThatIsGoneIsSaidAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere}
		l := follow(t, s, LiveOptions{})
		_, _, news := l.Board().Read()
		s.set(func() { s.down = true })
		after(30 * time.Second)
		select {
		case <-news:
		default:
			t.Error("the pages are not told")
		}
		f := fleetOf(t, l)
		if want := "the manager does not answer since "; !strings.HasPrefix(f.Source.Trouble, want) || !strings.Contains(f.Source.Trouble, "what is shown is of cycle a-") {
			t.Errorf("the trouble is %q", f.Source.Trouble)
		}
		_, err := l.Model(t.Context(), scaling.ModelKey{Namespace: "n", ID: "m"}, time.Time{}, time.Time{})
		if statusOf(err) != http.StatusServiceUnavailable || !strings.HasPrefix(err.Error(), "the manager does not answer") {
			t.Errorf("a question gets %v", err)
		}
		before := s.sofar()
		after(time.Hour)
		if got := s.sofar(); got.asked != before.asked || got.reached != before.reached {
			t.Errorf("a manager that is down was reached")
		}
		s.set(func() { s.down, s.name, s.began = false, "b", time.Now() })
		after(longestBackoff + longestBackoff/2)
		if f = fleetOf(t, l); f.Source.Trouble != "" || f.Source.Name != "b" || !strings.HasPrefix(string(f.Cycle), "b-") {
			t.Errorf("after it is back the fleet is of %s by %s: %q", f.Cycle, f.Source.Name, f.Source.Trouble)
		}
		if got := s.sofar(); got.closed != got.reached-1 {
			t.Errorf("%d connections were made and %d closed", got.reached, got.closed)
		}
	})
}

func TestAnotherLeaderIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere}
		l := follow(t, s, LiveOptions{})
		s.set(func() { s.name = "b" })
		after(15 * time.Second)
		if f := fleetOf(t, l); f.Source.Name != "b" || f.Source.Trouble != "" {
			t.Errorf("the fleet is of %s: %q", f.Source.Name, f.Source.Trouble)
		}
	})
}

func TestTheManagerIsLookedForEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		l := NewLive(LiveOptions{Reach: func(context.Context) (Manager, error) {
			at = append(at, time.Now())
			return nil, errors.New("no lease")
		}})
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := l.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(at) < 3600/46 || len(at) > 3600/15+10 {
			t.Errorf("in an hour it was looked for %d times", len(at))
		}
		distinct := map[time.Duration]bool{}
		for i := 1; i < len(at); i++ {
			wait := at[i].Sub(at[i-1])
			distinct[wait] = true
			if wait < firstBackoff/2 || wait > longestBackoff+longestBackoff/2 {
				t.Errorf("wait %d was %s", i, wait)
			}
		}
		if len(distinct) < len(at)/2 {
			t.Errorf("%d waits have %d lengths: they are not by chance", len(at)-1, len(distinct))
		}
		if _, err := l.Fleet(t.Context()); statusOf(err) != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "no lease") {
			t.Errorf("the page gets %v", err)
		}
	})
}

func TestAManagerThatDecidesNothingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere, stalled: true}
		l := follow(t, s, LiveOptions{})
		after(50 * time.Second)
		if f := fleetOf(t, l); f.Source.Trouble != "" {
			t.Errorf("after two intervals: %q", f.Source.Trouble)
		}
		after(30 * time.Second)
		if f := fleetOf(t, l); !strings.HasPrefix(f.Source.Trouble, "the manager answers, and its last cycle is of 2000-01-01T00:00:00Z") {
			t.Errorf("after four: %q", f.Source.Trouble)
		}
	})
}

func TestOthersSeeOnlyTheirNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: func(namespace string) bool { return namespace == "mine" || namespace == "ours" }}
		s.models = []history.Model{{Namespace: "mine", Model: "m"}, {Namespace: "ours", Model: "a", Look: 2}, {Namespace: "theirs", Model: "t", Look: 3}}
		var looked atomic.Int64
		l := follow(t, s, LiveOptions{Namespaces: func(context.Context) ([]string, []string, error) {
			looked.Add(1)
			return []string{"mine", "ours", "taken"}, []string{"namespaces theirs: you may not get variantautoscalings there"}, nil
		}})
		f := fleetOf(t, l)
		var got []string
		for _, m := range f.Models {
			got = append(got, m.Namespace+"/"+m.Model)
		}
		if want := []string{"ours/a", "mine/m"}; !slices.Equal(got, want) {
			t.Errorf("the models are %q, want %q", got, want)
		}
		if len(f.Refused) != 2 || !strings.HasPrefix(f.Refused[0], "namespaces theirs") || !strings.HasPrefix(f.Refused[1], "namespace taken: asking the manager: 403") {
			t.Errorf("refused are %q", f.Refused)
		}
		after(4 * time.Minute)
		if n := strings.Count(strings.Join(s.sofar().paths, " ")+" ", fleetPath+" "); n != 1 || looked.Load() != 1 {
			t.Errorf("in four minutes the whole fleet was asked for %d times, and namespaces looked for %d times", n, looked.Load())
		}
		after(2 * time.Minute)
		if looked.Load() != 2 {
			t.Errorf("after six minutes namespaces were looked for %d times", looked.Load())
		}
	})
}

func TestNamedNamespacesAreTheOnlyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere, models: []history.Model{{Namespace: "x"}, {Namespace: "y"}, {Namespace: "z"}}}
		l := follow(t, s, LiveOptions{Named: []string{"x", "z"}})
		f := fleetOf(t, l)
		if len(f.Models) != 2 || f.Models[0].Namespace != "x" || f.Models[1].Namespace != "z" || slices.Contains(s.sofar().paths, fleetPath) {
			t.Errorf("the models are %+v by %q", f.Models, s.sofar().paths)
		}
	})
}

func TestWithoutAnyRightThatIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: func(string) bool { return false }}
		l := follow(t, s, LiveOptions{Named: []string{"theirs"}})
		_, err := l.Fleet(t.Context())
		if err == nil || !strings.Contains(err.Error(), "there is no namespace that you may read: namespace theirs: asking the manager: 403") {
			t.Errorf("the page gets %v", err)
		}
	})
}

// refusing is a manager that answers everything with a status.
type refusing int

func (refusing) Name() string                             { return "refusing" }
func (refusing) Close()                                   {}
func (r refusing) Get(context.Context, string, any) error { return statusError(r) }

func TestAManagerThatCannotAnswerIsSaid(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusNotFound:            "asking the manager: 404; want a manager of this version: older ones have no /debug/fleet",
		http.StatusServiceUnavailable:  "asking the manager: 503",
		http.StatusUnauthorized:        "asking the manager: 401",
		http.StatusInternalServerError: "asking the manager: 500",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLive(LiveOptions{Reach: func(context.Context) (Manager, error) { return refusing(status), nil }})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := l.Run(ctx); err != nil {
				t.Error(err)
			}
			if _, err := l.Fleet(t.Context()); statusOf(err) != http.StatusServiceUnavailable || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: the page gets %v, want %q", status, err, want)
			}
		})
	}
}

func TestAnotherManagerAtTheAddressOfTheLastIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere, reused: true}
		l := follow(t, s, LiveOptions{})
		s.set(func() { s.name, s.began = "b", time.Now() })
		after(s.interval)
		if f := fleetOf(t, l); f.Source.Name != "b" || f.Source.Trouble != "" || !strings.HasPrefix(string(f.Cycle), "b-") {
			t.Errorf("the fleet is of %s by %s: %q", f.Cycle, f.Source.Name, f.Source.Trouble)
		}
		after(time.Minute)
		if got := s.sofar(); got.reached != 2 || got.closed != 1 {
			t.Errorf("%d connections were made and %d closed, want one more than before", got.reached, got.closed)
		}
	})
}

func TestTheNextLeaderIsShownWithinSecondsOfItsFirstCycle(t *testing.T) {
	for _, vacant := range []time.Duration{time.Second, 17 * time.Second, time.Minute, soon - time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := &stage{name: "a", may: everywhere}
			l := follow(t, s, LiveOptions{})
			s.set(func() { s.down = true })
			after(longestPause + vacant)
			s.set(func() { s.down, s.name, s.began = false, "b", time.Now() })
			after(soonBackoff + soonBackoff/2)
			if f := fleetOf(t, l); f.Source.Name != "b" || f.Source.Trouble != "" {
				t.Errorf("after %s without a leader the fleet is of %s, %s after the next one decided: %q", vacant, f.Source.Name, soonBackoff+soonBackoff/2, f.Source.Trouble)
			}
		})
	}
}

func TestAnAnswerIsAskedForOnceACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{name: "a", may: everywhere}
		l := follow(t, s, LiveOptions{})
		model := scaling.ModelKey{Namespace: "n/s", ID: "org/m&x=1"}
		for range 3 {
			for range 5 {
				if _, err := l.Model(t.Context(), model, time.Unix(1, 5e8), time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			after(s.interval)
		}
		want := historyPath + "/n%2Fs?from=1.5&model=" + url.QueryEscape(model.ID) + "&points=1200"
		n := 0
		for _, p := range s.sofar().paths {
			if strings.HasPrefix(p, historyPath) {
				if n++; p != want {
					t.Errorf("it was asked for %s, want %s", p, want)
				}
			}
		}
		if n != 3 {
			t.Errorf("in three cycles the history was asked for %d times", n)
		}
		if _, err := l.Replicas(t.Context(), model, time.Time{}, time.Time{}); statusOf(err) != http.StatusNotFound {
			t.Errorf("a question that the manager does not know gets %v", err)
		}
	})
}
