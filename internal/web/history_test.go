package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// grown is the history of the cycle of twoModels, in which ns/v and other/w go from 1 replica to others.
func grown(t *testing.T, limited, stock bool) *history.History {
	t.Helper()
	d, _ := twoModels(limited, stock).Decided()
	for i := range d.Case.Snapshots {
		d.Case.Snapshots[i].Variants[0].Replicas = scaling.ReplicaCounts{Observed: true}
		d.Case.Snapshots[i].Variants[0].Bounds.Min = 2
	}
	d.Plan = d.Setup.Decide(d.Case).Plan
	h := history.New(history.Options{})
	h.Add(history.Cycle{Cycle: d.Recorded(), Part: func(m scaling.ModelKey) record.Cycle { return d.Part(m).Recorded() }})
	return h
}

func TestHistoryIsForTheReadersOfDecisions(t *testing.T) {
	all, own := namespaces{""}, namespaces{"ns"}
	for _, tc := range []struct {
		name    string
		of      Histories
		readers Readers
		path    string
		code    int
		says    string
	}{
		{"the fleet for the reader of all", grown(t, false, false), all, "/debug/fleet", 200, `"namespace":"other"`},
		{"the fleet for all where nothing is authorized", grown(t, false, false), nil, "/debug/fleet", 200, `"namespace":"other"`},
		{"no fleet for the reader of a namespace", grown(t, false, false), own, "/debug/fleet", 403, "no right in "},
		{"the fleet of a namespace for its reader", grown(t, false, false), own, "/debug/fleet/ns", 200, `"name":"v"`},
		{"no fleet of another namespace", grown(t, false, false), own, "/debug/fleet/other", 403, "no right in other"},
		{"no fleet before the first cycle", history.New(history.Options{}), own, "/debug/fleet/ns", 503, "no cycle has run yet"},
		{"the history of a model", grown(t, false, false), own, "/debug/history/ns?model=m", 200, `"complete":true`},
		{"the history of a model from a time before the first cycle", grown(t, false, false), own, "/debug/history/ns?model=m&from=1000&to=2e9&points=10", 200, `"complete":false`},
		{"no history of a model of another namespace", grown(t, false, false), own, "/debug/history/other?model=m", 403, "no right in other"},
		{"no history without a model", grown(t, false, false), own, "/debug/history/ns", 400, "model is missing"},
		{"no history of a model that is not there", grown(t, false, false), own, "/debug/history/ns?model=n", 404, `no model \"n\" in namespace ns`},
		{"no history from a time that is none", grown(t, false, false), own, "/debug/history/ns?model=m&from=yesterday", 400, `from is \"yesterday\": want seconds since 1970`},
		{"no history up to a time that is none", grown(t, false, false), own, "/debug/history/ns?model=m&to=-1", 400, `to is \"-1\"`},
		{"no history up to a time that is no number", grown(t, false, false), own, "/debug/history/ns?model=m&to=NaN", 400, `to is \"NaN\"`},
		{"no history in more rows than there may be", grown(t, false, false), own, "/debug/history/ns?model=m&points=100000", 400, "want a number from 1 to 4000"},
		{"the replicas of a model", grown(t, false, false), own, "/debug/replicas/ns?model=m", 200, `no pod of it is seen yet`},
		{"no replicas of another namespace", grown(t, false, false), own, "/debug/replicas/other?model=m", 403, "no right in other"},
		{"no replicas of a model that is not there", grown(t, false, false), own, "/debug/replicas/ns?model=n", 404, "no model"},
		{"the record of a decision", grown(t, false, false), own, "/debug/history/ns/v/cycle?cycle=c-7", 200, `"cycle":"c-7"`},
		{"no record of another namespace", grown(t, false, false), own, "/debug/history/other/w/cycle?cycle=c-7", 403, "no right in other"},
		{"no record without a cycle", grown(t, false, false), own, "/debug/history/ns/v/cycle", 400, "cycle is missing"},
		{"no record of a cycle that changed nothing", grown(t, false, false), own, "/debug/history/ns/v/cycle?cycle=c-8", 404, `no decision of cycle \"c-8\"`},
		{"no record of shared accelerators for the reader of a namespace", grown(t, true, true), own, "/debug/history/ns/v/cycle?cycle=c-7", 403, "ns/v depends on models of other namespaces"},
		{"the record of shared accelerators for the reader of all", grown(t, true, true), all, "/debug/history/ns/v/cycle?cycle=c-7", 200, `"namespace":"other"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, body := get(t, History(tc.of, tc.readers), tc.path)
			if code != tc.code || !strings.Contains(body, tc.says) {
				t.Fatalf("%d %s; want %d and %q", code, body, tc.code, tc.says)
			}
		})
	}
}

func TestAnEarlierDecisionCanBeDecidedAgain(t *testing.T) {
	for _, tc := range []struct {
		name   string
		reader namespaces
		stock  bool
	}{
		{"with the stock for the reader of all", namespaces{""}, true},
		{"without the stock for the reader of its namespace", namespaces{"ns"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, body := get(t, History(grown(t, false, true), tc.reader), "/debug/history/ns/v/cycle?cycle=c-7")
			c, err := record.Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Snapshots) != 1 || c.Inventory.Known != tc.stock {
				t.Errorf("%d models, stock %t; want 1 and %t", len(c.Snapshots), c.Inventory.Known, tc.stock)
			}
			setup, from := cycle.FromRecord(c)
			if !record.SamePlan(setup.Decide(from).Plan, *c.Plan) {
				t.Error("it is decided otherwise than it was")
			}
		})
	}
}

func TestWhatIsAnsweredIsReadBack(t *testing.T) {
	h := grown(t, false, false)
	_, body := get(t, History(h, nil), "/debug/history/ns?model=m")
	var got history.ModelHistory
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != body {
		t.Errorf("read and written again it is\n%s\nwant\n%s", again, body)
	}
	if got.Model.Load.Known() || len(got.T) != 1 || !got.T[0].Equal(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("load %g at %v, want unknown at the time of the cycle", got.Model.Load, got.T)
	}
	if _, body := get(t, History(h, nil), "/debug/fleet"); !json.Valid([]byte(body)) {
		t.Errorf("the fleet is no JSON: %s", body)
	}
}

func TestOneAnswerIsMadeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := &slow{History: grown(t, false, false), begun: make(chan struct{}, 2), end: make(chan struct{})}
		handler := History(of, nil)
		var done sync.WaitGroup
		for range 2 {
			done.Go(func() {
				if code, body := get(t, handler, "/debug/fleet"); code != http.StatusOK {
					t.Errorf("%d %s", code, body)
				}
			})
		}
		for n := 1; n <= 2; n++ {
			synctest.Wait()
			if len(of.begun) != n {
				t.Errorf("%d answers are begun after %d are made, want one more", len(of.begun), n-1)
			}
			of.end <- struct{}{}
		}
		done.Wait()
	})
}

type slow struct {
	*history.History

	begun, end chan struct{}
}

func (s *slow) Fleet(may func(string) bool) history.Fleet {
	s.begun <- struct{}{}
	<-s.end
	return s.History.Fleet(may)
}
