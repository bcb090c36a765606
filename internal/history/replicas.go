package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// never is the time of an event that has not happened, or is unknown.
const never = math.MinInt32

// moment is a time in tenths of a second since the base of a History; negative before it.
type moment int32

// replica is one replica over time.
type replica struct {
	variant                            scaling.VariantKey
	model                              scaling.ModelKey
	pod                                string
	ordered, created, scheduled        moment
	started, ready, terminating, ended moment
	since                              moment   // first cycle, of a replica that was Ready then since an unknown time
	seen                               instant  // the last cycle with it
	flips                              []moment // when it stopped being Ready and was Ready again, in turn
	by                                 *change  // the decision that ordered it, nil for unknown
}

// replicaBytes is about the size of a replica without the name of its pod.
const replicaBytes = 280

const (
	// mostFlips is how many times that a replica stops being Ready, or is Ready again, are
	// remembered.
	mostFlips = 16
	// mostLive is how many live pods are remembered.
	mostLive = 20_000
	// mostOrders is how many orders of a variant without a pod are remembered.
	mostOrders = 16
	// before is how much earlier than its order a pod may be created: times of pods are whole
	// seconds.
	before = 2 * moment(second)
)

// order is a decision for more replicas that do not all have pods yet.
type order struct {
	at   instant
	by   *change
	left scaling.Replicas
}

// order adds an order for more replicas, or takes orders back for fewer.
func (v *variantSeries) order(at instant, c change) {
	n := c.to - c.from
	for n < 0 && len(v.orders) > 0 { // take the newest orders back first
		last := &v.orders[len(v.orders)-1]
		taken := min(-n, last.left)
		last.left -= taken
		n += taken
		if last.left == 0 {
			v.orders = v.orders[:len(v.orders)-1]
		}
	}
	if n > 0 {
		if len(v.orders) == mostOrders {
			v.orders = slices.Delete(v.orders, 0, 1)
		}
		v.orders = append(v.orders, order{at, &c, n})
	}
}

// take returns the order for which a pod was created at created, and counts one replica of it as
// made; false where no order is open.
func (v *variantSeries) take(created moment) (order, bool) {
	if len(v.orders) == 0 || created < moment(v.orders[0].at)-before {
		return order{}, false
	}
	out := v.orders[0]
	if v.orders[0].left--; v.orders[0].left == 0 {
		v.orders = slices.Delete(v.orders, 0, 1)
	}
	return out, true
}

// pods updates the replicas with the pods of a cycle: all live ones, or the samples of the
// snapshots. It skips pods that are the same as before, if none terminates.
func (h *History) pods(c Cycle, before []scaling.Pod, at instant) {
	if c.Pods != nil && len(h.living) == len(c.Pods) && slices.Equal(c.Pods, before) {
		return
	}
	ending := map[scaling.PodName]bool{}
	for _, name := range c.Ending {
		ending[name] = true
	}
	if c.Pods != nil {
		for i := range c.Pods {
			h.live(&c.Pods[i], at)
		}
	} else {
		for i := range c.Snapshots {
			for j := range c.Snapshots[i].Replicas {
				s := &c.Snapshots[i].Replicas[j]
				h.live(&scaling.Pod{Namespace: s.Variant.Namespace, Name: s.Pod, Variant: s.Variant, Ready: s.Ready}, at)
			}
		}
	}
	for name, r := range h.living {
		if r.seen == at {
			continue
		}
		if r.terminating == never {
			r.terminating = moment(at)
		}
		if ending[name] {
			if v := h.table.variants[r.variant]; v != nil {
				v.ending++
			}
			continue
		}
		if c.Pods != nil {
			r.ended = moment(at)
		}
		delete(h.living, name)
		h.ended.add(r.variant.Namespace, at, replicaBytes+len(r.pod), *r)
	}
}

// live updates the replica of a live pod.
func (h *History) live(p *scaling.Pod, at instant) {
	name := scaling.PodName{Namespace: p.Namespace, Name: p.Name}
	r := h.living[name]
	if r == nil {
		if len(h.living) >= mostLive {
			return
		}
		r = h.begun(p, at)
		h.living[name] = r
	}
	r.seen = at
	if r.scheduled == never {
		r.scheduled = h.moment(p.Scheduled)
	}
	if r.started == never {
		r.started = h.moment(p.Started)
	}
	wasReady := r.ready != never || r.since != never
	switch {
	case p.Ready == (wasReady && len(r.flips)%2 == 0):
	case !wasReady:
		if r.ready = h.moment(p.ReadyAt); r.ready == never {
			r.ready = moment(at)
		}
	case len(r.flips) < mostFlips:
		r.flips = append(r.flips, moment(at))
	}
}

// begun returns a replica for a pod that is seen for the first time, with its order.
func (h *History) begun(p *scaling.Pod, at instant) *replica {
	r := &replica{
		variant: p.Variant, pod: p.Name, ordered: never, created: h.moment(p.Created), scheduled: never, started: never, ready: never,
		terminating: never, ended: never, since: never,
	}
	switch {
	case r.created != never:
	case h.revision > 1:
		r.created = moment(at) // when it was first seen
	case p.Ready && p.ReadyAt.IsZero():
		r.since = moment(at)
	}
	if v := h.table.variants[p.Variant]; v != nil {
		r.model = v.model
		if o, ok := v.take(r.created); ok {
			r.ordered, r.by = moment(o.at), o.by
		}
	}
	return r
}

// Replicas returns the replicas of a model between two times, the newest mostShown of them; false
// where the model is not known. The zero time means the beginning of the history, or its end.
func (h *History) Replicas(key scaling.ModelKey, from, to time.Time) (Replicas, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	m := h.table.models[key]
	if m == nil {
		return Replicas{}, false
	}
	begin, end := h.between(from, to)
	first, last := moment(begin), moment(end)
	out := Replicas{From: h.time(begin), To: h.time(end), Complete: begin >= h.ended.lostUntil(key.Namespace) && begin >= h.begins}
	var found []replica
	for _, r := range h.ended.of(key.Namespace) {
		if r.model == key && r.end() >= first && r.begin() <= last {
			found = append(found, *r)
		}
	}
	for _, r := range h.living {
		if r.model == key && r.begin() <= last {
			found = append(found, *r)
		}
	}
	for _, v := range h.table.of(key) {
		for _, o := range v.orders {
			for range min(o.left, mostShown) {
				found = append(found, replica{
					variant: v.key, model: key, ordered: moment(o.at), by: o.by, created: never, scheduled: never, started: never,
					ready: never, terminating: never, ended: never, since: never,
				})
			}
		}
	}
	slices.SortFunc(found, func(a, b replica) int {
		return cmp.Or(cmp.Compare(a.begin(), b.begin()), a.variant.Compare(b.variant), strings.Compare(a.pod, b.pod))
	})
	if more := len(found) - mostShown; more > 0 {
		found, out.Complete = found[more:], false
	}
	out.Replicas = make([]Replica, 0, len(found))
	for _, r := range found {
		out.Replicas = append(out.Replicas, h.shown(r, last))
	}
	return out, true
}

// mostShown is the largest number of replicas of an answer.
const mostShown = 1000

// begin returns the first known time of a replica.
func (r replica) begin() moment {
	for _, at := range []moment{r.ordered, r.created, r.scheduled, r.started, r.ready, r.since} {
		if at != never {
			return at
		}
	}
	return never
}

// end returns when the replica ended, or else when it began to terminate.
func (r replica) end() moment {
	if r.ended != never {
		return r.ended
	}
	return r.terminating
}

// shown returns a replica in its JSON type, as of last.
func (h *History) shown(r replica, last moment) Replica {
	out := Replica{
		Variant: VariantName{r.variant.Namespace, r.variant.Name}, Pod: r.pod, Ordered: h.when(r.ordered), Created: h.when(r.created),
		Scheduled: h.when(r.scheduled), Started: h.when(r.started), Ready: h.when(r.ready), Terminating: h.when(r.terminating),
		Ended: h.when(r.ended), Phases: h.phases(r, last), Says: r.says(),
	}
	if r.by != nil {
		out.Decision = &OrderedBy{Cycle: r.by.cycle, Sentence: r.by.sentence}
	}
	return out
}

// phases returns the phases of a replica up to last.
func (h *History) phases(r replica, last moment) []Phase {
	type edge struct {
		at    moment
		phase string
	}
	waits := "starting"
	if r.scheduled == never && r.created != never && r.ready == never && r.started == never {
		waits = "unscheduled"
		if !h.timed {
			waits = "starting" // a record does not say whether a node has taken the pod
		}
	}
	edges := []edge{{r.ordered, "ordered"}, {r.created, waits}, {r.ready, "serving"}, {r.since, "serving"}, {r.terminating, "draining"}}
	if r.scheduled != never && r.created != never {
		edges[1].phase = "unscheduled"
		edges = append(edges, edge{r.scheduled, "starting"})
	}
	for i, at := range r.flips {
		edges = append(edges, edge{at, []string{"notready", "serving"}[i%2]})
	}
	edges = slices.DeleteFunc(edges, func(e edge) bool { return e.at == never })
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	end := last
	if r.ended != never {
		end = r.ended
	} else if r.terminating != never && h.living[scaling.PodName{Namespace: r.variant.Namespace, Name: r.pod}] == nil {
		end = r.terminating // the end is unknown
	}
	out := make([]Phase, 0, len(edges))
	for i, e := range edges {
		to := end
		if i+1 < len(edges) {
			to = min(end, edges[i+1].at)
		}
		if to > e.at {
			out = append(out, Phase{h.when(e.at), h.when(to), e.phase})
		}
	}
	return out
}

// says returns a sentence about how long a replica took to become Ready, and the parts of that
// time.
func (r replica) says() string {
	who := "pod " + r.pod
	switch {
	case r.pod == "":
		return "Ordered; no pod of it is seen yet"
	case r.since != never:
		return who + " was Ready before the history begins"
	case r.ready == never && r.terminating != never:
		return who + " was never Ready"
	case r.ready == never && r.scheduled == never:
		return who + " is not Ready yet"
	case r.ready == never:
		return who + " has a node and is not Ready yet"
	}
	text := who + " became Ready" + r.took()
	if r.terminating != never {
		text += "; it served for " + spanned(r.ready, r.terminating)
	}
	return text
}

// took returns how long a replica took that became Ready, "" where that is unknown.
func (r replica) took() string {
	if r.ordered == never && r.created == never {
		return ""
	}
	text := " " + spanned(r.created, r.ready) + " after it was created"
	var went []string
	if r.ordered != never {
		text = " " + spanned(r.ordered, r.ready) + " after it was ordered"
		if r.created > r.ordered {
			went = append(went, spanned(r.ordered, r.created)+" until its pod was created")
		}
	}
	if r.scheduled != never && r.created != never {
		went = append(went, spanned(r.created, r.scheduled)+" without a node", spanned(r.scheduled, r.ready)+" starting")
	}
	if len(went) == 0 {
		return text
	}
	return text + ": " + strings.Join(went, ", ")
}

// spanned returns the time between two moments as text.
func spanned(from, to moment) string {
	return (time.Duration(to-from) * 100 * time.Millisecond).Round(time.Second).String()
}
