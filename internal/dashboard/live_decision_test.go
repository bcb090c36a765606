package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// keeper is a manager that keeps cycles: the last, which may be read or not, and some that changed a number.
type keeper struct {
	last    record.Cycle
	kept    map[scaling.CycleID]record.Cycle
	changes []history.Change
	refuses string // a part of the paths that it answers with 403, "" for none
}

func (k *keeper) Name() string { return "keeper" }
func (k *keeper) Close()       {}

func (k *keeper) Get(_ context.Context, path string, into any) error {
	at, err := url.Parse(path)
	if err != nil {
		return err
	}
	v := k.last.Snapshots[0].Variants[0]
	switch {
	case k.refuses != "" && strings.Contains(path, k.refuses):
		return statusError(http.StatusForbidden)
	case at.Path == fleetPath:
		return again(history.Fleet{Cycle: k.last.Cycle, At: history.At(k.last.Now), Interval: 60}, into)
	case at.Path == decisionsPath+"/"+v.Key.String():
		return again(replay.Explanation(k.last, replay.Decide(k.last), k.last.Snapshots[0], v), into)
	case at.Path == decisionsPath+"/"+v.Key.String()+"/cycle":
		*into.(*json.RawMessage) = k.last.Append(nil)
		return nil
	case at.Path == historyPath+"/"+v.Key.String()+"/cycle":
		c, ok := k.kept[scaling.CycleID(at.Query().Get("cycle"))]
		if !ok {
			return statusError(http.StatusNotFound)
		}
		*into.(*json.RawMessage) = c.Append(nil)
		return nil
	case at.Path == historyPath+"/"+v.Key.Namespace:
		m := history.ModelHistory{Decisions: k.changes}
		for _, one := range k.last.Snapshots[0].Variants {
			m.Model.Variants = append(m.Model.Variants, history.Variant{Namespace: one.Key.Namespace, Name: one.Key.Name})
		}
		return again(m, into)
	}
	return statusError(http.StatusNotFound)
}

// keeping is a manager with five cycles: 1 and 2 changed a number and 2 is kept, 5 is the last.
func keeping(t *testing.T) (*keeper, scaling.VariantKey) {
	t.Helper()
	cycles := series(sample(t, "growing"), 5)
	key := cycles[0].Snapshots[0].Variants[0].Key
	k := &keeper{last: cycles[4], kept: map[scaling.CycleID]record.Cycle{"p-2": cycles[1]}}
	for i := range 2 {
		k.changes = append(k.changes, history.Change{
			T: history.At(cycles[i].Now), Cycle: cycles[i].Cycle, Namespace: key.Namespace, Name: key.Name, From: i, To: i + 1,
			Sentence: fmt.Sprintf("change %d", i+1), Kept: i == 1,
		})
	}
	return k, key
}

// on runs a Live on a manager within a bubble, and calls do.
func on(t *testing.T, m Manager, do func(t *testing.T, l *Live)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := NewLive(LiveOptions{Reach: func(context.Context) (Manager, error) { return m, nil }})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		synctest.Wait()
		do(t, l)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTheDecisionOfALiveCycle(t *testing.T) {
	k, key := keeping(t)
	for _, tt := range []struct {
		name    string
		id      scaling.CycleID
		refuses string

		kept, explained bool
		change, whyNot  string
		status          int // of the error, 0 for none
	}{
		{name: "the last", id: "", kept: true, explained: true},
		{name: "the last by its name", id: "p-5", kept: true, explained: true},
		{name: "the last, whose input others may read", id: "p-5", refuses: "/cycle", explained: true, whyNot: "asking the manager: 403"},
		{name: "one that is kept", id: "p-2", kept: true, explained: true, change: "change 2"},
		{name: "one that is no longer kept", id: "p-1", change: "change 1", whyNot: "the manager no longer has what the cycle decided from: asking the manager: 404"},
		{name: "one that changed nothing", id: "p-3", status: http.StatusNotFound},
		{name: "of a namespace that others may read", id: "p-2", refuses: "/", status: http.StatusServiceUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k.refuses = tt.refuses
			on(t, k, func(t *testing.T, l *Live) {
				got, err := l.Decision(t.Context(), key, tt.id)
				if tt.status != 0 {
					if err == nil || statusOf(err) != tt.status {
						t.Errorf("got %v, want status %d", err, tt.status)
					}
					return
				}
				if err != nil || got.Kept != tt.kept || got.Explained != tt.explained || got.Change.Sentence != tt.change || got.WhyNot != tt.whyNot {
					t.Errorf("got kept %t, explained %t, %q, %q, %v", got.Kept, got.Explained, got.Change.Sentence, got.WhyNot, err)
				}
				if want := tt.id; tt.kept && want != "" && (got.Cycle.Cycle != want || got.Explanation.Cycle != want) {
					t.Errorf("it is of %s, explained by %s", got.Cycle.Cycle, got.Explanation.Cycle)
				}
			})
		})
	}
}

func TestKeptCyclesOfAManagerAreDecidedAgain(t *testing.T) {
	k, key := keeping(t)
	model := k.last.Snapshots[0].Model
	on(t, k, func(t *testing.T, l *Live) {
		cycles, err := l.Cycles(t.Context(), model)
		if err != nil || len(cycles.Refs) != 2 || !cycles.Sparse {
			t.Fatalf("%d cycles, %v", len(cycles.Refs), err)
		}
		s := New(Options{Source: l, Assets: pages})
		got, err := s.decideAgain(t.Context(), model, cycles, Settings{Namespace: model.Namespace, Model: model.ID, Min: map[string]int{key.String(): 9}})
		if err != nil {
			t.Fatal(err)
		}
		if out := got.(WhatIf); out.Cycles != 2 || out.CyclesChanged != 2 || out.New.Variants[0].Desired[1] != 9 || !out.T[1].After(out.T[0].Time) ||
			!strings.HasPrefix(out.Says, "The manager keeps the inputs of cycles that changed a number of replicas, of this model 1, and of the last cycle. ") {
			t.Errorf("got %+v", out)
		}
	})
}

func TestTheDashboardListensOnThisMachineOnly(t *testing.T) {
	all, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	port := 0
	for _, l := range all {
		at := l.Addr().(*net.TCPAddr)
		if !at.IP.IsLoopback() || port != 0 && at.Port != port {
			t.Errorf("it listens on %s", at)
		}
		port = at.Port
	}
	if _, err := Listen(t.Context(), port); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d of 127.0.0.1 is in use", port)) {
		t.Errorf("the port again: %v", err)
	}
	all[0].Close()
	if len(all) > 1 { // the port is taken on ::1 alone
		if _, err := Listen(t.Context(), port); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d of ::1 is in use", port)) {
			t.Errorf("the port of the other address again: %v", err)
		}
		all[1].Close()
	}
}

func TestAServerEndsWithItsStreams(t *testing.T) {
	s := New(Options{Source: &still{board: NewBoard()}, Assets: pages, Port: "1"})
	listeners, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, listeners) }()
	web := site{t: t, server: s, warned: new([]string)}
	address := "http://" + listeners[0].Addr().String()
	client := web.browser()
	resp, err := client.Get(address + "/?token=" + url.QueryEscape(s.Token()))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	stream, err := client.Get(address + "/api/events")
	if err != nil || stream.StatusCode != http.StatusOK || stream.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v, %v", stream, err)
	}
	defer stream.Body.Close()
	stop()
	if err := <-done; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
