package scaling

import (
	"math"
	"time"
)

// Traffic is what is remembered of the requests of a model: how many arrived, how long
// they were, what they held, and how fast they were served. The zero value remembers nothing.
type Traffic struct {
	Arrivals  Arrivals  `json:"arrivals,omitempty"`
	Rose      time.Time `json:"rose,omitzero"` // when the rate was last seen to rise by more than noise
	Lengths   Lengths   `json:"lengths,omitzero"`
	Footprint Footprint `json:"footprint,omitzero"`
	Shares    Shares    `json:"shares,omitzero"`
	Means     Means     `json:"means,omitzero"`
	Budget    Budget    `json:"budget,omitzero"`
	Evidence  Evidence  `json:"evidence,omitzero"`
}

// Lengths are the mean lengths of the requests of a model when both were last known:
// for the time in which no replica tells. The zero value is a model of which they
// never were.
type Lengths struct {
	Input  float64   `json:"input,omitempty"`  // tokens
	Output float64   `json:"output,omitempty"` // tokens
	At     time.Time `json:"at,omitzero"`
}

// Then returns l after a look at s.
func (l Lengths) Then(s Snapshot) Lengths {
	input, output := s.Load.InputTokens, s.Load.OutputTokens
	if !input.Known() || !output.Known() {
		return l
	}
	return Lengths{Input: input.Value, Output: output.Value, At: s.At}
}

// Shares are how the requests of a model were seen to be shared out among its
// variants where that did not follow what the variants can do. The zero value is a
// model of which that was not seen.
type Shares struct {
	At time.Time `json:"at,omitzero"`  // when it was last seen
	Of []Share   `json:"of,omitempty"` // sorted by Variant
	// ByVariant says that each variant gets its part of the requests however many
	// replicas it has, as of backends that a route gives weights, and not the more the
	// more it has.
	ByVariant bool    `json:"byVariant,omitempty"`
	Since     []Share `json:"since,omitempty"` // that those of now are compared with to tell that
}

// Share is how much one replica of a variant gets.
type Share struct {
	Variant VariantKey `json:"variant"`
	Weight  float64    `json:"weight"` // beside the mean of all replicas, > 0
	// Replicas are how many shared what the variant got when that was last seen.
	Replicas float64 `json:"replicas,omitempty"`
}

// Weight returns the weight of a variant, false where it was not seen.
func (s Shares) Weight(v VariantKey) (float64, bool) {
	for _, one := range s.Of {
		if one.Variant == v {
			return one.Weight, true
		}
	}
	return 0, false
}

// Footprint is how many tokens the requests of a model held in KV caches, beside
// how many they would hold if all were of the mean length: sums over what ran, in
// which the past counts ever less. The zero value is one never seen.
type Footprint struct {
	Held     float64   `json:"held,omitempty"`     // tokens
	Expected float64   `json:"expected,omitempty"` // tokens: running x (input + output/2)
	At       time.Time `json:"at,omitzero"`        // of the last look
}

// footprintFades is how long it takes what was seen to count e times less: as long
// as nothing of a model must have changed before its replicas move to cheaper
// variants. What answers of a model hold is for decisions that last, and changes
// with what its users do, not from one minute to the next.
const footprintFades = 10 * time.Minute

// Then returns f after a look at s. A look counts in full once a window, since those
// that are closer together show much of the same. One at which lengths, running
// requests or KV caches are not known counts for nothing, and so does one at or
// before the last.
func (f Footprint) Then(s Snapshot) Footprint {
	since := s.At.Sub(f.At)
	if since <= 0 {
		return f
	}
	counts := 1.0
	if !f.At.IsZero() {
		left := math.Exp(-since.Seconds() / footprintFades.Seconds())
		f.Held, f.Expected = left*f.Held, left*f.Expected
		if s.Window > 0 {
			counts = min(1, since.Seconds()/s.Window.Seconds())
		}
	}
	f.At = s.At
	each := s.Load.MeanTokens()
	for _, r := range s.Sorted() {
		if each > 0 && r.KVCacheUsageNow.Known() && r.KVCapacity.Known() && r.Running.Known() {
			f.Held += counts * r.KVCacheUsageNow.Value * r.KVCapacity.Value
			f.Expected += counts * r.Running.Value * each
		}
	}
	return f
}

// MeanTokens is how many tokens a request of mean length holds in the mean while it
// is computed: all of its input and half of its output. 0 where that is not known.
func (l Load) MeanTokens() float64 {
	if !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return 0
	}
	return l.InputTokens.Value + l.OutputTokens.Value/2
}

// Computed is how many tokens of a prompt are computed in the mean: those that are not
// found in the prefix cache. It is false where that is not known.
func (l Load) Computed() (float64, bool) {
	return l.InputTokens.Value * (1 - min(1, l.PrefixHits.Or(0))), l.InputTokens.Known()
}
