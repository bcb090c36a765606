package emulator

import (
	_ "embed" // the built-in profiles
	"fmt"
	"maps"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// profilesJSON holds the profiles of the demonstration. They are invented: plausible
// speeds, and KV caches so small that a few requests per second, of 200 input and 200
// output tokens, saturate one replica. See
// TestBuiltInProfilesSaturateWhereTheDemonstrationNeedsIt.
//
//go:embed profiles.json
var profilesJSON []byte

// Profiles are serving profiles by name.
type Profiles map[string]serving.Profile

// BuiltInProfiles returns the profiles of the demonstration.
func BuiltInProfiles() (Profiles, error) {
	return Profiles{}.With(profilesJSON)
}

// With returns a copy of p with the profiles of a JSON array added; those of
// the same name are replaced. An error names the profile and the field.
func (p Profiles) With(data []byte) (Profiles, error) {
	added, err := serving.ParseProfiles(data)
	if err != nil {
		return nil, fmt.Errorf("adding profiles: %w", err)
	}
	merged := maps.Clone(p)
	for _, profile := range added {
		merged[profile.Name] = profile
	}
	return merged, nil
}
