package chart

import (
	"math/rand/v2"
	"strings"
	"testing"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
)

// randomValues returns values that the chart accepts: each value of it is, with a
// chance of one in eight, another than its default. What contradicts itself is
// drawn again; what breaks a template fails the test.
func randomValues(t testing.TB, rng *rand.Rand, chart *v2.Chart, all []*Value) map[string]any {
	t.Helper()
	for range 200 {
		drawn := map[string]any{}
		for _, v := range Leaves(all) {
			if others := v.Alternatives(); rng.IntN(8) == 0 {
				set(drawn, v.Path, others[rng.IntN(len(others))])
			}
		}
		_, err := execute(chart, drawn, standard, unchecked)
		switch {
		case err == nil:
			return drawn // what renders it holds it against the schema
		case !strings.Contains(err.Error(), "execution error at"):
			t.Fatalf("values %v: %s", drawn, err)
		}
	}
	t.Fatal("no values without a contradiction in 200 draws")
	return nil
}

// Random values are drawn from this seed: 50 of them here and in the API test.
const (
	randomSeed  = 9
	randomCount = 50
)

func TestRandomValuesRender(t *testing.T) {
	t.Parallel()
	chart := load(t)
	all, _ := described(t)
	rng := rand.New(rand.NewPCG(randomSeed, 0))
	different := map[string]bool{}
	for range randomCount {
		out := mustRender(t, chart, randomValues(t, rng, chart, all), standard)
		different[strings.Join(identities(out), " ")] = true
	}
	if len(different) < randomCount/2 {
		t.Errorf("got %d different sets of objects from %d random values, want at least half", len(different), randomCount)
	}
}
