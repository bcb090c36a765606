package scaling

import (
	"fmt"
	"time"
)

// Life says whether a model has anything to do. The zero value is not known,
// which is never the same as idle.
type Life string

// The lives.
const (
	LifeUnknown Life = ""
	LifeIdle    Life = "idle"   // nothing runs, waits, is queued or has arrived, and all of that is known
	LifeActive  Life = "active" // a request was seen in some form
)

// Recent is what is known of the time before a Snapshot: of the fetches before it,
// and of what the source of metrics told of the time before those. Its zero value
// tells nothing.
type Recent struct {
	// Requests counts those that began, ended or received a token between Since and
	// Until.
	Requests Reading `json:"requests"`
	// Since is from when on there are samples of every replica without a gap that
	// could hide a request.
	Since time.Time `json:"since,omitzero"`
	// Until is the last scrape that this is known of. Zero stands for those that the
	// Snapshot was made from.
	Until time.Time `json:"until,omitzero"`
}

// Activity is what is remembered of the life of a model. The zero value
// remembers nothing.
//
// The model is known to be idle from IdleSince to Until. What keeps it so are
// looks that overlap: each tells of the Snapshot's window before it, so a look
// that failed does no harm as long as the next one reaches back to the one before.
// Over a longer gap the quiet begins anew, unless Load.Recent overlaps both.
type Activity struct {
	At     time.Time `json:"at,omitzero"`    // of the last look
	Life   Life      `json:"life,omitempty"` // at the last look
	Detail string    `json:"detail,omitempty"`
	// Seen is when a request was last seen in any form, zero if never.
	Seen time.Time `json:"seen,omitzero"`
	// ReadySince is from when on requests could be served: a replica was Ready for
	// the first time since the model last had none. Zero before.
	ReadySince time.Time `json:"readySince,omitzero"`
	// IdleSince and Until bound the time without requests; both are zero while there is none.
	IdleSince time.Time `json:"quietSince,omitzero"`
	Until     time.Time `json:"until,omitzero"`
}

// Activity returns what is remembered of the model that the variants serve: the
// latest of what is kept with each.
func (h History) Activity(variants []Variant) Activity {
	var latest Activity
	for _, v := range ByKey(variants) {
		if a := h[v.Key].Activity; a.At.After(latest.At) {
			latest = a
		}
	}
	return latest
}

// IdleFor returns for how long the model is known to have been without a request,
// 0 unless the last look found it idle.
func (a Activity) IdleFor() time.Duration {
	if a.Life != LifeIdle || a.IdleSince.IsZero() {
		return 0
	}
	return max(0, a.Until.Sub(a.IdleSince))
}

// What a source is asked for beyond what is remembered.
const (
	// recallMargin is by how much more than it takes is asked for: the scrapes that a
	// look is made from are older than the look, and an answer may be a kept one.
	recallMargin = 2 * time.Minute
	// recallLongest is the most that is asked for: it takes a store as long as the
	// span. A longer quiet is remembered while it lasts.
	recallLongest = 24 * time.Hour
	// recalled is how long a quiet lasts of which it is known how it began: looks
	// alone do not come to that before a source had the time to answer.
	recalled = 5 * time.Minute
)

// Recall returns how far back before now a source should be asked for Load.Recent,
// given the retention period: the whole of it where it is not known how the quiet
// began, else what the next look may not reach back to. It is 0 where the answer
// changes nothing: a request was seen since.
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

// Then returns a after a look at the model. Time does not go back: s is of the
// look's time or later.
func (a Activity) Then(s Snapshot) Activity {
	a.At = s.At
	a.Life, a.Detail = s.life()
	switch {
	case atZero(s.Variants):
		a.ReadySince, a.IdleSince, a.Until = time.Time{}, time.Time{}, time.Time{}
	case a.ReadySince.IsZero():
		a.ReadySince = readySince(s)
	}
	if a.Life == LifeActive {
		a.Seen, a.IdleSince, a.Until = s.At, time.Time{}, time.Time{}
	}
	if a.Life == LifeIdle && !a.ReadySince.IsZero() {
		look := s.covered()
		quiet := look.joined(s.Load.Recent.idle(look), interval{a.IdleSince, a.Until})
		a.IdleSince, a.Until = latest(quiet.from, a.Seen, a.ReadySince), look.until
	}
	return a
}

// With returns a with what became known of the time before the last look: where
// that found the model idle, the quiet begins as much earlier.
func (a Activity) With(r Recent) Activity {
	if a.Life == LifeIdle && !a.IdleSince.IsZero() {
		known := interval{a.IdleSince, a.Until}
		a.IdleSince = latest(known.joined(r.idle(known)).from, a.Seen, a.ReadySince)
	}
	return a
}

// interval is a time that something is known of.
type interval struct{ from, until time.Time }

// joined returns i from the beginning of what reaches to it without a gap.
func (i interval) joined(known ...interval) interval {
	for range known { // each may reach to it through the others
		for _, k := range known {
			if !k.from.IsZero() && k.from.Before(i.from) && !k.until.Before(i.from) {
				i.from = k.from
			}
		}
	}
	return i
}

// quiet returns the time that r knows to be without a request, beside a look.
func (r Recent) idle(look interval) interval {
	if r.Requests.State != Fresh || r.Requests.Value != 0 {
		return interval{}
	}
	if r.Until.IsZero() {
		r.Until = look.until
	}
	return interval{r.Since, r.Until}
}

// life says whether the snapshot shows a request, and how, or else what keeps it
// from showing that there is none.
func (s Snapshot) life() (Life, string) {
	if sign := s.sign(); sign != "" {
		return LifeActive, sign
	}
	if gap := s.gap(); gap != "" {
		return LifeUnknown, gap
	}
	if s.Load.GatewayQueue.State == NotApplicable {
		return LifeIdle, "nothing runs, waits or arrives (no gateway with flow control is seen: without a replica no request would be noticed)"
	}
	return LifeIdle, "nothing runs, waits or arrives"
}

// sign returns a sign of life, "" if there is none. One that is Aging counts: it
// was seen lately.
func (s Snapshot) sign() string {
	for _, r := range s.Sorted() {
		waiting := max(r.QueueLength.Or(0), r.QueueLengthNow.Or(0))
		if running := r.Running.Or(0); running > 0 || waiting > 0 {
			return fmt.Sprintf("%s: %s requests run, %s wait", r.Pod, short(running), short(waiting))
		}
	}
	for _, flow := range []struct {
		reading Reading
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

// gap returns why a snapshot without a sign of life does not show that there is
// none, "" if it does.
func (s Snapshot) gap() string {
	if s.Fault != "" {
		return "no metrics: " + s.Fault
	}
	telling := map[VariantKey]int{}
	for _, r := range s.Sorted() {
		switch {
		case r.Stuck != "":
			return fmt.Sprintf("%s is %s: it holds %s requests and nothing moves", r.Pod, r.Stuck, short(r.Held))
		case r.Running.State == Fresh && r.Waiting().State == Fresh:
			telling[r.Variant]++
		case r.Ready:
			return fmt.Sprintf("%s does not say what it runs and what waits: %s, %s", r.Pod, r.Running, r.Waiting())
		}
	}
	for _, v := range ByKey(s.Variants) {
		// What never had a node holds no request.
		switch want := v.Replicas.Current - v.Replicas.Unschedulable; {
		case v.Gone:
			continue
		case !v.Replicas.Observed:
			return fmt.Sprintf("the replicas of %s are not known", v.Key.Name)
		case telling[v.Key] < want:
			return fmt.Sprintf("%s: %d of %d replicas say what they do", v.Key.Name, telling[v.Key], want)
		}
	}
	if s.Load.ArrivalRate.State != Fresh {
		return "the arrival rate is " + s.Load.ArrivalRate.State.String()
	}
	if q := s.Load.GatewayQueue.State; q != Fresh && q != NotApplicable {
		return "the gateway queue is " + q.String()
	}
	return ""
}

// windowScrapes is how many scrapes a window spans. What was counted before the
// first of them does not show in a rate, so of a window its first part is not told.
const windowScrapes = 4

// covered returns of which time the readings tell: of the window before the scrapes
// that they were made from, without the part before the first scrape in it, up to
// the oldest of them.
func (s Snapshot) covered() interval {
	var from time.Time
	until := s.At
	for _, r := range s.Replicas {
		if r.Running.State != Fresh || r.At.IsZero() {
			continue // not what the snapshot is judged by
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
func atZero(variants []Variant) bool {
	for _, v := range variants {
		if !v.Gone && (!v.Replicas.Observed || v.Replicas.Current > 0 || v.Replicas.Ready > 0) {
			return false
		}
	}
	return true
}

// readySince returns from when on a replica was Ready at the latest, zero if none
// is. Of several variants the first counts.
func readySince(s Snapshot) time.Time {
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
