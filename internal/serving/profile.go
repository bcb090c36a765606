package serving

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The limits of a Profile are wide enough for any real engine, and narrow enough for sums over a
// step to be exact.
const (
	maxMillis = 1e6     // ms: a step of a quarter of an hour
	maxTokens = 1 << 30 // tokens
	maxBatch  = 1 << 16 // sequences
)

// Profile describes one replica: a model on an accelerator with its engine
// settings. Times are in ms, lengths and capacities in tokens.
type Profile struct {
	Name             string  `json:"name"`                    // identifies the profile, not empty
	Accelerator      string  `json:"accelerator"`             // canonical type, "L40S"; not empty
	AlphaMS          float64 `json:"alphaMS"`                 // decode step at batch 0 [ms], (0, 1e6]
	BetaMS           float64 `json:"betaMS"`                  // added per decoding request [ms], [0, 1e6]
	GammaMS          float64 `json:"gammaMS"`                 // prefill at 0 tokens [ms], [0, 1e6]
	DeltaMS          float64 `json:"deltaMS"`                 // added per token of prompt [ms], [0, 1e6]
	PrefillFloorMS   float64 `json:"prefillFloorMS,omitzero"` // least time of a step that computes prompt [ms], [0, 1e6]; 0 = none
	MaxBatchSize     int     `json:"maxBatchSize"`            // running requests, [1, 65536]
	MaxBatchedTokens int     `json:"maxBatchedTokens"`        // tokens per step, [MaxBatchSize, 2^30]
	KVCacheTokens    int     `json:"kvCacheTokens"`           // KV cache capacity [tokens], [BlockSize, 2^30]; whole blocks count
	BlockSize        int     `json:"blockSize"`               // tokens per KV cache block, [1, 65536]
	MaxModelLen      int     `json:"maxModelLen"`             // input + output tokens of one request, [2, 2^30]
	MaxQueue         int     `json:"maxQueue"`                // live requests beyond MaxBatchSize before refusal, [0, 2^30]; 0 = unbounded
}

// FieldError reports a field of a Profile that is out of its range.
type FieldError struct {
	Field string // JSON name
	Value string // as given
	Want  string // accepted range
}

// Error returns a message with the field, its value and the accepted range.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, want %s", e.Field, e.Value, e.Want)
}

// Validate returns nil, or a *FieldError for the first field out of its range.
func (p Profile) Validate() error {
	for _, f := range []struct{ name, value string }{{"name", p.Name}, {"accelerator", p.Accelerator}} {
		if strings.TrimSpace(f.value) == "" {
			return &FieldError{Field: f.name, Value: strconv.Quote(f.value), Want: "a non-empty text"}
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"alphaMS", p.AlphaMS}, {"betaMS", p.BetaMS}, {"gammaMS", p.GammaMS}, {"deltaMS", p.DeltaMS}, {"prefillFloorMS", p.PrefillFloorMS}} {
		if math.IsNaN(f.value) || f.value < 0 || f.value > maxMillis {
			return &FieldError{Field: f.name, Value: formatFloat(f.value), Want: "ms in [0, 1e6]"}
		}
	}
	if p.AlphaMS == 0 {
		return &FieldError{Field: "alphaMS", Value: "0", Want: "ms in (0, 1e6]: a step takes time"}
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"maxBatchSize", p.MaxBatchSize, 1, maxBatch},
		{"maxBatchedTokens", p.MaxBatchedTokens, p.MaxBatchSize, maxTokens},
		{"blockSize", p.BlockSize, 1, maxBatch},
		{"kvCacheTokens", p.KVCacheTokens, p.BlockSize, maxTokens},
		{"maxModelLen", p.MaxModelLen, 2, maxTokens},
		{"maxQueue", p.MaxQueue, 0, maxTokens},
	} {
		if f.value < f.low || f.value > f.high {
			return &FieldError{Field: f.name, Value: strconv.Itoa(f.value), Want: fmt.Sprintf("an integer in [%d, %d]", f.low, f.high)}
		}
	}
	return nil
}

// Prefill returns the time in ms of one prompt of so many tokens that runs alone and fits into one
// step.
func (p Profile) Prefill(tokens float64) float64 {
	return max(p.GammaMS+p.DeltaMS*tokens, p.PrefillFloorMS)
}

// Blocks returns the number of KV cache blocks, >= 1 for a valid profile.
func (p Profile) Blocks() int { return p.KVCacheTokens / p.BlockSize }

// MaxOutput returns the most tokens that a request of inputTokens can generate here: the largest
// number that both MaxModelLen and the KV cache allow. It is below 1 when the input alone is too
// long.
func (p Profile) MaxOutput(inputTokens int) int {
	// The last output token is never computed, so it needs no KV cache.
	return min(p.MaxModelLen, p.Blocks()*p.BlockSize+1) - inputTokens
}

// ParseProfiles reads a JSON array of profiles, rejects unknown fields and validates each. Errors
// name the profile and the field. Names are unique.
func ParseProfiles(data []byte) ([]Profile, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var profiles []Profile
	if err := dec.Decode(&profiles); err != nil {
		return nil, fmt.Errorf("parsing profiles: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("parsing profiles: text after the array at byte %d", dec.InputOffset())
	}
	seen := make(map[string]bool, len(profiles))
	for i, p := range profiles {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("profile %d %q: %w", i, p.Name, err)
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("profile %d: %w", i, &FieldError{Field: "name", Value: strconv.Quote(p.Name), Want: "a name not used before"})
		}
		seen[p.Name] = true
	}
	return profiles, nil
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
