package promql

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/common/model"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// epoch is when the first scenario begins. Scenarios share a store and follow
// each other at a distance that no window reaches across.
var epoch = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// apart is the distance of scenarios. It is a multiple of every scrape interval.
const apart = 2 * time.Hour

// shared is a store for the cases of one test.
type shared struct {
	*store.Store
	begin time.Time // of the next case
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s, err := store.Open(t.TempDir(), testingclock.NewFakePassiveClock(epoch))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shared{Store: s, begin: epoch}
}

// next returns the beginning of another case.
func (s *shared) next() time.Time {
	s.begin = s.begin.Add(apart)
	return s.begin
}

// rows evaluates a request and returns the rows as a source would read them,
// times as offsets from begin.
func rows(t *testing.T, s *store.Store, request query.Request, begin time.Time) []query.Row {
	t.Helper()
	got, err := answer(t.Context(), s, request)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Quantity.Unit() == query.UnixSeconds {
			got[i].Value -= float64(begin.UnixMilli()) / 1000
		}
	}
	return got
}

// answer evaluates a request. A row that is not understood is none.
func answer(ctx context.Context, s *store.Store, request query.Request) ([]query.Row, error) {
	vector, err := s.Query(ctx, request.PromQL(), request.At)
	if err != nil {
		return nil, err
	}
	var got []query.Row
	for _, sample := range vector {
		if row, ok := query.RowOf(request.Ask, sample.Metric.Get, sample.F); ok {
			got = append(got, row)
		}
	}
	return got, nil
}

// diff compares rows whatever their order, and bounds as numbers alone.
func diff(want, got []query.Row) string {
	return gocmp.Diff(sorted(want), sorted(got), cmpopts.IgnoreFields(query.Row{}, "Edge"), cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

func sorted(rows []query.Row) []query.Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b query.Row) int {
		return cmp.Or(cmp.Compare(a.Quantity, b.Quantity), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Model, b.Model),
			strings.Compare(a.Pod, b.Pod), strings.Compare(a.Job, b.Job), cmp.Compare(a.Bound, b.Bound), cmp.Compare(a.Value, b.Value))
	})
}

// TestTheEngineAnswersAsWorkedOut runs the scenarios of testdata.
func TestTheEngineAnswersAsWorkedOut(t *testing.T) {
	s := newShared(t)
	for _, c := range readScenarios(t) {
		t.Run(c.name, func(t *testing.T) {
			begin := s.next()
			c.write(t, s.Store, begin)
			for _, a := range c.asks {
				a.request.At = begin.Add(a.at)
				if d := diff(a.want, rows(t, s.Store, a.request, begin)); d != "" {
					t.Errorf("ask %s (-want +got):\n%s\nexpression: %s", a.line, d, a.request.PromQL())
				}
			}
		})
	}
}

// TestEveryRecipeHasAScenario keeps the catalogue and testdata together.
func TestEveryRecipeHasAScenario(t *testing.T) {
	type entry struct {
		engine   query.Engine // "" for a gateway's
		quantity query.Quantity
	}
	covered := map[entry]bool{}
	for _, s := range readScenarios(t) {
		engines := map[query.Engine]bool{}
		for _, l := range s.series {
			prefix, _, ok := strings.Cut(l.labels.Get(model.MetricNameLabel), ":")
			if !ok {
				prefix = ""
			}
			engines[query.Engine(prefix)] = true
		}
		for _, a := range s.asks {
			for _, row := range a.want {
				for e := range engines {
					covered[entry{e, row.Quantity}] = covered[entry{e, row.Quantity}] || len(engines) == 1
				}
			}
		}
	}
	for _, q := range query.All() {
		want := []query.Engine{""}
		if q.Scope() != query.PerGateway {
			want = query.Engines()
		}
		for _, e := range want {
			_, made := query.RecipeOf(e, q, nil)
			special := q == query.PageTime || q == query.ScrapeInterval || q.Scope() == query.PerGateway
			if (made || special) && !covered[entry{e, q}] {
				t.Errorf("no scenario with series of %q alone expects a row of %s", e, q)
			}
		}
	}
}
