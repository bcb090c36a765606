package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Allotted knows which objects are left out because they exceed the budget of their namespace.
type Allotted interface {
	// LeftOut returns the limit that an object exceeds, and false for one that is served.
	LeftOut(key scaling.VariantKey) (budget.What, bool)
}

// leftAtOnce is how many objects that are left out get their status in one cycle, for each
// namespace: one namespace with too many objects does not delay the status of others.
const leftAtOnce = 20

// order returns the objects whose status is reconciled after a cycle: first the served ones, then
// some of those that are left out and do not say so yet.
func (s *Status) order(keys []client.ObjectKey) []client.ObjectKey {
	served := make([]client.ObjectKey, 0, len(keys))
	var left []client.ObjectKey
	told := map[string]int{}
	for _, key := range keys {
		of := scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}
		w, out := s.allotted.LeftOut(of)
		switch {
		case !out:
			s.left.begins(of, "")
			served = append(served, key)
		case told[key.Namespace] < leftAtOnce && s.left.begins(of, w):
			told[key.Namespace]++
			left = append(left, key)
		}
	}
	return append(served, left...)
}

// tellOver reports, when it begins, that metrics pages of a namespace are left out, by an event of
// one object of the namespace. The status of an object says when the object itself is left out, and
// events of a ConfigMap report its findings.
func (s *Status) tellOver(ctx context.Context, keys []client.ObjectKey) {
	over := map[budget.Key]bool{}
	for _, key := range keys {
		for _, w := range []budget.What{budget.PageBytes, budget.Series} {
			k := budget.Key{Namespace: key.Namespace, Name: string(w)}
			if _, seen := over[k]; seen || !slices.Contains(s.over.Of(key.Namespace), w) {
				continue
			}
			over[k] = true
			if s.overTold[k] {
				continue
			}
			va, err := s.objects.Variant(ctx, key)
			if err != nil {
				delete(over, k) // another object, or the next cycle
				continue
			}
			s.events.Eventf(va, nil, corev1.EventTypeWarning, eventBudgetExceeded, string(w), "%s", explain.PagesLeftOut(w, s.budget.Of(w)))
		}
	}
	s.overTold = over
}

// Budgeted returns a recorder that sends the events of each namespace within its budget, and notes
// in over how many are left out.
func Budgeted(next events.EventRecorder, clk clock.PassiveClock, limits budget.Limits, over *budget.LeftOut) events.EventRecorder {
	return &budgeted{next: next, clock: clk, perHour: limits.Of(budget.Events), over: over, by: map[string]budget.Allowance{}}
}

// budgeted is the recorder of Budgeted. It is safe for concurrent use if next is.
type budgeted struct {
	next    events.EventRecorder
	clock   clock.PassiveClock
	perHour int
	over    *budget.LeftOut

	mu sync.Mutex
	by map[string]budget.Allowance // of the namespaces that have used a part
}

// Eventf implements events.EventRecorder.
func (b *budgeted) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	namespace := ""
	if of, err := meta.Accessor(regarding); err == nil {
		namespace = of.GetNamespace()
	}
	switch sent, first := b.take(namespace); {
	case sent:
		b.next.Eventf(regarding, related, kind, reason, action, note, args...)
	case first:
		b.next.Eventf(regarding, related, corev1.EventTypeWarning, eventBudgetExceeded, string(budget.Events), "%s",
			explain.EventsLeftOut(b.perHour))
	}
}

// take counts an event of a namespace. It reports whether the event is sent, and whether it is the
// first one that is not.
func (b *budgeted) take(namespace string) (sent, first bool) {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	after, sent := b.by[namespace].Take(now, b.perHour)
	b.by[namespace] = after
	left := map[string]int{}
	for name, a := range b.by {
		switch {
		case a.Full(now, b.perHour):
			delete(b.by, name)
		case a.LeftOut() > 0:
			left[name] = a.LeftOut()
		}
	}
	b.over.Note(budget.Events, left)
	return sent, !sent && after.LeftOut() == 1
}

// leftOutOf returns why an object is left out and which limit it exceeds, "" for one that is
// served.
func (s *Status) leftOutOf(key scaling.VariantKey) (why, of string) {
	if w, out := s.allotted.LeftOut(key); out {
		return sentence(s.budget.Left(w)), string(w)
	}
	return "", ""
}

// sentence begins text with a capital letter.
func sentence(text string) string { return fmt.Sprint(strings.ToUpper(text[:1]), text[1:]) }
