package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// namespaces are those that a caller may read, "" for all.
type namespaces []string

func (n namespaces) MayRead(_ *http.Request, namespace string) (status int, message string) {
	for _, one := range n {
		if one == namespace || one == "" {
			return 0, ""
		}
	}
	return http.StatusForbidden, "no right in " + namespace
}

// twoModels is a cycle of ns/v and other/w, whose models are limited or not.
func twoModels(limited, stock bool) *cycle.Last {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	d := cycle.Decided{Case: cycle.Case{Cycle: "c-7", Now: at, History: memory.History{}}}
	d.Setup.Models = map[scaling.ModelKey]settings.Model{}
	d.Setup.Inventory.Known = stock
	for namespace, name := range map[string]string{"ns": "v", "other": "w"} {
		m := scaling.ModelKey{Namespace: namespace, ID: "m"}
		v := scaling.Variant{Key: scaling.VariantKey{Namespace: namespace, Name: name}, Model: m, GPUsPerReplica: 1, Bounds: scaling.Unbounded()}
		how := settings.Default()
		how.Limited = limited
		d.Setup.Models[m] = how
		d.Case.Snapshots = append(d.Case.Snapshots, scaling.Snapshot{Model: m, At: at, Window: time.Minute, Variants: []scaling.Variant{v}})
		d.Case.History[v.Key] = memory.Past{Desired: 1}
	}
	d.Plan = d.Setup.Decide(d.Case).Plan
	last := &cycle.Last{}
	last.Keep(d)
	return last
}

func TestTheCycleOfAVariantIsThatOfItsModel(t *testing.T) {
	all := namespaces{""}
	own := namespaces{"ns"}
	for _, tc := range []struct {
		name    string
		last    *cycle.Last
		readers Readers
		path    string
		code    int
		says    string // in an error
		models  int
		stock   bool
	}{
		{"for the reader of its namespace", twoModels(false, false), own, "/debug/decisions/ns/v/cycle", 200, "", 1, false},
		{"without the stock for the reader of its namespace", twoModels(false, true), own, "/debug/decisions/ns/v/cycle", 200, "", 1, false},
		{"with the stock for the reader of all", twoModels(false, true), all, "/debug/decisions/ns/v/cycle", 200, "", 1, true},
		{"all of it where accelerators are shared", twoModels(true, true), all, "/debug/decisions/ns/v/cycle", 200, "", 2, true},
		{"all of it where nothing is authorized", twoModels(true, true), nil, "/debug/decisions/ns/v/cycle", 200, "", 2, true},
		{"none of it where accelerators are shared, for the reader of its namespace", twoModels(true, true), own, "/debug/decisions/ns/v/cycle", 403, "ns/v depends on models of other namespaces", 0, false},
		{"none of another namespace", twoModels(false, false), own, "/debug/decisions/other/w/cycle", 403, "no right in other", 0, false},
		{"none of a variant that is not there", twoModels(false, false), own, "/debug/decisions/ns/w/cycle", 404, "no variant ns/w", 0, false},
		{"none before the first cycle", &cycle.Last{}, own, "/debug/decisions/ns/v/cycle", 503, "no cycle has run yet", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle(CyclePattern, Cycle(tc.last, tc.readers))
			code, body := get(t, mux, tc.path)
			if code != tc.code || !strings.Contains(body, tc.says) {
				t.Fatalf("%d %s; want %d and %q", code, body, tc.code, tc.says)
			}
			if code != http.StatusOK {
				return
			}
			c, err := record.Decode([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Snapshots) != tc.models || len(c.Configuration) != tc.models || len(c.History) != tc.models || c.Inventory.Known != tc.stock || len(c.Plan.Decisions) != tc.models {
				t.Errorf("%d snapshots, %d settings, %d histories, stock %t, %d decisions; want %d models, stock %t",
					len(c.Snapshots), len(c.Configuration), len(c.History), c.Inventory.Known, len(c.Plan.Decisions), tc.models, tc.stock)
			}
			if setup, from := cycle.FromRecord(c); !record.SamePlan(setup.Decide(from).Plan, *c.Plan) {
				t.Error("the part of the cycle is decided otherwise than the cycle")
			}
		})
	}
}
