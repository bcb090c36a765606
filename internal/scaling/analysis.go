package scaling

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

// UnitReplicas counts replicas loaded up to the point where growth begins.
const UnitReplicas Unit = "replicas"

// Analysis is one analyzer's view of one model.
type Analysis struct {
	Model    ModelKey `json:"model"`
	Analyzer string   `json:"analyzer"` // "saturation", "queueing"
	Signal   Signal   `json:"signal"`
	Unit     Unit     `json:"unit"`
	Demand   float64  `json:"demand"` // [Unit]
	// Supply counts what serves now, Anticipated also what was ordered. [Unit]
	Supply      float64 `json:"supply"`
	Anticipated float64 `json:"anticipated"`
	// Removable counts the replicas whose load the others can take without
	// reaching the point where growth begins.
	Removable int        `json:"removable"`
	Variants  []Capacity `json:"variants"` // sorted by Variant
	Reason    Reason     `json:"reason"`
	Detail    string     `json:"detail"` // one sentence with its numbers
}

// Capacity is what one replica of a variant can do, and how it is known.
type Capacity struct {
	Variant     VariantKey `json:"variant"`
	PerReplica  float64    `json:"perReplica"`  // [Unit of the Analysis]
	Utilization float64    `json:"utilization"` // ratio, > 1 is overload
	Source      string     `json:"source"`      // how PerReplica is known
}
