package memory

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Activity remembers whether a model had requests, and when. The zero value remembers nothing.
//
// The model is known to be idle from IdleSince to Until. Each look covers the Snapshot's window
// before it, and overlapping looks extend the idle time. So a failed look does no harm if the next
// one reaches back to the last that succeeded. After a longer gap the idle time begins anew, unless
// Load.Recent overlaps both sides of the gap.
type Activity struct {
	At     time.Time    `json:"at,omitzero"`    // of the last look
	Life   scaling.Life `json:"life,omitempty"` // at the last look
	Detail string       `json:"detail,omitempty"`
	// Seen is when a request was last seen in any form, zero if never.
	Seen time.Time `json:"seen,omitzero"`
	// ReadySince is when the model could first serve requests: when its first replica became
	// Ready after it had none. Zero before that.
	ReadySince time.Time `json:"readySince,omitzero"`
	// IdleSince and Until bound the time without requests; both are zero while there is none.
	IdleSince time.Time `json:"quietSince,omitzero"`
	Until     time.Time `json:"until,omitzero"`
}

// IdleFor returns for how long the model is known to have been without a request,
// 0 unless the last look found it idle.
func (a Activity) IdleFor() time.Duration {
	if a.Life != scaling.LifeIdle || a.IdleSince.IsZero() {
		return 0
	}
	return max(0, a.Until.Sub(a.IdleSince))
}

// The span of the query for the time before the looks.
const (
	// recallMargin is added to the span: the scrapes of a look are older than the look, and an
	// answer may come from a cache.
	recallMargin = 2 * time.Minute
	// recallLongest limits the span, since the work of a store grows with it. While a longer idle
	// time lasts, Activity remembers it.
	recallLongest = 24 * time.Hour
	// recalled is the idle time above which its beginning counts as known: the source answers
	// before looks alone add up to it.
	recalled = 5 * time.Minute
)

// Recall returns the span before now to query a source for, to fill Load.Recent. While the
// beginning of the idle time is unknown, it is the retention period, else the time that the next
// look may not cover. It is 0 where the answer would change nothing, because a request was seen
// within the period.
func (a Activity) Recall(now time.Time, retention time.Duration) time.Duration {
	switch {
	case retention <= 0 || now.Sub(a.Seen) < retention:
		return 0
	case a.IdleFor() > min(retention, recalled):
		// To a minute, so that models that were looked at together have one span.
		return min(now.Sub(a.Until), recallLongest).Truncate(time.Minute) + recallMargin + time.Minute
	}
	return min(retention, recallLongest) + recallMargin
}

// Then returns a updated by a look at the model. s must not be older than the last look.
func (a Activity) Then(s scaling.Snapshot) Activity {
	a.At = s.At
	a.Life, a.Detail = lifeOf(s)
	switch {
	case atZero(s.Variants):
		a.ReadySince, a.IdleSince, a.Until = time.Time{}, time.Time{}, time.Time{}
	case a.ReadySince.IsZero():
		a.ReadySince = readySince(s)
	}
	if a.Life == scaling.LifeActive {
		a.Seen, a.IdleSince, a.Until = s.At, time.Time{}, time.Time{}
	}
	if a.Life == scaling.LifeIdle && !a.ReadySince.IsZero() {
		look := coveredBy(s)
		quiet := look.joined(idleTime(s.Load.Recent, look), interval{a.IdleSince, a.Until})
		a.IdleSince, a.Until = latest(quiet.from, a.Seen, a.ReadySince), look.until
	}
	return a
}

// With returns a with the idle time extended back by r, the answer of a source about the time
// before the last look. It changes a only if that look found the model idle.
func (a Activity) With(r scaling.Recent) Activity {
	if a.Life == scaling.LifeIdle && !a.IdleSince.IsZero() {
		known := interval{a.IdleSince, a.Until}
		a.IdleSince = latest(known.joined(idleTime(r, known)).from, a.Seen, a.ReadySince)
	}
	return a
}

// interval is a time for which the readings are known.
type interval struct{ from, until time.Time }

// joined returns i, extended back to the earliest interval of known that reaches it without a gap.
func (i interval) joined(known ...interval) interval {
	for range known { // each may reach i through the others
		for _, k := range known {
			if !k.from.IsZero() && k.from.Before(i.from) && !k.until.Before(i.from) {
				i.from = k.from
			}
		}
	}
	return i
}

// idleTime returns the time in which r shows no request. look is the interval of the Snapshot.
func idleTime(r scaling.Recent, look interval) interval {
	if r.Requests.State != scaling.Fresh || r.Requests.Value != 0 {
		return interval{}
	}
	if r.Until.IsZero() {
		r.Until = look.until
	}
	return interval{r.Since, r.Until}
}

// lifeOf returns whether the snapshot shows a request, and the reading that shows it or is missing.
func lifeOf(s scaling.Snapshot) (scaling.Life, string) {
	if sign := signOfRequest(s); sign != "" {
		return scaling.LifeActive, sign
	}
	if gap := missingReading(s); gap != "" {
		return scaling.LifeUnknown, gap
	}
	if s.Load.GatewayQueue.State == scaling.NotApplicable {
		return scaling.LifeIdle, "nothing runs, waits or arrives (no gateway with flow control is seen: without a replica no request would be noticed)"
	}
	return scaling.LifeIdle, "nothing runs, waits or arrives"
}

// signOfRequest returns a reading that shows a request, "" if there is none. An Aging reading counts.
func signOfRequest(s scaling.Snapshot) string {
	for _, r := range s.Sorted() {
		waiting := max(r.QueueLength.Or(0), r.QueueLengthNow.Or(0))
		if running := r.Running.Or(0); running > 0 || waiting > 0 {
			return fmt.Sprintf("%s: %s requests run, %s wait", r.Pod, short(running), short(waiting))
		}
	}
	for _, flow := range []struct {
		reading scaling.Reading
		what    string
	}{
		{s.Load.GatewayQueue, "requests wait at the gateway"},
		{s.Load.ArrivalRate, "requests/s arrive"},
		{s.Load.TTFT, "ms TTFT: prompts were answered"}, // a mean is of something
		{s.Load.ITL, "ms ITL: tokens were produced"},
	} {
		if v := flow.reading.Or(0); v > 0 {
			return short(v) + " " + flow.what
		}
	}
	return ""
}

// short writes a number in three digits, and in whole numbers from 100 on.
func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// missingReading returns the missing reading without which a model with no sign of life is not known to be
// idle; "" if none is missing.
func missingReading(s scaling.Snapshot) string {
	if s.Fault != "" {
		return "no metrics: " + s.Fault
	}
	telling := map[scaling.VariantKey]scaling.Replicas{}
	for _, r := range s.Sorted() {
		switch {
		case r.Stuck != "":
			return fmt.Sprintf("%s is %s: it holds %s requests and nothing moves", r.Pod, r.Stuck, short(r.Held))
		case r.Running.State == scaling.Fresh && r.Waiting().State == scaling.Fresh:
			telling[r.Variant]++
		case r.Ready:
			return fmt.Sprintf("%s does not say what it runs and what waits: %s, %s", r.Pod, r.Running, r.Waiting())
		}
	}
	for _, v := range scaling.ByKey(s.Variants) {
		// A pod that never had a node holds no request.
		switch want := v.Replicas.Current - v.Replicas.Unschedulable; {
		case v.Gone:
			continue
		case !v.Replicas.Observed:
			return fmt.Sprintf("the replicas of %s are not known", v.Key.Name)
		case telling[v.Key] < want:
			return fmt.Sprintf("%s: %d of %d replicas say what they do", v.Key.Name, telling[v.Key], want)
		}
	}
	if s.Load.ArrivalRate.State != scaling.Fresh {
		return "the arrival rate is " + s.Load.ArrivalRate.State.String()
	}
	if q := s.Load.GatewayQueue.State; q != scaling.Fresh && q != scaling.NotApplicable {
		return "the gateway queue is " + q.String()
	}
	return ""
}

// windowScrapes is the number of scrapes in a window. A rate does not contain requests from before
// the first scrape in its window, so the first part of a window is not covered.
const windowScrapes = 4

// coveredBy returns the time that the readings cover: from the first scrape in the window to the
// oldest of the last scrapes.
func coveredBy(s scaling.Snapshot) interval {
	var from time.Time
	until := s.At
	for _, r := range s.Replicas {
		if r.Running.State != scaling.Fresh || r.At.IsZero() {
			continue // its readings do not count
		}
		from = latest(from, r.At)
		if r.At.Before(until) {
			until = r.At
		}
	}
	if from.IsZero() {
		from = s.At
	}
	return interval{from.Add(-s.Window + s.Window/windowScrapes), until}
}

// atZero reports whether every variant is known to have no replica.
func atZero(variants []scaling.Variant) bool {
	for _, v := range variants {
		if !v.Gone && (!v.Replicas.Observed || v.Replicas.Current > 0 || v.Replicas.Ready > 0) {
			return false
		}
	}
	return true
}

// readySince returns the earliest time, over the variants, at which the newest Ready replica became
// Ready, zero if none is Ready.
func readySince(s scaling.Snapshot) time.Time {
	var since time.Time
	for _, v := range s.Variants {
		if !v.Replicas.Observed || v.Replicas.Ready == 0 {
			continue
		}
		ready := v.Replicas.NewestReady
		if ready.IsZero() || ready.After(s.At) {
			ready = s.At
		}
		if since.IsZero() || ready.Before(since) {
			since = ready
		}
	}
	return since
}

// latest returns the last of the times.
func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
