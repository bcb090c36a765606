package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/cache"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// newShared returns a caching whose models are in three namespaces, after a first
// collection.
func newShared(t *testing.T) *caching {
	t.Helper()
	clk := testingclock.NewFakeClock(t0)
	kept := cache.New(clk, cache.Options{})
	source, fleet := shared(map[string]int{"edited": 15, "other": 15, "third": 15})
	c := &caching{Collector: collector.New(source, clk, collector.Options{Cache: kept, TTL: cache.Fixed(time.Hour)}), clock: clk, cache: kept, source: source, fleet: fleet}
	c.Collect(t.Context(), fleet)
	c.asked()
	return c
}

// edit drops what is kept of the model of a namespace, as a caller does that sees that its spec
// changed does.
func (c *caching) edit(namespace string) {
	c.cache.Invalidate(collector.Key(scaling.ModelKey{Namespace: namespace, ID: "m000"}))
}

func TestAnEditAsksAboutItsNamespaceAlone(t *testing.T) {
	c := newShared(t)
	c.edit("edited")
	c.Collect(t.Context(), c.fleet)
	if diff := cmp.Diff(regular, c.source.Asked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, call := range c.source.Calls() {
		if call.Ask != query.AskPages && !slices.Equal(call.Namespaces, []string{"edited"}) {
			t.Errorf("%s is asked of namespaces %q, want of the edited one", call.Ask, call.Namespaces)
		}
	}
}

// TestEditsOfOneNamespaceAskOnlySoOften: each of ten edits a second apart asked every
// question about the whole cluster, 120 questions.
func TestEditsOfOneNamespaceAskOnlySoOften(t *testing.T) {
	c := newShared(t)
	edits := func() (asked int) {
		for range 10 {
			c.pass(time.Second)
			c.edit("edited")
			for _, s := range c.Collect(t.Context(), c.fleet) {
				if s.Fault != "" || s.Load.ArrivalRate != fresh(4) {
					t.Fatalf("%s: arrivals of %v, fault %q; want the last that were measured", s.Model, s.Load.ArrivalRate, s.Fault)
				}
			}
			asked += c.asked()
		}
		return asked
	}
	if got, most := edits(), 4*len(regular); got != most {
		t.Errorf("%d questions are asked, want %d: four times a minute", got, most)
	}
	c.edit("other")
	if c.Collect(t.Context(), c.fleet); c.asked() != len(regular) {
		t.Error("edits of one namespace keep another from being asked about")
	}
	c.pass(time.Minute)
	if got, most := edits(), 4*len(regular); got != most {
		t.Errorf("a minute later %d questions are asked, want %d", got, most)
	}
}

// TestAModelThatIsRenamedOftenWaits: there is no measurement that could stand for a new
// model.
func TestAModelThatIsRenamedOftenWaits(t *testing.T) {
	c := newShared(t)
	faults := 0
	for i := range 10 {
		c.pass(time.Second)
		for j, v := range c.fleet.Variants {
			if v.Model.Namespace == "edited" {
				c.fleet.Variants[j].Model.ID = fmt.Sprint("renamed-", i)
			}
		}
		for _, s := range c.Collect(t.Context(), c.fleet) {
			switch {
			case s.Fault == "":
			case s.Model.Namespace != "edited" || !strings.Contains(s.Fault, "namespace edited was asked about 4 times"):
				t.Errorf("%s: fault %q", s.Model, s.Fault)
			default:
				faults++
			}
		}
	}
	if faults != 6 {
		t.Errorf("%d of 10 names wait, want 6", faults)
	}
	fetches := 0
	for _, asked := range c.source.Asked() {
		if asked == query.AskPages {
			fetches++
		}
	}
	if fetches != 4 {
		t.Errorf("%d fetches, want 4", fetches)
	}
}

func TestWhatIsDueIsAskedAboutAllAndAsOftenAsItIs(t *testing.T) {
	clk := testingclock.NewFakeClock(t0)
	kept := cache.New(clk, cache.Options{})
	source, fleet := shared(map[string]int{"a": 15, "b": 15})
	c := &caching{Collector: collector.New(source, clk, collector.Options{Cache: kept, TTL: cache.Fixed(time.Second)}), clock: clk, cache: kept, source: source, fleet: fleet}
	for second := range 20 {
		c.Collect(t.Context(), fleet)
		for _, call := range source.Calls() {
			if len(call.Namespaces) > 0 {
				t.Fatalf("second %d: %s is asked of %q, want of all", second, call.Ask, call.Namespaces)
			}
		}
		if got := c.asked(); got != len(regular) {
			t.Fatalf("second %d: %d questions, want %d", second, got, len(regular))
		}
		c.pass(time.Second)
	}
}
