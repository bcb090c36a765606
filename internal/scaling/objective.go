package scaling

import "time"

// Objective is what requests of a model should meet. The zero value is no objective.
type Objective struct {
	Class string `json:"class,omitempty"` // name of the service class, "" for none
	// Priority is 1 to 100, lower is more important; 0 is unset and ranks as 100.
	Priority int     `json:"priority,omitempty"`
	TTFT     float64 `json:"ttft,omitempty"` // ms, waiting included; 0 is no objective
	ITL      float64 `json:"itl,omitempty"`  // ms; 0 is no objective
	// Attainment is the part of the requests that should meet both, in (0, 1); 0 stands for the
	// default, 0.95.
	Attainment float64 `json:"attainment,omitempty"`
	// AttainmentWindow is the time over which the requests are counted; 0 stands for the default, 8
	// hours.
	AttainmentWindow time.Duration `json:"attainmentWindow,omitempty"`
}

// The defaults of Attainment and AttainmentWindow.
const (
	DefaultAttainment       = 0.95
	DefaultAttainmentWindow = 8 * time.Hour
)

// Share returns the part of the requests that should meet the objective, in (0, 1).
func (o Objective) Share() float64 {
	if o.Attainment > 0 && o.Attainment < 1 {
		return o.Attainment
	}
	return DefaultAttainment
}

// prefillTTFT is the part of the TTFT that prefill may take: the rest is for the transfer of the KV
// cache and the first step of decode.
const prefillTTFT = 0.8

// Of returns the objective of one role of a model that is served in parts. Prefill and decode
// follow each other, so each gets its part of the TTFT; only decode has an ITL. For "" it returns
// o.
func (o Objective) Of(role Role) Objective {
	switch role {
	case RolePrefill:
		o.TTFT, o.ITL = prefillTTFT*o.TTFT, 0
	case RoleDecode:
		o.TTFT = (1 - prefillTTFT) * o.TTFT
	}
	return o
}

// Window returns the time over which requests are counted, > 0.
func (o Objective) Window() time.Duration {
	if o.AttainmentWindow > 0 {
		return o.AttainmentWindow
	}
	return DefaultAttainmentWindow
}

// Set reports whether o contains an objective.
func (o Objective) Set() bool { return o.TTFT > 0 || o.ITL > 0 }

// ModelObjective is the Objective of a model, with the percentiles of its requests that it applies
// to.
type ModelObjective struct {
	Model ModelKey `json:"model"`
	Objective
	// TTFTPercentile and ITLPercentile are the percentiles that should meet it, ratios in [0, 1); 0
	// is the mean.
	TTFTPercentile float64 `json:"ttftPercentile,omitempty"`
	ITLPercentile  float64 `json:"itlPercentile,omitempty"`
}

// lowestPriority is the rank of a model without a class or with a class without a priority.
const lowestPriority = 100

// Rank returns the importance of a model for sorting: 1 to 100, lower first.
func (o Objective) Rank() int {
	if o.Priority <= 0 {
		return lowestPriority
	}
	return o.Priority
}
