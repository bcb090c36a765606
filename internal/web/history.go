package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The paths of History.
const (
	FleetPath    = "/debug/fleet"
	HistoryPath  = "/debug/history"
	ReplicasPath = "/debug/replicas"
)

// Histories returns earlier states of a fleet; *history.History implements it.
type Histories interface {
	Fleet(may func(namespace string) bool) history.Fleet
	Model(key scaling.ModelKey, from, to time.Time, points int) (history.ModelHistory, bool)
	Replicas(key scaling.ModelKey, from, to time.Time) (history.Replicas, bool)
	Decision(of scaling.VariantKey, id scaling.CycleID) (history.Change, bool)
	Kept(of scaling.VariantKey, id scaling.CycleID) (record.Cycle, bool)
	Span() (from, to time.Time)
}

var _ Histories = (*history.History)(nil)

// History returns a handler for earlier states of a fleet, for callers who may read its decisions;
// nil readers allow every caller:
//
//	GET /debug/fleet and /debug/fleet/{namespace}                history.Fleet
//	GET /debug/history/{namespace}?model=&from=&to=&points=      history.ModelHistory
//	GET /debug/history/{namespace}/{name}/cycle?cycle=           record.Cycle: the inputs of a decision
//	GET /debug/replicas/{namespace}?model=&from=&to=             history.Replicas
//
// from and to are seconds since 1970; without them the answer begins or ends with the history. A
// process without a decision, because it has just started or does not lead, answers 503. One answer
// is made at a time.
func History(of Histories, readers Readers) http.Handler {
	s := histories{of: of, readers: readers, turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+FleetPath, s.fleet)
	mux.HandleFunc("GET "+FleetPath+"/{namespace}", s.fleet)
	mux.HandleFunc("GET "+HistoryPath+"/{namespace}", s.model)
	mux.HandleFunc("GET "+HistoryPath+"/{namespace}/{name}/cycle", s.cycle)
	mux.HandleFunc("GET "+ReplicasPath+"/{namespace}", s.replicas)
	return mux
}

type histories struct {
	of      Histories
	readers Readers
	turn    chan struct{}
}

// allowed reports whether the caller may read a namespace and the process has decided. Where it
// returns false it has answered.
func (s histories) allowed(w http.ResponseWriter, r *http.Request, namespace string) bool {
	if status, message := mayRead(s.readers, r, namespace); status != 0 {
		fail(w, status, message)
		return false
	}
	if from, _ := s.of.Span(); from.IsZero() {
		fail(w, http.StatusServiceUnavailable, "no cycle has run yet in this process")
		return false
	}
	return true
}

// alone answers with the result of of, or with missing where of returns false, while no other
// answer is made.
func (s histories) alone(w http.ResponseWriter, of func() (any, bool), missing string) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	v, ok := of()
	if !ok {
		fail(w, http.StatusNotFound, missing)
		return
	}
	answer(w, http.StatusOK, v)
}

func (s histories) fleet(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	if !s.allowed(w, r, namespace) {
		return
	}
	s.alone(w, func() (any, bool) {
		return s.of.Fleet(func(n string) bool { return namespace == "" || n == namespace }), true
	}, "")
}

func (s histories) model(w http.ResponseWriter, r *http.Request) {
	key, from, to, ok := s.asked(w, r)
	if !ok {
		return
	}
	points := 0
	if text := r.FormValue("points"); text != "" {
		var err error
		if points, err = strconv.Atoi(text); err != nil || points < 1 || points > history.MostPoints {
			fail(w, http.StatusBadRequest, fmt.Sprintf("points is %.40q: want a number from 1 to %d", text, history.MostPoints))
			return
		}
	}
	s.alone(w, func() (any, bool) { return s.of.Model(key, from, to, points) }, unknownModel(key))
}

func (s histories) replicas(w http.ResponseWriter, r *http.Request) {
	key, from, to, ok := s.asked(w, r)
	if !ok {
		return
	}
	s.alone(w, func() (any, bool) { return s.of.Replicas(key, from, to) }, unknownModel(key))
}

func unknownModel(key scaling.ModelKey) string {
	return fmt.Sprintf("the history has no model %.200q in namespace %s", key.ID, key.Namespace)
}

// asked returns the model and the times of a request. It returns false after answering where they
// are missing or wrong, or the caller may not read them.
func (s histories) asked(w http.ResponseWriter, r *http.Request) (key scaling.ModelKey, from, to time.Time, ok bool) {
	key = scaling.ModelKey{Namespace: r.PathValue("namespace"), ID: r.FormValue("model")}
	if !s.allowed(w, r, key.Namespace) {
		return key, from, to, false
	}
	if key.ID == "" {
		fail(w, http.StatusBadRequest, "model is missing: want the ID of a model, as in ?model=ID")
		return key, from, to, false
	}
	from, err := instant(r, "from")
	to, other := instant(r, "to")
	if err = cmp.Or(err, other); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return key, from, to, false
	}
	return key, from, to, true
}

// latest is the largest accepted time: the end of the year 9999.
const latest = 253402300799

// instant returns a time parameter of a request, the zero time where it is absent.
func instant(r *http.Request, name string) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= latest) {
		return time.Time{}, fmt.Errorf("%s is %.40q: want seconds since 1970", name, text)
	}
	return time.UnixMilli(int64(1000 * seconds)), nil
}

// cycle serves the inputs of an earlier decision for a variant, as Cycle does for the last one.
func (s histories) cycle(w http.ResponseWriter, r *http.Request) {
	key := scaling.VariantKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if !s.allowed(w, r, key.Namespace) {
		return
	}
	id := scaling.CycleID(r.FormValue("cycle"))
	if id == "" {
		fail(w, http.StatusBadRequest, "cycle is missing: want the ID of a cycle, as in ?cycle=ID")
		return
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if _, ok := s.of.Decision(key, id); !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("the history has no decision of cycle %.40q that changed the replicas of %s", id, key))
		return
	}
	c, ok := s.of.Kept(key, id)
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("the record of cycle %.40q is not kept any more: newer ones took its place", id))
		return
	}
	setup, from := cycle.FromRecord(c)
	model, ok := modelOf(cycle.Decided{Setup: setup, Case: from}, key)
	if !ok {
		fail(w, http.StatusNotFound, fmt.Sprintf("the record of cycle %.40q has no variant %s", id, key))
		return
	}
	all, ok := mayReadRecord(w, r, s.readers, setup, key, model)
	if !ok {
		return
	}
	if !all {
		c.Inventory = scaling.Inventory{}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(c.Append(nil)) //nolint:gosec // it is JSON and said to be; the client may have gone
}
