package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The range of the time between two questions for the fleet, which is half the interval of the
// cycle.
const (
	shortestPause = time.Second
	longestPause  = 15 * time.Second
)

// The time until the manager is looked for again. It doubles each time, and varies by up to half of
// it, so that the pages of many users do not return at once. By default a lease runs out after a
// minute and its next holder decides some seconds later: for that long the dashboard looks often.
const (
	firstBackoff   = time.Second
	soonBackoff    = 2 * time.Second // the longest within soon after the manager was lost
	soon           = 2 * time.Minute
	longestBackoff = 30 * time.Second
)

// lateIntervals is the number of intervals without a cycle that counts as a trouble.
const lateIntervals = 3

// mostPoints bounds the rows of a model over time.
const mostPoints = 1200

// mostKeptCycles bounds the kept cycles of a model that a what-if reads from the manager.
const mostKeptCycles = 200

// Manager is a connection to a manager. It is safe for concurrent use.
type Manager interface {
	// Name identifies the manager.
	Name() string
	// Get decodes the answer to a path. An error with a method StatusCode() int is an answer of the
	// manager.
	Get(ctx context.Context, path string, into any) error
	// Close ends the connection.
	Close()
}

// LiveOptions configure a Live. Reach is required.
type LiveOptions struct {
	// Reach finds the leading manager and connects to it, until Close or ctx ends.
	Reach func(ctx context.Context) (Manager, error)
	// Named are the only namespaces to show. With none, the dashboard shows the whole fleet, or the
	// namespaces that Namespaces returns where the user may not read all.
	Named []string
	// Namespaces returns the namespaces that the user may read, and a sentence about each of the
	// others.
	Namespaces func(ctx context.Context) (names, refused []string, err error)
	// Past supplies the time before the manager began to remember; nil without a store.
	Past  *Past
	Clock clock.WithTicker // the real one where it is nil
	Rand  *rand.Rand       // of the backoff; owned by Run
}

// Live shows what a manager decides, while it decides. It reads with the rights of its user, and
// reconnects by itself when the manager restarts or another one leads.
type Live struct {
	options LiveOptions
	board   *Board

	scope scope // used by Run only

	mu      sync.Mutex
	manager Manager // nil while there is none
	fleet   history.Fleet
	seen    bool
	cached  map[string]json.RawMessage // answers of the manager since the last cycle, by path
}

// scope is the namespaces that are read one by one, because the user may not read all.
type scope struct {
	until          time.Time // when it expires
	names, refused []string
}

// scopeFor is how long a scope is used.
const scopeFor = 5 * time.Minute

var _ Source = (*Live)(nil)

// NewLive returns a Live.
func NewLive(o LiveOptions) *Live {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(uint64(o.Clock.Now().UnixNano()), 0))
	}
	l := &Live{options: o, board: NewBoard(), cached: map[string]json.RawMessage{}}
	if o.Past != nil {
		o.Past.tell(l.board.Cycle)
	}
	return l
}

// Board implements Source.
func (l *Live) Board() *Board { return l.board }

// Run implements Source.
func (l *Live) Run(ctx context.Context) error {
	backoff := firstBackoff
	lost := l.options.Clock.Now()
	for ctx.Err() == nil {
		polled, fault := l.session(ctx)
		if ctx.Err() != nil {
			break
		}
		if polled {
			backoff, lost = firstBackoff, l.options.Clock.Now()
		}
		if fault == "" {
			continue
		}
		l.board.Say(l.lostSince(lost, fault))
		wait := time.Duration((0.5 + l.options.Rand.Float64()) * float64(backoff))
		longest := longestBackoff
		if l.options.Clock.Since(lost) < soon {
			longest = soonBackoff
		}
		backoff = min(2*backoff, longest)
		if l.pause(ctx, wait) != nil {
			break
		}
	}
	return nil //nolint:nilerr // the end was asked for
}

// lostSince returns the trouble that the manager does not answer.
func (l *Live) lostSince(at time.Time, fault string) string {
	text := fmt.Sprintf("the manager does not answer since %s (%s); the dashboard tries again", at.UTC().Format(time.RFC3339), fault)
	if last, ok := l.last(); ok {
		text += fmt.Sprintf("; what is shown is of cycle %s of %s", last.Cycle, last.At.UTC().Format(time.RFC3339))
	}
	return text
}

// session connects to a manager and reads from it until it no longer answers, or another process
// answers in its place. It reports whether the manager ever answered, and the fault, "" for none.
func (l *Live) session(ctx context.Context) (polled bool, fault string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m, err := l.options.Reach(ctx)
	if err != nil {
		return false, err.Error()
	}
	defer m.Close()
	defer l.connect(nil)
	process := ""
	for {
		fleet, err := l.ask(ctx, m)
		if err != nil {
			return polled, err.Error()
		}
		// Another pod may have taken the address of one that ended. The forwarded port then leads
		// to it.
		if polled && processOf(fleet.Cycle) != process {
			return polled, ""
		}
		polled, process = true, processOf(fleet.Cycle)
		l.connect(m)
		l.show(fleet, m.Name())
		interval := time.Duration(fleet.Interval * float64(time.Second))
		if l.pause(ctx, min(max(interval/2, shortestPause), longestPause)) != nil {
			return polled, "the dashboard ends"
		}
	}
}

// processOf returns the part of a cycle's ID that identifies the process that ran it.
func processOf(id scaling.CycleID) string {
	process, _, _ := strings.Cut(string(id), "-")
	return process
}

// pause waits for d, or returns an error when ctx ends.
func (l *Live) pause(ctx context.Context, d time.Duration) error {
	timer := l.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// connect sets the manager that answers the pages' questions.
func (l *Live) connect(m Manager) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.manager = m
}

// show makes a fleet the current one.
func (l *Live) show(fleet history.Fleet, name string) {
	l.mu.Lock()
	news := !l.seen || fleet.Cycle != l.fleet.Cycle || !slices.Equal(fleet.Refused, l.fleet.Refused)
	fleet.Source = history.Source{Kind: "live", Name: name}
	l.fleet, l.seen = fleet, true
	if news {
		clear(l.cached)
	}
	l.mu.Unlock()
	if news {
		l.board.Cycle()
	}
	l.board.Say(l.late(fleet))
}

// late returns the trouble that the manager answers but runs no cycle, "" for none.
func (l *Live) late(f history.Fleet) string {
	interval := time.Duration(f.Interval * float64(time.Second))
	if interval <= 0 || f.At.IsZero() || l.options.Clock.Since(f.At.Time) <= lateIntervals*interval {
		return ""
	}
	return fmt.Sprintf("the manager answers, and its last cycle is of %s: cycles are planned every %s", f.At.UTC().Format(time.RFC3339), interval)
}

// last returns the last fleet, and false if there is none yet.
func (l *Live) last() (history.Fleet, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fleet, l.seen
}

// Fleet implements Source.
func (l *Live) Fleet(context.Context) (history.Fleet, error) {
	revision, trouble, _ := l.board.Read()
	fleet, ok := l.last()
	if !ok {
		return fleet, notYet(cmp.Or(trouble, "the manager has not answered yet"))
	}
	fleet.Revision, fleet.Source.Trouble = revision, trouble
	return fleet, nil
}

// get reads a path from the manager, once per cycle.
func (l *Live) get(ctx context.Context, path string, into any) error {
	l.mu.Lock()
	m, kept := l.manager, l.cached[path]
	l.mu.Unlock()
	if kept == nil {
		if m == nil {
			_, trouble, _ := l.board.Read()
			return notYet(cmp.Or(trouble, "the manager has not answered yet"))
		}
		if err := m.Get(ctx, path, &kept); err != nil {
			return answered(err)
		}
		l.keep(m, path, kept)
	}
	if err := json.Unmarshal(kept, into); err != nil {
		return fmt.Errorf("reading the manager's answer: %w", err)
	}
	return nil
}

// mostCached bounds the number of kept answers, and mostCachedBytes their total length.
const (
	mostCached      = 64
	mostCachedBytes = 64 << 20
)

// keep keeps an answer until the next cycle.
func (l *Live) keep(m Manager, path string, text json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(text)
	for _, t := range l.cached {
		size += len(t)
	}
	if l.manager != m {
		return // it is the answer of another manager
	}
	if len(l.cached) >= mostCached || size > mostCachedBytes {
		clear(l.cached)
	}
	l.cached[path] = text
}

// answered converts an error answer of a manager to a *RefusalError, if it has such a status.
func answered(err error) error {
	var of interface{ StatusCode() int }
	if !errors.As(err, &of) {
		return err
	}
	switch status := of.StatusCode(); status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return &RefusalError{status, err.Error()}
	}
	return err
}

// Paths of the manager.
const (
	fleetPath     = "/debug/fleet"
	historyPath   = "/debug/history"
	replicasPath  = "/debug/replicas"
	decisionsPath = "/debug/decisions"
)

// Model implements Source. A user who may not read a model of the manager does not see it from the
// store, either.
func (l *Live) Model(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.ModelHistory, error) {
	out, err := l.remembered(ctx, of, from, to)
	if err != nil || l.options.Past == nil {
		return out, err
	}
	return l.options.Past.before(ctx, out, of, from), nil
}

// remembered returns the manager's history of a model.
func (l *Live) remembered(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.ModelHistory, error) {
	var out history.ModelHistory
	q := span(of, from, to)
	q.Set("points", strconv.Itoa(mostPoints))
	return out, l.get(ctx, historyPath+"/"+url.PathEscape(of.Namespace)+"?"+q.Encode(), &out)
}

// Replicas implements Source.
func (l *Live) Replicas(ctx context.Context, of scaling.ModelKey, from, to time.Time) (history.Replicas, error) {
	var out history.Replicas
	return out, l.get(ctx, replicasPath+"/"+url.PathEscape(of.Namespace)+"?"+span(of, from, to).Encode(), &out)
}

// span returns the parameters of a question about a model and a time.
func span(of scaling.ModelKey, from, to time.Time) url.Values {
	q := url.Values{"model": {of.ID}}
	for name, t := range map[string]time.Time{"from": from, "to": to} {
		if !t.IsZero() {
			q.Set(name, strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64))
		}
	}
	return q
}

// Decision implements Source.
func (l *Live) Decision(ctx context.Context, of scaling.VariantKey, id scaling.CycleID) (Decided, error) {
	var e explain.Explanation
	path := decisionsPath + "/" + url.PathEscape(of.Namespace) + "/" + url.PathEscape(of.Name)
	err := l.get(ctx, path, &e)
	if err == nil && (id == "" || id == e.Cycle) {
		out := Decided{Explanation: e, Explained: true}
		var text json.RawMessage
		if missing := l.get(ctx, path+"/cycle", &text); missing != nil {
			out.WhyNot = missing.Error()
		} else {
			out.decode(text, e.Cycle)
		}
		return out, nil
	}
	if id == "" {
		return Decided{}, err
	}
	var out Decided
	if err == nil {
		if out.Change, err = l.change(ctx, e.Variant.Model, of, id); err != nil {
			return out, err
		}
	}
	var text json.RawMessage
	kept := l.get(ctx, keptPath(of, id), &text)
	switch {
	case kept == nil:
		out.decode(text, id)
		out.explain(of)
	case out.Change.Cycle != "":
		out.WhyNot = "the manager no longer has what the cycle decided from: " + kept.Error()
	default:
		return out, kept
	}
	return out, nil
}

func keptPath(of scaling.VariantKey, id scaling.CycleID) string {
	return historyPath + "/" + url.PathEscape(of.Namespace) + "/" + url.PathEscape(of.Name) + "/cycle?" + url.Values{"cycle": {string(id)}}.Encode()
}

// change returns the change that a cycle decided, by the history; the zero value if there is none.
func (l *Live) change(ctx context.Context, model scaling.ModelKey, of scaling.VariantKey, id scaling.CycleID) (history.Change, error) {
	m, err := l.remembered(ctx, model, time.Time{}, time.Time{})
	if err != nil {
		return history.Change{}, err
	}
	return changeOf(m.Decisions, of, id), nil
}

func changeOf(all []history.Change, of scaling.VariantKey, id scaling.CycleID) history.Change {
	i := slices.IndexFunc(all, func(c history.Change) bool { return c.Cycle == id && c.Namespace == of.Namespace && c.Name == of.Name })
	if i < 0 {
		return history.Change{}
	}
	return all[i]
}

// decode reads the text of a cycle into d.
func (d *Decided) decode(text []byte, id scaling.CycleID) {
	c, err := record.Decode(text)
	switch {
	case err != nil:
		d.WhyNot = fmt.Sprintf("reading the cycle of the manager: %v", err)
	case c.Cycle != id:
		d.WhyNot = fmt.Sprintf("a cycle ran meanwhile: %s; load the page again", c.Cycle)
	default:
		d.Cycle, d.Kept = c, true
	}
}

// explain explains the decision for a variant by the kept cycle. The recorded plan wins where this
// program decides otherwise.
func (d *Decided) explain(of scaling.VariantKey) {
	if !d.Kept {
		return
	}
	s, v, ok := replay.Find(d.Cycle, of)
	if !ok {
		return
	}
	verdict := replay.Decide(d.Cycle)
	if d.Cycle.Plan != nil {
		verdict.Plan = *d.Cycle.Plan
	}
	d.Explanation, d.Explained = replay.Explanation(d.Cycle, verdict, s, v), true
}

// Cycles implements Source.
func (l *Live) Cycles(ctx context.Context, of scaling.ModelKey) (Cycles, error) {
	m, err := l.remembered(ctx, of, time.Time{}, time.Time{})
	if err != nil {
		return Cycles{}, err
	}
	out := Cycles{Sparse: true, Read: l.readKept}
	for _, c := range m.Decisions {
		ref := CycleRef{At: c.T.Time, ID: c.Cycle, Of: scaling.VariantKey{Namespace: c.Namespace, Name: c.Name}}
		if c.Kept && !slices.ContainsFunc(out.Refs, func(r CycleRef) bool { return r.ID == ref.ID }) {
			out.Refs = append(out.Refs, ref)
		}
	}
	out.Refs = out.Refs[max(0, len(out.Refs)-mostKeptCycles):]
	out.Says = fmt.Sprintf("The manager keeps the inputs of cycles that changed a number of replicas, of this model %d, and of the last cycle", len(out.Refs))
	fleet, _ := l.last()
	if all := m.Model.Variants; len(all) > 0 { // all variants share the cycle
		out.Refs = append(out.Refs, CycleRef{At: fleet.At.Time, Of: scaling.VariantKey{Namespace: all[0].Namespace, Name: all[0].Name}})
	}
	return out, nil
}

// readKept reads a kept cycle from the manager, the last one where ref has no ID.
func (l *Live) readKept(ctx context.Context, ref CycleRef) (record.Cycle, error) {
	l.mu.Lock()
	m := l.manager
	l.mu.Unlock()
	if m == nil {
		_, trouble, _ := l.board.Read()
		return record.Cycle{}, notYet(trouble)
	}
	path := keptPath(ref.Of, ref.ID)
	if ref.ID == "" {
		path = decisionsPath + "/" + url.PathEscape(ref.Of.Namespace) + "/" + url.PathEscape(ref.Of.Name) + "/cycle"
	}
	var text json.RawMessage
	if err := m.Get(ctx, path, &text); err != nil {
		return record.Cycle{}, answered(err)
	}
	return record.Decode(text)
}
