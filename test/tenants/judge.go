package tenants

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Rule is a rule that no hostile namespace may break; see the comment of the package.
type Rule string

// The rules.
const (
	Decisions Rule = "decisions"
	Share     Rule = "share"
	Time      Rule = "time"
	Memory    Rule = "memory"
	Events    Rule = "events"
	Whole     Rule = "whole"
)

// Violation is a rule that a case violates.
type Violation struct {
	Rule Rule
	What string // one line
}

func (v Violation) String() string { return string(v.Rule) + ": " + v.What }

const (
	// turns is the number of cycles of a case: the first decides without a history, the last after
	// constrain has seen in three that pods are refused. One interval comes before them, in which
	// objects and pages are read for the first time.
	turns = 4
	// warmUp is how long pages are read before the first cycle, which runs when no scrape is due: 4
	// s after the last round of scrapes. Rates are over a minute.
	warmUp = 79 * time.Second
	// untilNext is the time between two cycles: between the first and the last more than a minute
	// passes, after which replicas whose pods are refused reserve nothing.
	untilNext = 3 * between
	// factor and extra limit the processor time of an interval with a hostile namespace.
	factor = 1.5
	extra  = 50 * time.Millisecond
	// mostWaited limits how long a cycle waits because of a namespace: 2 s for targets without an
	// informer, the first time, and 10 s to set replicas by scale subresources.
	mostWaited = 12 * time.Second
	// mostHeld is the memory that a hostile namespace may take, in bytes, beside that of its
	// variants beyond mostVariants.
	mostHeld = 50 << 20
	// eventsOfVariant limits the events of a VariantAutoscaling: one of each kind.
	eventsOfVariant = 10
	// mostNote limits the mean length of an event, in bytes: the API takes 1024.
	mostNote = 1024
	// tries is how often an interval is measured if it takes too long: the machine may be busy.
	tries = 3
)

// outcome is the result of playing a case.
type outcome struct {
	decisions  [turns][]scaling.Decision // on honest variants, by cycle
	conditions string                    // of honest variants, after the last cycle
	took       [turns + 1]time.Duration  // processor time of each interval
	waited     time.Duration             // the longest cycle
	allocated  [turns + 1]uint64         // bytes, in each interval
	held       uint64                    // bytes of the heap at the end, without garbage
	peak       uint64                    // most bytes of the heap, where it was sampled
	events     int                       // of the hostile namespace
	notes      int                       // bytes of those
	requested  int                       // accelerators that its pods request
	variants   int                       // of the hostile namespace
	refused    []string
}

// Judge returns the rules that a case violates. It must not run beside other work of the process,
// since it measures the whole process. It judges time and memory only if measured is true.
func Judge(t *testing.T, c Case, honest *Honest, measured bool) []Violation {
	t.Helper()
	base := honest.of(t, c)
	got := play(t, c, false)
	out := slices.Concat(base.compare(c, got), base.contest(c, got), hygiene(got))
	if measured {
		out = append(out, expense(t, c, honest, got)...)
	}
	return out
}

// Honest keeps the outcomes of clusters without a hostile namespace.
type Honest struct{ known map[string]outcome }

// of returns the outcome of a case without its moves.
func (h *Honest) of(t *testing.T, c Case) outcome {
	t.Helper()
	c.Moves, c.Full = nil, ""
	if known, ok := h.known[c.String()]; ok {
		return known
	}
	if h.known == nil {
		h.known = map[string]outcome{}
		play(t, c, false) // warms up
	}
	h.known[c.String()] = play(t, c, false)
	return h.known[c.String()]
}

// again plays a cluster without a hostile namespace once more.
func (h *Honest) again(t *testing.T, c Case) outcome {
	t.Helper()
	c.Moves, c.Full = nil, ""
	delete(h.known, c.String())
	return h.of(t, c)
}

// play runs a case. If sampled is true it measures the peak of the heap, which takes time.
func play(t *testing.T, c Case, sampled bool) outcome {
	t.Helper()
	var out outcome
	if sampled {
		defer debug.SetGCPercent(debug.SetGCPercent(50))
		stop := sample(&out.peak)
		defer stop()
	}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if r := recover(); r != nil {
				out.refused = append(out.refused, fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
			}
		}()
		world := newCluster(c.Stock != StockUnlimited)
		world.addHonest(c)
		out.requested, out.variants = world.addHostile(c)
		l, err := newLeader(world)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.WithoutCancel(t.Context())
		before := spend()
		end := l.begin(ctx)
		measure := func(interval int, run func()) {
			run()
			synctest.Wait()
			now := spend()
			out.took[interval], out.allocated[interval] = now.cpu-before.cpu, now.allocated-before.allocated
			before = spend()
		}
		measure(0, func() { time.Sleep(between) })
		out.took[0], out.allocated[0] = out.took[0]+world.stripped.cpu, out.allocated[0]+world.stripped.allocated
		if world.limited {
			l.stock.Inventory(ctx) // the first call begins the count
		}
		time.Sleep(warmUp)
		before = spend()
		for n := range turns {
			measure(n+1, func() {
				time.Sleep(untilNext)
				l.watch.Pass(ctx)
				out.waited = max(out.waited, l.turn(ctx))
			})
			out.decisions[n] = l.honestDecisions()
		}
		l.show(ctx) // not in every interval, and not timed: it takes as long as its page is large
		out.conditions = l.honestConditions()
		out.events, out.notes = l.events.count[evil], l.events.bytes[evil]
		end()
		out.refused = append(out.refused, l.refused...)
		out.held = spendAfterGC()
		time.Sleep(time.Minute) // until the requests to targets that do not answer have ended
		runtime.KeepAlive(l)
		runtime.KeepAlive(world)
	})
	return out
}

// honestDecisions returns the decisions of the last cycle on honest variants.
func (l *leader) honestDecisions() []scaling.Decision {
	last, _ := l.book.Latest()
	return slices.DeleteFunc(slices.Clone(last.Plan.Decisions), func(d scaling.Decision) bool { return d.Variant.Namespace == evil })
}

// honestConditions returns the conditions of honest variants without their messages, which may name
// other namespaces.
func (l *leader) honestConditions() string {
	var b strings.Builder
	for _, va := range items[v1alpha1.VariantAutoscaling](l.cluster.list(kindVariant, "")) {
		if va.Namespace == evil {
			continue
		}
		for _, c := range va.Status.Conditions {
			fmt.Fprintf(&b, "%s/%s %s %s %s\n", va.Namespace, va.Name, c.Type, c.Status, c.Reason)
		}
	}
	return b.String()
}

// compare judges decisions and conditions where no accelerators are shared.
func (base outcome) compare(c Case, got outcome) []Violation {
	if c.shares() {
		return nil
	}
	var out []Violation
	for n := range turns {
		if what := difference(base.decisions[n], got.decisions[n]); what != "" {
			out = append(out, Violation{Decisions, fmt.Sprintf("cycle %d: %s", n, what)})
			break
		}
	}
	if base.conditions != got.conditions {
		out = append(out, Violation{Decisions, "conditions: " + differentLine(base.conditions, got.conditions)})
	}
	return out
}

// difference describes the first decision that differs, "" where none does.
func difference(want, got []scaling.Decision) string {
	for i := range want {
		if i >= len(got) {
			return fmt.Sprintf("there is no decision on %s", want[i].Variant)
		}
		if a, b := fmt.Sprintf("%+v", want[i]), fmt.Sprintf("%+v", got[i]); a != b {
			return fmt.Sprintf("without the hostile namespace %s\nwith it %s", a, b)
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("there is a decision on %s", got[len(want)].Variant)
	}
	return ""
}

// differentLine describes the first line that differs.
func differentLine(want, got string) string {
	lines := strings.Split(got, "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(lines) || line != lines[i] {
			return fmt.Sprintf("without the hostile namespace %q, with it %q", line, lines[min(i, len(lines)-1)])
		}
	}
	return "there are more lines"
}

// held returns how many replicas hold accelerators after a decision: removed replicas hold theirs
// until they are gone, and only then another replica gets them.
func held(d scaling.Decision) int { return int(max(d.Target(), d.Current)) }

// wanted returns how many replicas a decision wants for the load. No target follows while a case
// runs: an order withdrawn for that reason is replaced by one on another variant, and both together
// are more than the model needs.
func wanted(d scaling.Decision) int {
	if slices.ContainsFunc(d.Steps, func(s scaling.Step) bool { return s.Reason == scaling.ReasonTargetNotMoving }) {
		return int(d.Current)
	}
	return held(d)
}

// contest judges how honest models fare where accelerators are shared.
func (base outcome) contest(c Case, got outcome) []Violation {
	if !c.shares() {
		return nil
	}
	for n := range turns {
		wants, gets, total, alone := map[string]int{}, map[string]int{}, 0, 0
		is := map[scaling.VariantKey]scaling.Decision{}
		for _, d := range got.decisions[n] {
			is[d.Variant] = d
		}
		lost, short, last := scaling.Replicas(0), scaling.Replicas(0), ""
		for _, d := range base.decisions[n] {
			with, ok := is[d.Variant]
			if least := min(d.Target(), d.Current); !ok || with.Target() < least {
				lost += least - with.Target()
				last = fmt.Sprintf("%s has %d and loses replicas to another namespace: %+v, without it %+v", d.Variant, d.Current, with, d)
			}
			short += max(0, d.Target()-max(with.Target(), with.Current))
			want, has := wanted(d), held(with)
			wants[d.Variant.Namespace] += want
			gets[d.Variant.Namespace] += has
			alone, total = alone+want, total+has
		}
		if lost > short { // else equals gave up what they do not need for the honest models that are short
			return []Violation{{Share, fmt.Sprintf("cycle %d: %d replicas are lost, and honest models are short of %d: %s", n, lost, short, last)}}
		}
		if n < turns-1 {
			continue // replicas without a pod reserve for a minute
		}
		for namespace, want := range wants {
			if due := min(want, honestQuota); c.Stock == StockQuota && gets[namespace] < due {
				return []Violation{{Share, fmt.Sprintf("cycle %d: namespace %s gets %d replicas, want %d of its quota of %d; without the hostile namespace %d", n, namespace, gets[namespace], due, honestQuota, want)}}
			}
		}
		if due := min(alone, 8*nodesOf(c)-got.requested); c.Stock == StockRank && total < due {
			return []Violation{{Share, fmt.Sprintf("cycle %d: models of priority 1 get %d replicas, want %d: %d accelerators less the %d that pods of the hostile namespace request; without it %d", n, total, due, 8*nodesOf(c), got.requested, alone)}}
		}
	}
	return nil
}

// hygiene judges the rules that need no comparison.
func hygiene(got outcome) []Violation {
	var out []Violation
	if len(got.refused) > 0 {
		out = append(out, Violation{Whole, fmt.Sprintf("%.2000s (%d in all)", got.refused[0], len(got.refused))})
	}
	// Each finding on a ConfigMap is one event, and one more counts the others. The budget of an
	// hour refills by less than a tenth while a case runs.
	limits := budget.DefaultLimits()
	if most := min(limits.Findings+1+got.variants*eventsOfVariant, limits.Events*11/10); got.events > most || got.notes > mostNote*max(1, got.events) {
		out = append(out, Violation{Events, fmt.Sprintf("%d events of %d bytes in all: want at most %d of %d bytes each", got.events, got.notes, most, mostNote)})
	}
	if got.waited > mostWaited {
		out = append(out, Violation{Time, fmt.Sprintf("a cycle waited for %s: want at most %s", got.waited, mostWaited)})
	}
	return out
}
