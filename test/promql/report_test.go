package promql

import (
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exported"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// morning is when the managers of the tests of the report begin.
var morning = time.Date(2026, 11, 25, 6, 0, 0, 0, time.UTC)

// reporting is a Prometheus that scrapes managers, and from which a report is read.
type reporting struct {
	store  *store.Store
	clock  *testingclock.FakePassiveClock
	config prometheus.Config
}

func newReporting(t *testing.T) *reporting {
	t.Helper()
	r := &reporting{clock: testingclock.NewFakePassiveClock(morning)}
	var err error
	if r.store, err = store.Open(t.TempDir(), r.clock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.store.Close(); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(r.store)
	t.Cleanup(server.Close)
	r.config = prometheus.Config{URL: server.URL, AllowInsecure: true}
	return r
}

// read returns what "wva report" compares of each model.
func (r *reporting) read(t *testing.T, s exported.Span) (map[scaling.ModelKey]shadow.Model, error) {
	t.Helper()
	source, err := prometheus.New(r.config)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	looks, err := exported.Read(t.Context(), source, s)
	out := map[scaling.ModelKey]shadow.Model{}
	for key, of := range looks {
		out[key] = shadow.Compare(key, scaling.Objective{}, of, shadow.Options{To: s.To})
	}
	return out, err
}

// pod returns a manager in a pod, scraped with honor_labels or without.
func (r *reporting) pod(name string, honorLabels bool) *exporter {
	target := map[string]string{"pod": name, "job": "wva", "instance": name + ":8443"}
	if !honorLabels {
		target["namespace"] = "wva-system"
	}
	return newExporter(r.store, r.clock, labels.FromMap(target))
}

// near fails where a number is not what is wanted, to 1 %.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 0.01*math.Abs(want)+1e-9) {
		t.Errorf("%s: got %.4f, want %.4f", what, got, want)
	}
}

// variantThen is a variant of the fleet of the test by minutes of the morning.
type variantThen struct {
	scaling.Variant
	from             int // minute in which it appears
	current, decided func(minute int) int
}

// at is the variant in a minute, and false where it is not there.
func (v variantThen) at(minute int) (decided, bool) {
	out := decided{v.Variant, scaling.Replicas(v.decided(minute))}
	n := scaling.Replicas(v.current(minute))
	out.Replicas = scaling.ReplicaCounts{Observed: true, Current: n, Ready: n}
	return out, minute >= v.from
}

// fleetThen is a fleet with two models in the namespace prod and one in test.
func fleetThen() []variantThen {
	variant := func(namespace, name, model string, gpus scaling.Accelerators, cost float64, advisory bool) scaling.Variant {
		return scaling.Variant{
			Key: scaling.VariantKey{Namespace: namespace, Name: name}, Model: scaling.ModelKey{Namespace: namespace, ID: model},
			Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Accelerator: "A100", GPUsPerReplica: gpus, Cost: cost, Advisory: advisory,
		}
	}
	return []variantThen{
		{
			variant("prod", "chat-a100", "org/chat", 2, 10, true), 0,
			func(m int) int { return 3 + m/17%4 }, func(m int) int { return 2 + m/23%5 },
		},
		{
			variant("prod", "chat-l4", "org/chat", 1, 1.5, true), 150,
			func(m int) int { return 8 - m/40%3 }, func(m int) int { return 1 + m/29%7 },
		},
		{ // follows its decisions, but for twenty minutes
			variant("prod", "embed", "org/embed", 4, 20, false), 0,
			func(int) int { return 2 },
			func(m int) int {
				if m >= 120 && m < 140 {
					return 5
				}
				return 2
			},
		},
		{
			variant("test", "chat-a100", "org/chat", 8, 1000, true), 0,
			func(int) int { return 50 }, func(int) int { return 70 },
		},
	}
}

// rateThen is how many requests/s arrive at each model in a minute.
func rateThen(minute int) float64 { return 6 + 4*math.Sin(float64(minute)/40) }

// The events of the morning, in minutes. The scrapes are 7 s after a full half minute.
const (
	lostFrom, lostTo   = 70, 110  // Prometheus does not run
	aloneFrom, aloneTo = 200, 220 // no scrape reaches the manager
	restart            = 270      // another pod takes over; both are scraped once
	end                = 360
	every              = 30 * time.Second
)

// scrapeMorning has two managers export the fleet, one after the other, and returns the times of the scrapes.
func (r *reporting) scrapeMorning(t *testing.T, honorLabels bool) []time.Time {
	t.Helper()
	first, second := r.pod("wva-1", honorLabels), r.pod("wva-2", honorLabels)
	var scrapes []time.Time
	restarted := false
	for at := morning.Add(7 * time.Second); at.Before(morning.Add(end * time.Minute)); at = at.Add(every) {
		r.clock.SetTime(at)
		minute := int(at.Sub(morning).Minutes())
		var now, before []decided
		for _, v := range fleetThen() {
			if d, there := v.at(minute); there {
				now = append(now, d)
			}
			if d, there := v.at(minute - 1); there {
				before = append(before, d)
			}
		}
		switch {
		case minute >= lostFrom && minute < lostTo:
			continue
		case minute >= aloneFrom && minute < aloneTo:
			if err := first.target.Fail(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			continue
		case at.Before(morning.Add(restart*time.Minute + every)): // so that a read, at the full minute, is while both are there
			first.metrics.ObserveCycle(metrics.Success, time.Second)
			first.cycle(t, at, rateThen(minute), now...)
		case !restarted:
			restarted = true
			first.cycle(t, at, rateThen(minute-1), before...)
			second.cycle(t, at, rateThen(minute), now...)
		default:
			if err := first.target.Fail(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			second.metrics.ObserveCycle(metrics.Success, time.Second)
			second.cycle(t, at, rateThen(minute), now...)
		}
		scrapes = append(scrapes, at)
	}
	return scrapes
}

// sums are what a report adds up of a model, added up second by second.
type sums struct {
	hours, requests, advisory float64
	ran, decided              shadow.Side
}

// summed adds a model up: the values of each scrape stand until the next one, for three minutes at most.
func summed(model scaling.ModelKey, scrapes []time.Time) sums {
	var out sums
	const second = 1.0 / 3600
	for at := morning; at.Before(morning.Add(end * time.Minute)); at = at.Add(time.Second) {
		i, found := slices.BinarySearchFunc(scrapes, at, time.Time.Compare)
		if !found {
			i--
		}
		if i < 0 || at.Sub(scrapes[i]) >= 3*time.Minute {
			continue
		}
		minute := int(scrapes[i].Sub(morning).Minutes())
		out.hours += second
		out.requests += rateThen(minute)
		for _, v := range fleetThen() {
			d, there := v.at(minute)
			if !there || v.Model != model {
				continue
			}
			for _, side := range []struct {
				of       *shadow.Side
				replicas scaling.Replicas
			}{{&out.ran, d.Replicas.Current}, {&out.decided, d.target}} {
				hours := float64(side.replicas) * second
				side.of.ReplicaHours += hours
				side.of.GPUHours += hours * float64(v.GPUsPerReplica)
				side.of.Cost += hours * v.Cost
			}
			if v.Advisory && v.from == 0 {
				out.advisory += second
			}
		}
	}
	return out
}

// TestTheReportOfAMorningIsWhatAddsUp reads six hours of the metrics of two managers, one after the other. Prometheus
// does not run for 40 minutes and does not reach the manager for 20; a variant appears after 150. The range that is asked
// for begins three hours before the first scrape.
func TestTheReportOfAMorningIsWhatAddsUp(t *testing.T) {
	for _, honorLabels := range []bool{false, true} {
		t.Run(fmt.Sprintf("with honor_labels: %t", honorLabels), func(t *testing.T) {
			r := newReporting(t)
			scrapes := r.scrapeMorning(t, honorLabels)
			models, err := r.read(t, exported.Span{From: morning.Add(-3 * time.Hour), To: morning.Add(end * time.Minute), Namespace: "prod"})
			if err != nil {
				t.Fatal(err)
			}
			if len(models) != 2 {
				t.Fatalf("got %d models, want the two of the namespace prod: %+v", len(models), models)
			}
			for key, got := range models {
				want := summed(key, scrapes)
				near(t, key.ID+", hours", got.Hours, want.hours)
				near(t, key.ID+", hours of advice", got.Advisory, want.advisory)
				if gaps := float64(end)/60 - want.hours; math.Abs(got.Unknown-gaps) > 2./60 { // a read for each of the two
					t.Errorf("%s: got %.4f hours of the gaps, want %.4f", key.ID, got.Unknown, gaps)
				}
				near(t, key.ID+", requests", got.Requests, want.requests)
				for _, side := range []struct {
					name      string
					got, want shadow.Side
				}{{"ran", got.Ran, want.ran}, {"decided", got.Decided, want.decided}} {
					near(t, key.ID+", replica hours "+side.name, side.got.ReplicaHours, side.want.ReplicaHours)
					near(t, key.ID+", GPU hours "+side.name, side.got.GPUHours, side.want.GPUHours)
					near(t, key.ID+", cost "+side.name, side.got.Cost, side.want.Cost)
				}
				if got.From.Before(morning) || got.From.After(morning.Add(time.Minute)) || !got.To.Equal(morning.Add(end*time.Minute)) {
					t.Errorf("%s: from %v to %v, want from the first scrape to the end", key.ID, got.From, got.To)
				}
			}
			key := scaling.ModelKey{Namespace: "prod", ID: "org/embed"}
			// Where two pods are scraped at once the replicas are not added up: that is one of ten reads here.
			around, err := r.read(t, exported.Span{From: morning.Add((restart - 5) * time.Minute), To: morning.Add((restart + 5) * time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "hours around the restart", around[key].Hours, 9./60)
			near(t, "replica hours around the restart", around[key].Ran.ReplicaHours, 2*9./60)
			near(t, "replica hours decided around the restart", around[key].Decided.ReplicaHours, 2*9./60)
			embed := models[key]
			if len(embed.Differ) != 1 {
				t.Fatalf("got %d differences of the variant embed, want one: %+v", len(embed.Differ), embed.Differ)
			}
			d := embed.Differ[0]
			near(t, "hours of the difference", d.Hours, 20./60)
			near(t, "cost of the difference", d.Cost, 3*20*20./60)
			near(t, "GPU hours of the difference", d.GPUs, 3*4*20./60)
			if began := d.At.Sub(morning.Add(120 * time.Minute)); d.Ran != 2 || d.Decided != 5 || began < 0 || began > time.Minute {
				t.Errorf("got %+v, want 2 that ran and 5 decided from 08:00", d)
			}
		})
	}
}

// unchanging has a manager export one variant of 4 replicas of 2 accelerators, of which 3 are advised.
func unchanging(model string) decided {
	return decided{scaling.Variant{
		Key: scaling.VariantKey{Namespace: "prod", Name: "chat"}, Model: scaling.ModelKey{Namespace: "prod", ID: model}, Accelerator: "A100",
		GPUsPerReplica: 2, Cost: 10, Advisory: true, Replicas: scaling.ReplicaCounts{Observed: true, Current: 4, Ready: 4},
	}, 3}
}

// TestTheReportCountsAllTimeAtEveryScrapeInterval reads four hours of one variant.
func TestTheReportCountsAllTimeAtEveryScrapeInterval(t *testing.T) {
	for _, interval := range []time.Duration{15 * time.Second, time.Minute, 2 * time.Minute, 290 * time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			r := newReporting(t)
			pod := r.pod("wva-1", false)
			to := morning.Add(4 * time.Hour)
			for at := morning; at.Before(to); at = at.Add(interval) {
				r.clock.SetTime(at)
				pod.cycle(t, at, 5, unchanging("org/chat"))
			}
			models, err := r.read(t, exported.Span{From: morning, To: to})
			if err != nil {
				t.Fatal(err)
			}
			m := models[scaling.ModelKey{Namespace: "prod", ID: "org/chat"}]
			near(t, "GPU hours that ran", m.Ran.GPUHours, 4*4*2)
			near(t, "GPU hours decided", m.Decided.GPUHours, 4*3*2)
			near(t, "requests", m.Requests, 4*3600*5)
		})
	}
}

// TestTheReportKeepsModelsApartThatAVariantServed has two variants serve one model for three hours, and then one of them
// another model for two.
func TestTheReportKeepsModelsApartThatAVariantServed(t *testing.T) {
	r := newReporting(t)
	pod := r.pod("wva-1", false)
	to := morning.Add(5 * time.Hour)
	for at := morning; at.Before(to); at = at.Add(every) {
		r.clock.SetTime(at)
		stays, changes := unchanging("org/old"), unchanging("org/old")
		stays.Key.Name = "stays"
		if at.Sub(morning) >= 3*time.Hour {
			changes = unchanging("org/new")
		}
		pod.cycle(t, at, 5, stays, changes)
	}
	models, err := r.read(t, exported.Span{From: morning, To: to})
	if err != nil {
		t.Fatal(err)
	}
	before, after := models[scaling.ModelKey{Namespace: "prod", ID: "org/old"}], models[scaling.ModelKey{Namespace: "prod", ID: "org/new"}]
	near(t, "hours of the first model", before.Hours, 5)
	near(t, "replica hours of the first model", before.Ran.ReplicaHours, 4*5+4*3)
	near(t, "hours of the second model", after.Hours, 2)
	near(t, "replica hours of the second model", after.Ran.ReplicaHours, 4*2)
}

// TestTheReportReadsMoreThanOneAnswerMayHold reads a week in answers of which each holds two days at most.
func TestTheReportReadsMoreThanOneAnswerMayHold(t *testing.T) {
	r := newReporting(t)
	r.config.MaxBytes = 64 << 10
	pod := r.pod("wva-1", false)
	to := morning.Add(7 * 24 * time.Hour)
	for at := morning; at.Before(to); at = at.Add(2 * time.Minute) {
		r.clock.SetTime(at)
		pod.cycle(t, at, 5, unchanging("org/chat"))
	}
	models, err := r.read(t, exported.Span{From: morning, To: to})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "GPU hours that ran", models[scaling.ModelKey{Namespace: "prod", ID: "org/chat"}].Ran.GPUHours, 7*24*4*2)
}

// TestTheReportSaysWhyThereIsNothing asks a Prometheus that scrapes no manager, one whose manager has no variant yet, one
// that has the metrics of another time, and one with variants in another namespace.
func TestTheReportSaysWhyThereIsNothing(t *testing.T) {
	span := exported.Span{From: morning, To: morning.Add(time.Hour), Namespace: "prod"}
	for name, tt := range map[string]struct {
		scrape func(*testing.T, *reporting)
		want   error
	}{
		"nothing": {func(*testing.T, *reporting) {}, exported.ErrNoManager},
		"a manager without variants": {func(t *testing.T, r *reporting) {
			pod := r.pod("wva-1", false)
			pod.metrics.ObserveCycle(metrics.Success, time.Second)
			pod.cycle(t, morning.Add(time.Minute), 0)
		}, exported.ErrNoVariant},
		"the day before": {func(t *testing.T, r *reporting) {
			r.pod("wva-1", false).cycle(t, morning.Add(-24*time.Hour), 5, unchanging("org/chat"))
		}, exported.ErrNoManager},
		"another namespace": {func(t *testing.T, r *reporting) {
			other := unchanging("org/chat")
			other.Key.Namespace, other.Model.Namespace = "test", "test"
			r.pod("wva-1", false).cycle(t, morning.Add(time.Minute), 5, other)
		}, exported.ErrNoNamespace},
		"one scrape": {func(t *testing.T, r *reporting) {
			r.pod("wva-1", false).cycle(t, morning.Add(time.Minute), 5, unchanging("org/chat"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReporting(t)
			tt.scrape(t, r)
			models, err := r.read(t, span)
			if !errors.Is(err, tt.want) || err == nil && len(models) != 1 {
				t.Errorf("got %v and %d models, want %v", err, len(models), tt.want)
			}
		})
	}
}
