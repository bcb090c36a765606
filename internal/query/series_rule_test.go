package query_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

func TestEveryEngineHasARecipeForEveryQuantityOfItsPages(t *testing.T) {
	for _, e := range query.Engines() {
		for _, q := range query.All() {
			_, got := query.RecipeOf(e, q, nil)
			want := q != query.PageTime && q != query.ScrapeInterval && q.Scope() != query.PerGateway
			want = want && (e != query.SGLang || q != query.RequestITLBuckets) // SGLang tells the ITL of tokens alone
			if got != want {
				t.Errorf("%s of %s: recipe %v, want %v", q, e, got, want)
			}
		}
	}
	if _, ok := query.RecipeOf("tgi", query.Running, nil); ok || query.Engine("tgi").Witness() != "" {
		t.Error("got a recipe or a witness for an engine that is not in the catalogue")
	}
}

// TestRecipesAreWellFormed states what both interpreters rely on.
func TestRecipesAreWellFormed(t *testing.T) {
	for _, e := range query.Engines() {
		for _, q := range query.All() {
			r, ok := query.RecipeOf(e, q, nil)
			if !ok {
				continue
			}
			for _, s := range slices.Concat(r.Of, r.Holds, r.Still) {
				wellFormed(t, e, q, s)
			}
			if got, want := len(r.Of) > 0, r.Over != query.NoRequests; got != want {
				t.Errorf("%s of %s is made of series: %v, want %v", q, e, got, want)
			}
			if (r.Worst || r.Over == query.Info || r.Over == query.Buckets) && len(r.Of) != 1 {
				t.Errorf("%s of %s: one of %d addends would be lost", q, e, len(r.Of))
			}
			if got, want := len(r.Per.Names) > 0, r.Over == query.Mean; got != want {
				t.Errorf("%s of %s: Per %v, want %v", q, e, got, want)
			} else if want {
				wellFormed(t, e, q, r.Per)
				if histogram := strings.HasSuffix(r.Of[0].Names[0], "_sum"); histogram && len(r.Per.Names) != len(r.Of[0].Names) {
					t.Errorf("%s of %s: %d twins over %d", q, e, len(r.Of[0].Names), len(r.Per.Names))
				}
			}
			if got, want := len(r.Holds) > 0 && len(r.Still) > 0, r.Over == query.Idle || r.Over == query.NoRequests; got != want {
				t.Errorf("%s of %s: conditions %v, want %v", q, e, got, want)
			}
		}
	}
}

func wellFormed(t *testing.T, e query.Engine, q query.Quantity, s query.Series) {
	t.Helper()
	if len(s.Names) == 0 {
		t.Errorf("%s of %s: a series without a name", q, e)
	}
	for i, name := range s.Names {
		own := strings.HasPrefix(name, string(e)+":") || e == query.VLLM && hasPrefix(name)
		if !own || slices.Contains(s.Names[:i], name) {
			t.Errorf("%s of %s: %s is no name of a series of it, or is twice there", q, e, name)
		}
	}
	for _, pair := range slices.Concat(s.With, s.Without) {
		if label, _, ok := strings.Cut(pair, "="); !ok || label == "" {
			t.Errorf("%s of %s: %q is not name=value", q, e, pair)
		}
	}
}

func hasPrefix(name string) bool {
	return slices.ContainsFunc(query.DefaultPrefixes(), func(p string) bool { return strings.HasPrefix(name, p) })
}

func TestLatenciesAreScaledToMilliseconds(t *testing.T) {
	for _, e := range query.Engines() {
		for _, q := range query.All() {
			r, _ := query.RecipeOf(e, q, nil)
			if got, want := r.Scale == 1000, q.Unit() == query.Milliseconds; got != want {
				t.Errorf("%s of %s: scaled by %v", q, e, r.Scale)
			}
		}
	}
}

func TestRecipesAreNotShared(t *testing.T) {
	for _, e := range query.Engines() {
		r, _ := query.RecipeOf(e, query.ITL, nil)
		r.Of[0].Names[0] = "changed"
		again, _ := query.RecipeOf(e, query.ITL, nil)
		other, _ := query.RecipeOf(e, query.ITLBuckets, nil)
		if again.Of[0].Names[0] == "changed" || other.Of[0].Names[0] == "changed" {
			t.Errorf("%s: a change of what was returned reached the catalogue", e)
		}
	}
}

func TestTheWitnessIsWhatRunningIsMadeOf(t *testing.T) {
	got := map[query.Engine][]string{}
	for _, e := range query.Engines() {
		r, _ := query.RecipeOf(e, query.Running, nil)
		got[e] = []string{e.Witness(), r.Of[0].Names[0]}
	}
	want := map[query.Engine][]string{
		query.VLLM:   {"vllm:num_requests_running", "vllm:num_requests_running"},
		query.SGLang: {"sglang:num_running_reqs", "sglang:num_running_reqs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("witnesses (-want +got):\n%s", diff)
	}
}
