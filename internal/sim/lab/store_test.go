package lab

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// storeFunc answers by a function.
type storeFunc func(query.Request) []query.Row

func (f storeFunc) Ask(_ context.Context, r query.Request) (query.Answer, error) {
	return query.Answer{At: r.At, Rows: f(r)}, nil
}

func testRow(q query.Quantity, model string, value float64) query.Row {
	return query.Row{Quantity: q, Namespace: "ns", Model: model, Value: value}
}

func testRange() StoreRange {
	from := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	return StoreRange{From: from, To: from.Add(time.Hour)}
}

// testStore has, of one model, 2 requests/s for half an hour and 6 for another,
// of which the backlog keeps a third for the last ten minutes; nothing is said of
// minutes 10 to 14.
func testStore(r query.Request) []query.Row {
	minute := int(r.At.Sub(testRange().From).Minutes())
	switch {
	case r.Ask == query.AskScrapeIntervals:
		return []query.Row{{Quantity: query.ScrapeInterval, Value: 15}}
	case minute > 10 && minute <= 14:
		return nil
	case r.Ask == query.AskMeans && minute != 3:
		return []query.Row{testRow(query.InputTokens, "m", 400), testRow(query.OutputTokens, "m", float64(100*(1+minute/31)))}
	case r.Ask == query.AskFlow && minute <= 30:
		return []query.Row{testRow(query.Completions, "m", 2.5), testRow(query.InFlightGrowth, "m", -0.5)}
	case r.Ask == query.AskFlow && minute <= 50:
		return []query.Row{testRow(query.Completions, "m", 6)}
	case r.Ask == query.AskFlow:
		return []query.Row{testRow(query.Completions, "m", 4), testRow(query.InFlightGrowth, "m", 2)}
	}
	return nil
}

func TestStoreBecomesAWorkload(t *testing.T) {
	o := testRange()
	told := 0
	o.OnStep = func(done, of int) {
		if told++; done != told || of != 60 {
			t.Errorf("step %d of %d after %d others, want each of 60 in turn", done, of, told-1)
		}
	}
	s, r, err := ReadStore(t.Context(), storeFunc(testStore), o)
	if err != nil {
		t.Fatal(err)
	}
	// 26 minutes with 2 requests/s and 30 with 6.
	want := Recording{Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, Step: time.Minute, Steps: 60, Silent: 4, Requests: 26*60*2 + 30*60*6}
	if r != want || told != 60 {
		t.Errorf("got %+v after %d steps, want %+v", r, told, want)
	}
	if s.Length != time.Hour || s.Curve || s.Name != "ns/m from 2026-01-31T08:00:00Z" {
		t.Errorf("got %+v, want an hour under the name of the model", s)
	}
	var early, late, silent, tokens float64
	requests := collect(t, s.Open(1))
	for _, request := range requests {
		switch minute := request.At.Minutes(); {
		case minute >= 10 && minute < 14:
			silent++
		case minute < 30:
			early++
		default:
			late++
			tokens += float64(request.OutputTokens)
		}
	}
	if math.Abs(early-3120) > 280 || math.Abs(late-10800) > 520 || silent > 0 {
		t.Errorf("%v, %v and, in the silence, %v requests; want about 3120, 10800 and none", early, late, silent)
	}
	if mean := tokens / late; math.Abs(mean-200) > 10 {
		t.Errorf("answers have %.0f tokens in the mean, want 200", mean)
	}
}

func TestStoreOfAGatewayIsBelievedBeforeTheEngines(t *testing.T) {
	s, r, err := ReadStore(t.Context(), storeFunc(func(r query.Request) []query.Row {
		if r.Ask == query.AskGateway {
			return []query.Row{testRow(query.GatewayArrivals, "m", 9)}
		}
		return testStore(r)
	}), testRange())
	if n := len(collect(t, s.Open(1))); err != nil || !r.Gateway || math.Abs(float64(n)-9*3600) > 1000 {
		t.Errorf("got %+v with %d requests, %v, want the 9 requests/s of the gateway", r, n, err)
	}
}

func TestStoreStepsAreNotShorterThanItsRatesNeed(t *testing.T) {
	for _, c := range []struct {
		scrape, length, want time.Duration
	}{
		{15 * time.Second, time.Hour, time.Minute},
		{30 * time.Second, time.Hour, 2 * time.Minute},
		{15 * time.Second, 7 * 24 * time.Hour, 7 * time.Minute},
	} {
		o := testRange()
		o.To = o.From.Add(c.length)
		_, r, err := ReadStore(t.Context(), storeFunc(func(r query.Request) []query.Row {
			switch r.Ask {
			case query.AskScrapeIntervals:
				return []query.Row{{Quantity: query.ScrapeInterval, Value: c.scrape.Seconds()}}
			case query.AskFlow:
				return []query.Row{testRow(query.Completions, "m", 1)}
			case query.AskMeans:
				return []query.Row{testRow(query.InputTokens, "m", 10), testRow(query.OutputTokens, "m", 10)}
			}
			return nil
		}), o)
		if err != nil || r.Step != c.want || r.Requests != c.length.Seconds() {
			t.Errorf("%s of scrapes every %s: got %+v, %v, want steps of %s", c.length, c.scrape, r, err, c.want)
		}
	}
}

func TestStoreSaysWhyItIsNoWorkload(t *testing.T) {
	two := storeFunc(func(r query.Request) []query.Row {
		if r.Ask == query.AskFlow {
			return []query.Row{testRow(query.Completions, "b", 1), testRow(query.Completions, "a", 1)}
		}
		return nil
	})
	change := func(f func(*StoreRange)) StoreRange { o := testRange(); f(&o); return o }
	for _, c := range []struct {
		name  string
		store Store
		o     StoreRange
		want  string
	}{
		{"several models", two, testRange(), "there are ns/a, ns/b: choose one"},
		{"another model", two, change(func(o *StoreRange) { o.Model = "c" }), `nothing of model "c" in namespace "" is recorded: there are ns/a, ns/b`},
		{"nothing", storeFunc(func(query.Request) []query.Row { return nil }), testRange(), "no request of any serving engine is recorded"},
		{"no lengths", two, change(func(o *StoreRange) { o.Model = "a" }), "ns/a: no request ended in this range"},
		{"backwards", two, change(func(o *StoreRange) { o.To = o.From }), "is empty"},
		{"short", two, change(func(o *StoreRange) { o.To = o.From.Add(time.Second) }), "shorter than one step of 1m0s"},
		{"a store that fails", failing{}, testRange(), "asking for the scrape interval: out of order"},
		{"a store that fails later", failing{later: true}, testRange(), "asking for flow at 2026-01-31T08:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := ReadStore(t.Context(), c.store, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// failing is a store out of order, perhaps only for what comes after the first
// question.
type failing struct{ later bool }

func (f failing) Ask(_ context.Context, r query.Request) (query.Answer, error) {
	if f.later && r.Ask == query.AskScrapeIntervals {
		return query.Answer{}, nil
	}
	return query.Answer{}, errors.New("out of order")
}
