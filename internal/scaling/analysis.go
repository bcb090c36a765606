package scaling

import "fmt"

// Signal is the direction in which an analyzer wants a model to go.
type Signal uint8

// The signals. Unknown is the zero value and means hold.
const (
	Unknown Signal = iota
	Steady
	Grow
	Shrink
)

// String returns the signal's name in lower case.
func (s Signal) String() string {
	switch s {
	case Steady:
		return "steady"
	case Grow:
		return "grow"
	case Shrink:
		return "shrink"
	default:
		return "unknown"
	}
}

// Unit is what Demand, Supply and PerReplica of an Analysis count.
type Unit string

// The units.
const (
	// UnitReplicas counts replicas loaded up to the point where growth begins.
	UnitReplicas Unit = "replicas"
	// UnitRequestRate counts requests/s served within the objectives.
	UnitRequestRate Unit = "requests/s"
	// UnitTokens counts tokens in the KV cache.
	UnitTokens Unit = "tokens"
	// UnitRequests counts requests computed at the same time.
	UnitRequests Unit = "requests"
)

// Analysis is one analyzer's view of one model.
type Analysis struct {
	Model    ModelKey `json:"model"`
	Role     Role     `json:"role,omitempty"` // that it is of, in a model that is served in parts
	Analyzer string   `json:"analyzer"`       // "saturation", "queueing"
	Signal   Signal   `json:"signal"`
	Unit     Unit     `json:"unit"`
	Demand   float64  `json:"demand"` // [Unit]
	// Supply counts what serves now, Anticipated also what was ordered. [Unit]
	Supply      float64 `json:"supply"`
	Anticipated float64 `json:"anticipated"`
	// Variants lists what each variant can do. The PerReplica of 0 is a variant
	// that carries nothing of the demand, or of which that is not known.
	Variants []Capacity `json:"variants"` // sorted by Variant
	Reason   Reason     `json:"reason"`
	Detail   string     `json:"detail"` // one sentence with its numbers
	// FromReplicas says that Demand was read off the replicas, not off what arrives:
	// it tells of the fleet that it was measured on, so that nothing more is ordered
	// for it while an order is under way. The Ceilings are of what arrives.
	FromReplicas bool `json:"fromReplicas,omitempty"`
	// Fill is how full, as a part of the Demand's supply, the replicas that stay after
	// a reduction may be, a ratio in (0, 1); 0 leaves that to the optimizer.
	Fill float64 `json:"fill,omitempty"`
	// Ceilings are further limits of a replica, each with a demand in a unit of its
	// own: a replica is full when any of them is. Sorted by Name.
	Ceilings []Ceiling `json:"ceilings,omitempty"`
	// Apart says that some of the Ceilings ask one variant for what no other can take off
	// it: requests are shared out by variant. One that has more replicas than they ask for
	// is of no use to the others.
	Apart bool `json:"apart,omitempty"`
	// Doubtful says that Signal is Steady instead of Shrink only because a reading of the load is not
	// Fresh. Such an analysis does not say that the replicas are wanted.
	Doubtful bool `json:"doubtful,omitempty"`
	// Promised is what the Ready replicas serve by their profiles alone, without what was
	// learned of them and what the error budget allows [requests/s]; 0 where that is not known.
	Promised float64 `json:"promised,omitempty"`
	// Predicted is the mean latency that the model expects of the measured load on
	// the Ready replicas; its zero value is none.
	Predicted Latency `json:"predicted,omitzero"`
	// Infeasible lists the variants of which one idle replica misses an objective,
	// sorted by Variant.
	Infeasible []Infeasible `json:"infeasible,omitempty"`
	// Compared says that the profiles could be compared with what is measured, and
	// Contradictions lists where they differ by more than half, sorted by Variant.
	Compared       bool            `json:"compared,omitempty"`
	Contradictions []Contradiction `json:"contradictions,omitempty"`
	// Moved lists the variants whose stated profile was moved by what was measured, sorted by Variant.
	Moved []MovedProfile `json:"moved,omitempty"`
}

// Part returns what a is of: a model, or one role of it.
func (a Analysis) Part() Part { return Part{a.Model, a.Role} }

// OnTheWay says what the supply will be, behind what it is: " (26214 with those ordered)".
// It is "" where the two do not differ. format is that of the number.
func (a Analysis) OnTheWay(format string) string {
	switch {
	case a.Anticipated > a.Supply:
		return fmt.Sprintf(" ("+format+" with those ordered)", a.Anticipated)
	case a.Anticipated < a.Supply:
		return fmt.Sprintf(" ("+format+" without those that are removed)", a.Anticipated)
	}
	return ""
}

// Ceiling is one more limit of a replica.
type Ceiling struct {
	Name   string  `json:"name"` // "batch", "prefill", "decode"
	Unit   Unit    `json:"unit"`
	Demand float64 `json:"demand"` // [Unit]
	// Variants are the limits, sorted by Variant. A variant that is not listed has
	// none of this name, and carries any demand.
	Variants []Limit `json:"variants"`
}

// Limit is what one replica of a variant can carry, >= 0, in the unit of its
// Ceiling; 0 is a variant that is of no help.
type Limit struct {
	Variant    VariantKey `json:"variant"`
	PerReplica float64    `json:"perReplica"`
}

// Latency is a TTFT and an ITL. Its zero value is none.
type Latency struct {
	TTFT float64 `json:"ttft"` // ms, waiting included
	ITL  float64 `json:"itl"`  // ms
}

// Infeasible says that an idle replica of a variant misses an objective.
type Infeasible struct {
	Variant VariantKey `json:"variant"`
	Target  string     `json:"target"` // "TTFT", "ITL"
	Wanted  float64    `json:"wanted"` // ms
	Best    float64    `json:"best"`   // ms, of a replica without other load
}

// Contradiction says that the profile of a variant predicts another latency
// than is measured.
type Contradiction struct {
	Variant   VariantKey `json:"variant"`
	Quantity  string     `json:"quantity"`  // "TTFT", "ITL"
	Predicted float64    `json:"predicted"` // mean, ms
	Measured  float64    `json:"measured"`  // mean, ms
}

// MovedProfile says how far a stated profile was moved by what was measured: the latencies of a request
// that is alone, and of one of Together, without a wait.
type MovedProfile struct {
	Variant        VariantKey `json:"variant"`
	Source         string     `json:"source"`   // where the profile is stated
	Together       float64    `json:"together"` // requests, >= 1: about the most that were seen together
	StatedAlone    Latency    `json:"statedAlone"`
	StatedTogether Latency    `json:"statedTogether"`
	Alone          Latency    `json:"alone"`
	AllTogether    Latency    `json:"allTogether"`
	// Windows of its own replicas moved it; 0 where those of Like did.
	Windows float64    `json:"windows,omitempty"`
	Like    VariantKey `json:"like,omitzero"`
}

// Capacity is what one replica of a variant can do, and how it is known.
type Capacity struct {
	Variant     VariantKey `json:"variant"`
	PerReplica  float64    `json:"perReplica"`  // [Unit of the Analysis]
	Utilization float64    `json:"utilization"` // ratio, > 1 is overload
	Source      string     `json:"source"`      // how PerReplica is known
	// Fixed says that the variant takes no more than its replicas carry: what another
	// replica of it would carry within the objectives is nothing or not known, so that
	// it is no candidate for growth.
	Fixed bool `json:"fixed,omitempty"`
}
