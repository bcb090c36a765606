package lab

import (
	"os"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// FuzzScenario reads scenario files: a scenario that can be run, or an error of a length
// that the lab reads.
func FuzzScenario(f *testing.F) {
	for _, seed := range []string{
		fleetFile, "", "models: []", "models: [{id: m, variants: [{profile: 8b}]}]", "a: &a [*a]", "models: &m [{id: x, variants: *m}]",
		"models: [{id: m, share: .inf, variants: [{profile: {name: x, alphaMS: .nan, kvCacheTokens: 1e400}}]}]", "{}\n---\n{}", "duration: 99999999h\ntail: -1s",
	} {
		f.Add([]byte(seed))
	}
	profiles := []serving.Profile{testProfile()}
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := ParseScenario(content, ScenarioOptions{File: "s.yaml", Profiles: profiles, Open: noFile})
		if err != nil {
			if len(err.Error()) > 1<<14+16*len(content) {
				t.Fatalf("an error of %d bytes about %d", len(err.Error()), len(content))
			}
			return
		}
		if wrong := s.validate(); wrong != nil {
			t.Fatalf("accepted, although %v", wrong)
		}
	})
}

// noFile opens no file: a fuzzed name may be any.
func noFile(string) (Record, error) { return Record{}, os.ErrNotExist }
