package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// recordSpan is the longest time that the history of a record may cover.
const recordSpan = 5 * 365 * 24 * time.Hour

// readAnnounced is how often the pages learn the progress of reading.
const readAnnounced = 500 * time.Millisecond

// Recorded shows files of recorded cycles. The history of all cycles is in memory, within its
// bound. The cycle of a question is read from its file again.
type Recorded struct {
	files   []string
	board   *Board
	now     func() time.Time
	history *history.History

	mu       sync.Mutex
	cycles   []recordedCycle // in order of time
	byID     map[scaling.CycleID]int
	done     bool
	troubles []string // lines that could not be read
	omitted  int      // further such lines
}

var _ Source = (*Recorded)(nil)

// recordedCycle is the place of a cycle.
type recordedCycle struct {
	at     time.Time
	id     scaling.CycleID
	file   int // of Recorded.files
	line   int // from 1
	offset int64
	length int
}

// mostTroubles bounds the unreadable lines that are named.
const mostTroubles = 3

// NewRecorded returns a Recorded of files, the oldest file first. now is the clock that limits how
// often progress is announced.
func NewRecorded(files []string, now func() time.Time) *Recorded {
	return &Recorded{
		files: files, board: NewBoard(), now: now, byID: map[scaling.CycleID]int{},
		history: history.New(history.Options{Span: recordSpan}),
	}
}

// Board implements Source.
func (r *Recorded) Board() *Board { return r.board }

// Run implements Source. It returns an error where a file cannot be opened or no file holds a
// cycle.
func (r *Recorded) Run(ctx context.Context) error {
	told := r.now()
	for i, name := range r.files {
		if err := r.read(ctx, i, name, &told); err != nil {
			return err
		}
	}
	r.mu.Lock()
	r.done = true
	none := len(r.cycles) == 0
	r.mu.Unlock()
	r.announce()
	if none {
		return fmt.Errorf("there is no cycle in %s%s", strings.Join(r.files, ", "), r.about("; "))
	}
	<-ctx.Done()
	return nil
}

// read reads one file to its end, or up to the first error that is not one of a line.
func (r *Recorded) read(ctx context.Context, at int, name string, told *time.Time) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("opening the record: %w", err)
	}
	defer file.Close()
	for read := range decided(ctx, file) {
		one := <-read
		if one.err != nil {
			r.unreadable(name, one.err)
			continue
		}
		one.where.file = at
		if !r.add(one) {
			r.unreadable(name, fmt.Errorf("line %d: its cycle, of %s, is earlier than the one before it: name the older file first",
				one.where.line, one.cycle.Now.UTC().Format(time.RFC3339)))
		}
		if now := r.now(); now.Sub(*told) >= readAnnounced {
			*told = now
			r.announce()
		}
	}
	return nil
}

// decidedLine is a line of a file, with its cycle decided again.
type decidedLine struct {
	where    recordedCycle
	cycle    record.Cycle
	analyses []scaling.Analysis
	err      error
}

// decided reads the lines of a file in order, each from its own channel: cycles of large fleets are
// decoded and decided on several processors. It ends with the file, with the first error that is
// not one of a line, or with ctx.
func decided(ctx context.Context, file io.Reader) iter.Seq[<-chan decidedLine] {
	return func(yield func(<-chan decidedLine) bool) {
		ctx, stop := context.WithCancel(ctx)
		ordered := make(chan chan decidedLine, runtime.GOMAXPROCS(0))
		var reading sync.WaitGroup
		defer reading.Wait()
		defer stop()
		reading.Go(func() {
			defer close(ordered)
			for line, err := range record.Lines(file) {
				one := make(chan decidedLine, 1)
				select {
				case <-ctx.Done():
					return
				case ordered <- one:
				}
				if err != nil {
					one <- decidedLine{err: err}
					return
				}
				line.Text = bytes.Clone(line.Text)
				reading.Go(func() { one <- decideLine(line) })
			}
		})
		for one := range ordered {
			if ctx.Err() != nil || !yield(one) {
				return
			}
		}
	}
}

// decideLine decides the cycle of a line again.
func decideLine(line record.Line) decidedLine {
	c, err := line.Decode()
	if err != nil {
		return decidedLine{err: err}
	}
	verdict := replay.Decide(c)
	if c.Plan == nil {
		c.Plan = &verdict.Plan
	}
	where := recordedCycle{at: c.Now, id: c.Cycle, line: line.Number, offset: line.Offset, length: len(line.Text)}
	return decidedLine{where: where, cycle: c, analyses: verdict.Analyses}
}

// add adds a cycle unless it is earlier than the last, and reports whether it did.
func (r *Recorded) add(one decidedLine) bool {
	r.mu.Lock()
	late := len(r.cycles) > 0 && one.where.at.Before(r.cycles[len(r.cycles)-1].at)
	if !late {
		r.byID[one.where.id] = len(r.cycles)
		r.cycles = append(r.cycles, one.where)
	}
	r.mu.Unlock()
	if !late {
		r.history.Add(history.Cycle{Cycle: one.cycle, Analyses: one.analyses})
	}
	return !late
}

// unreadable notes a line that could not be read.
func (r *Recorded) unreadable(name string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.troubles) >= mostTroubles {
		r.omitted++
		return
	}
	r.troubles = append(r.troubles, fmt.Sprintf("%s: %v", name, err))
}

// announce tells the pages of the progress.
func (r *Recorded) announce() {
	r.board.Say(r.trouble())
	r.board.Cycle()
}

// trouble returns how far the files are read, and what could not be read.
func (r *Recorded) trouble() string {
	r.mu.Lock()
	reading, n := !r.done, len(r.cycles)
	r.mu.Unlock()
	if reading {
		return fmt.Sprintf("the files are being read: %d cycles so far%s", n, r.about("; "))
	}
	return strings.TrimPrefix(r.about("; "), "; ")
}

// about returns the lines that could not be read, each after a separator.
func (r *Recorded) about(separator string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, t := range r.troubles {
		b.WriteString(separator + t)
	}
	switch {
	case r.omitted == 1:
		b.WriteString(separator + "one further line could not be read")
	case r.omitted > 1:
		fmt.Fprintf(&b, "%s%d further lines could not be read", separator, r.omitted)
	}
	return b.String()
}

// Fleet implements Source.
func (r *Recorded) Fleet(context.Context) (history.Fleet, error) {
	revision, trouble, _ := r.board.Read()
	fleet := r.history.Fleet(func(string) bool { return true })
	if fleet.At.IsZero() {
		return fleet, notYet("no cycle has been read yet")
	}
	fleet.Revision, fleet.Refused = revision, []string{}
	fleet.Source = history.Source{Kind: "record", Name: strings.Join(r.files, ", "), Trouble: trouble}
	return fleet, nil
}

// Model implements Source.
func (r *Recorded) Model(_ context.Context, of scaling.ModelKey, from, to time.Time) (history.ModelHistory, error) {
	out, ok := r.history.Model(of, from, to, mostPoints)
	if !ok {
		return out, unknown(fmt.Sprintf("the record has no model %s", of))
	}
	out.Decisions = slices.Clone(out.Decisions)
	for i := range out.Decisions {
		out.Decisions[i].Kept = true // in the file
	}
	return out, nil
}

// Replicas implements Source.
func (r *Recorded) Replicas(_ context.Context, of scaling.ModelKey, from, to time.Time) (history.Replicas, error) {
	out, ok := r.history.Replicas(of, from, to)
	if !ok {
		return out, unknown(fmt.Sprintf("the record has no model %s", of))
	}
	return out, nil
}

// Decision implements Source.
func (r *Recorded) Decision(ctx context.Context, of scaling.VariantKey, id scaling.CycleID) (Decided, error) {
	r.mu.Lock()
	i, ok := r.byID[id]
	if id == "" {
		i, ok = len(r.cycles)-1, len(r.cycles) > 0
	}
	r.mu.Unlock()
	if !ok {
		return Decided{}, unknown(fmt.Sprintf("the record has no cycle %.40q", id))
	}
	c, err := r.at(ctx, i)
	if err != nil {
		return Decided{}, err
	}
	out := Decided{Cycle: c, Kept: true}
	out.Change, _ = r.history.Decision(of, c.Cycle)
	if out.explain(of); !out.Explained {
		return Decided{}, unknown(fmt.Sprintf("cycle %s has no variant %s", c.Cycle, of))
	}
	return out, nil
}

// at reads a cycle from its file.
func (r *Recorded) at(ctx context.Context, i int) (record.Cycle, error) {
	if err := ctx.Err(); err != nil {
		return record.Cycle{}, err
	}
	r.mu.Lock()
	where := r.cycles[i]
	r.mu.Unlock()
	name := r.files[where.file]
	file, err := os.Open(name)
	if err != nil {
		return record.Cycle{}, fmt.Errorf("reading the record again: %w", err)
	}
	defer file.Close()
	text := make([]byte, where.length)
	if _, err := file.ReadAt(text, where.offset); err != nil && !errors.Is(err, io.EOF) {
		return record.Cycle{}, fmt.Errorf("reading the record again: %w", err)
	}
	c, err := record.Decode(bytes.TrimRight(text, "\r\n"))
	if err != nil || c.Cycle != where.id || !c.Now.Equal(where.at) {
		return record.Cycle{}, fmt.Errorf("line %d of %s is no longer what was read: the file was changed; start wva dashboard again", where.line, name)
	}
	return c, nil
}

// Cycles implements Source.
func (r *Recorded) Cycles(_ context.Context, of scaling.ModelKey) (Cycles, error) {
	if _, ok := r.history.Model(of, time.Time{}, time.Time{}, 2); !ok {
		return Cycles{}, unknown(fmt.Sprintf("the record has no model %s", of))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Cycles{Refs: make([]CycleRef, len(r.cycles)), Says: fmt.Sprintf("The record holds %d cycles", len(r.cycles))}
	for i, c := range r.cycles {
		out.Refs[i] = CycleRef{At: c.at, ID: c.id, place: i}
	}
	out.Read = func(ctx context.Context, ref CycleRef) (record.Cycle, error) { return r.at(ctx, ref.place) }
	return out, nil
}
