package scaling

import "time"

// Objective is what requests of a model should meet. The zero value is that of
// a model without one.
type Objective struct {
	Class string `json:"class,omitempty"` // name of the service class, "" for none
	// Priority is 1 to 100, lower is more important; 0 is that of no class and
	// comes last.
	Priority int     `json:"priority,omitempty"`
	TTFT     float64 `json:"ttft,omitempty"` // ms, waiting included; 0 is no objective
	ITL      float64 `json:"itl,omitempty"`  // ms; 0 is no objective
	// Attainment is the part of the requests that are to meet both, a ratio in (0, 1);
	// 0 is the default, 0.95.
	Attainment float64 `json:"attainment,omitempty"`
	// AttainmentWindow is the time over which they are counted; 0 is the default, 8 hours.
	AttainmentWindow time.Duration `json:"attainmentWindow,omitempty"`
}

// The defaults of Attainment and AttainmentWindow.
const (
	DefaultAttainment       = 0.95
	DefaultAttainmentWindow = 8 * time.Hour
)

// Share is the part of the requests that are to meet the objective, in (0, 1).
func (o Objective) Share() float64 {
	if o.Attainment > 0 && o.Attainment < 1 {
		return o.Attainment
	}
	return DefaultAttainment
}

// prefillTTFT is the part of the TTFT that prefill may take: the rest is for handing the KV cache over and for
// the first step of decode.
const prefillTTFT = 0.8

// Of returns what one role of a model that is served in parts should meet. Prefill and decode follow each
// other, so each has its part of the TTFT; the ITL is that of decode. Of "" it is the objective itself.
func (o Objective) Of(role Role) Objective {
	switch role {
	case RolePrefill:
		o.TTFT, o.ITL = prefillTTFT*o.TTFT, 0
	case RoleDecode:
		o.TTFT = (1 - prefillTTFT) * o.TTFT
	}
	return o
}

// Window is the time over which they are counted, > 0.
func (o Objective) Window() time.Duration {
	if o.AttainmentWindow > 0 {
		return o.AttainmentWindow
	}
	return DefaultAttainmentWindow
}

// Set reports whether there is anything to meet.
func (o Objective) Set() bool { return o.TTFT > 0 || o.ITL > 0 }

// ModelObjective is the Objective of a model, and which part of its requests it is
// for.
type ModelObjective struct {
	Model ModelKey `json:"model"`
	Objective
	// TTFTPercentile and ITLPercentile are the percentiles that are held to it, ratios
	// in [0, 1); 0 is the mean.
	TTFTPercentile float64 `json:"ttftPercentile,omitempty"`
	ITLPercentile  float64 `json:"itlPercentile,omitempty"`
}

// lowestPriority is that of a model without a class, as of a class without a
// priority.
const lowestPriority = 100

// Rank orders models by importance: 1 to 100, lower first.
func (o Objective) Rank() int {
	if o.Priority <= 0 {
		return lowestPriority
	}
	return o.Priority
}
