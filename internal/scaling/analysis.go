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

// Unit is the unit of Demand, Supply and PerReplica of an Analysis.
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
	Role     Role     `json:"role,omitempty"` // the analyzed role of a model that is served in parts, else ""
	Analyzer string   `json:"analyzer"`       // "saturation", "queueing"
	Signal   Signal   `json:"signal"`
	Unit     Unit     `json:"unit"`
	Demand   float64  `json:"demand"` // [Unit]
	// Supply is the demand that the Ready replicas can carry; Anticipated includes ordered replicas
	// and leaves out those under removal. [Unit]
	Supply      float64 `json:"supply"`
	Anticipated float64 `json:"anticipated"`
	// Variants lists the capacity of each variant. PerReplica is 0 for a variant that carries
	// nothing of the demand, or whose capacity is unknown.
	Variants []Capacity `json:"variants"` // sorted by Variant
	Reason   Reason     `json:"reason"`
	Detail   string     `json:"detail"` // one sentence with its numbers
	// FromReplicas says that Demand was measured on the replicas, not from arrivals. It depends on
	// the fleet at that time, so no more replicas are ordered for it while an order is under way.
	// The Ceilings are from arrivals.
	FromReplicas bool `json:"fromReplicas,omitempty"`
	// Fill is the largest utilization, in (0, 1), of the replicas that stay after a reduction; 0
	// leaves it to the optimizer.
	Fill float64 `json:"fill,omitempty"`
	// Ceilings are further limits of a replica, each with a demand in a unit of its
	// own: a replica is full when any of them is. Sorted by Name.
	Ceilings []Ceiling `json:"ceilings,omitempty"`
	// Apart says that some Ceilings apply to one variant each, because requests are shared by
	// variant: no other variant can take over that demand. Replicas of a variant beyond its ceiling
	// do not help the others.
	Apart bool `json:"apart,omitempty"`
	// Doubtful says that Signal is Steady instead of Shrink only because a reading of the load is
	// not Fresh. Such an analysis does not say that the replicas are wanted.
	Doubtful bool `json:"doubtful,omitempty"`
	// Promised is the rate that the Ready replicas serve by their profiles alone, without learned
	// corrections and without the allowance of the error budget [requests/s]; 0 while unknown.
	Promised float64 `json:"promised,omitempty"`
	// Predicted is the mean latency that the model predicts for the measured load on the Ready
	// replicas; zero for none.
	Predicted Latency `json:"predicted,omitzero"`
	// Infeasible lists the variants whose idle replica misses an objective, sorted by Variant.
	Infeasible []Infeasible `json:"infeasible,omitempty"`
	// Compared says that the profiles could be compared with measurements. Contradictions lists
	// where they differ by more than half, sorted by Variant.
	Compared       bool            `json:"compared,omitempty"`
	Contradictions []Contradiction `json:"contradictions,omitempty"`
	// Moved lists the variants whose stated profile was corrected by measurements, sorted by
	// Variant.
	Moved []MovedProfile `json:"moved,omitempty"`
}

// Part returns the part that a analyzes: a model, or one role of it.
func (a Analysis) Part() Part { return Part{a.Model, a.Role} }

// OnTheWay describes the anticipated supply, to follow the supply in a sentence: " (26214 with
// those ordered)". It is "" where the two are equal. format is the verb for the number.
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
	// Variants are the limits, sorted by Variant. A variant that is not listed has no such limit
	// and carries any demand.
	Variants []Limit `json:"variants"`
}

// Limit is the most that one replica of a variant can carry, >= 0, in the unit of its Ceiling; 0
// where it carries nothing.
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

// Contradiction says that the profile of a variant predicts a latency that differs from the
// measured one.
type Contradiction struct {
	Variant   VariantKey `json:"variant"`
	Quantity  string     `json:"quantity"`  // "TTFT", "ITL"
	Predicted float64    `json:"predicted"` // mean, ms
	Measured  float64    `json:"measured"`  // mean, ms
}

// MovedProfile says how far measurements moved a stated profile: the latencies of a lone request
// and of one among Together requests, without a wait, before and after.
type MovedProfile struct {
	Variant        VariantKey `json:"variant"`
	Source         string     `json:"source"`   // where the profile is stated
	Together       float64    `json:"together"` // requests, >= 1: about the largest batch that was measured
	StatedAlone    Latency    `json:"statedAlone"`
	StatedTogether Latency    `json:"statedTogether"`
	Alone          Latency    `json:"alone"`
	AllTogether    Latency    `json:"allTogether"`
	// Windows is the number of windows of its own replicas that moved it; 0 where the replicas of
	// Like did.
	Windows float64    `json:"windows,omitempty"`
	Like    VariantKey `json:"like,omitzero"`
}

// Capacity is the capacity of one replica of a variant, and its source.
type Capacity struct {
	Variant     VariantKey `json:"variant"`
	PerReplica  float64    `json:"perReplica"`  // [Unit of the Analysis]
	Utilization float64    `json:"utilization"` // ratio, > 1 is overload
	Source      string     `json:"source"`      // where PerReplica comes from
	// Fixed says that the variant takes no more load than its replicas carry. One more replica
	// would carry nothing within the objectives, or an unknown amount, so the variant must not
	// grow.
	Fixed bool `json:"fixed,omitempty"`
}
