package history

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Number is a number in JSON. Unknown is NaN in Go and null in JSON.
type Number float64

// Unknown returns the unknown Number.
func Unknown() Number { return Number(math.NaN()) }

// Known reports whether n is known.
func (n Number) Known() bool { return finite(float64(n)) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// MarshalJSON returns the number, or null.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n)), nil }

// UnmarshalJSON reads what MarshalJSON returns.
func (n *Number) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	if string(text) != "null" {
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
	}
	*n = Number(v)
	return nil
}

// Column is a quantity over time: one number for each time of its table, NaN for unknown.
type Column []float64

// MarshalJSON returns the numbers, with null for unknown.
func (c Column) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 2+8*len(c))
	out = append(out, '[')
	for i, v := range c {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendNumber(out, v)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON returns.
func (c *Column) UnmarshalJSON(text []byte) error {
	var numbers []*float64
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	*c = make(Column, len(numbers))
	for i, n := range numbers {
		(*c)[i] = math.NaN()
		if n != nil {
			(*c)[i] = *n
		}
	}
	return nil
}

func appendNumber(to []byte, v float64) []byte {
	if !finite(v) {
		return append(to, "null"...)
	}
	return strconv.AppendFloat(to, v, 'g', 7, 64)
}

// Time is an instant. In JSON it is a number of seconds since 1970, with milliseconds; null for the
// zero time.
type Time struct{ time.Time }

// At returns t as a Time.
func At(t time.Time) Time { return Time{t} }

// MarshalJSON returns the seconds, or null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(t.UnixMilli())/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON returns.
func (t *Time) UnmarshalJSON(text []byte) error {
	var seconds *float64
	if err := json.Unmarshal(text, &seconds); err != nil {
		return err
	}
	*t = Time{}
	if seconds != nil {
		*t = Time{time.UnixMilli(int64(math.Round(1000 * *seconds))).UTC()}
	}
	return nil
}

// Fleet is every model with its variants as of one cycle.
type Fleet struct {
	Revision int64           `json:"revision"` // grows by one with each cycle
	At       Time            `json:"at"`       // when the cycle decided
	Cycle    scaling.CycleID `json:"cycle"`
	Interval float64         `json:"interval"` // planned s until the next cycle; 0 where only a change starts one
	From     Time            `json:"from"`     // beginning of the history
	Source   Source          `json:"source,omitzero"`
	Refused  []string        `json:"refused"` // the namespaces that could not be read, and why
	Models   []Model         `json:"models"`  // the most urgent first, then by key
}

// Source is the origin of a Fleet. The manager leaves it to its reader.
type Source struct {
	Kind    string `json:"kind"`    // "live" or "record"
	Name    string `json:"name"`    // of the pod, or of the file
	Trouble string `json:"trouble"` // why it is not current, a sentence; "" where it is
}

// Model is one model of a Fleet.
type Model struct {
	Namespace string    `json:"namespace"`
	Model     string    `json:"model"`
	Objective Objective `json:"objective"`
	Load      Number    `json:"load"`    // requests/s that arrive
	Waiting   Number    `json:"waiting"` // requests that wait, at the gateway and in replicas
	TTFT      Number    `json:"ttft"`    // mean, ms
	ITL       Number    `json:"itl"`     // mean, ms
	Missed    Number    `json:"missed"`  // part of the requests that miss an objective, a ratio
	Cost      Number    `json:"cost"`    // of the current replicas, per hour
	Engine    string    `json:"engine"`
	Advisory  bool      `json:"advisory"`
	// Look is how urgent its troubles are, explain.Fine to explain.Urgent: the greatest of its own
	// and its variants'.
	Look     explain.Severity `json:"look"`
	Troubles []string         `json:"troubles"` // sentences, most urgent first
	Variants []Variant        `json:"variants"` // by key
}

// Objective is what requests of a model should meet. Unknown is no objective.
type Objective struct {
	TTFT       Number `json:"ttft"`       // ms
	ITL        Number `json:"itl"`        // ms
	Attainment Number `json:"attainment"` // part of the requests, a ratio
	Class      string `json:"class"`
}

// Variant is one variant of a Model.
type Variant struct {
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Accelerator string           `json:"accelerator"`
	GPUs        int              `json:"gpus"`    // of one replica
	Desired     Number           `json:"desired"` // replicas decided on
	Current     Number           `json:"current"` // replicas that the target asks for
	Ready       Number           `json:"ready"`
	Ordered     Number           `json:"ordered"` // replicas decided on or asked for, and not Ready
	Late        Number           `json:"late"`    // the overdue ones of these
	Min         int              `json:"min"`
	Max         Number           `json:"max"`    // Unknown where there is none
	Cost        float64          `json:"cost"`   // of one replica, per hour
	Action      string           `json:"action"` // "grow", "shrink" or "hold"
	Reason      string           `json:"reason"` // a sentence
	Look        explain.Severity `json:"look"`
	Troubles    []string         `json:"troubles"`
}

// ModelHistory is one model over time, as columns along T. Where a column was thinned, two rows
// stand for a longer period, with its least and its greatest value in order of time.
type ModelHistory struct {
	Model    Model  `json:"model"` // as of the last cycle
	From     Time   `json:"from"`
	To       Time   `json:"to"`
	Complete bool   `json:"complete"` // history reaches back to From
	Begins   Time   `json:"begins"`   // beginning of the history of the model
	T        []Time `json:"t"`
	// Step is how far apart rows are at most because of thinning, s; 0 where each row is a cycle.
	Step        float64          `json:"step"`
	Load        Column           `json:"load"`        // requests/s that arrive
	Utilization Column           `json:"utilization"` // demand over supply, a ratio; above 1 is overload
	Waiting     Column           `json:"waiting"`     // requests
	TTFT        Column           `json:"ttft"`        // mean, ms
	ITL         Column           `json:"itl"`         // mean, ms
	Missed      Column           `json:"missed"`      // ratio
	Cost        Column           `json:"cost"`        // per hour
	Variants    []VariantHistory `json:"variants"`
	Decisions   []Change         `json:"decisions"` // that changed a number, oldest first
	// Left is the number of older decisions that are left out.
	Left int `json:"left"`
	// Before describes the rows from a store of metrics; the manager leaves it to its reader.
	Before Before `json:"before,omitzero"`
}

// Before says which rows of a ModelHistory are from a store of metrics, because they are older than
// the memory of the manager. The zero value means that no store was asked.
type Before struct {
	Source  string  `json:"source"`  // name of the store
	From    Time    `json:"from"`    // the first row from it; the zero time for none
	Until   Time    `json:"until"`   // rows before this are from it
	Step    float64 `json:"step"`    // between its rows, s
	Trouble string  `json:"trouble"` // why no row is from it
	Pending bool    `json:"pending"` // it has not answered yet
}

// VariantHistory is one variant of a ModelHistory, in replicas.
type VariantHistory struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Desired   Column `json:"desired"`  // decided on
	Current   Column `json:"current"`  // asked for by the target
	Ready     Column `json:"ready"`    // Ready
	Serving   Column `json:"serving"`  // Ready, and measured
	Draining  Column `json:"draining"` // beyond the replicas asked for, and not ended
}

// Change is a decision that changed the number of replicas of a variant.
type Change struct {
	T         Time            `json:"t"`
	Cycle     scaling.CycleID `json:"cycle"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	From      int             `json:"from"` // replicas
	To        int             `json:"to"`   // replicas
	Stage     scaling.Stage   `json:"stage"`
	Reason    scaling.Reason  `json:"reason"`
	Sentence  string          `json:"sentence"`
	Kept      bool            `json:"kept"` // the record of the cycle is kept
}

// VariantName names a variant.
type VariantName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Replicas are the replicas of a model over time.
type Replicas struct {
	From     Time      `json:"from"`
	To       Time      `json:"to"`
	Complete bool      `json:"complete"` // none was left out
	Replicas []Replica `json:"replicas"` // by when they began
}

// Replica is one replica over time. The zero Time means unknown.
type Replica struct {
	Variant     VariantName `json:"variant"`
	Pod         string      `json:"pod"`         // "" while it has none
	Ordered     Time        `json:"ordered"`     // when it was decided on
	Created     Time        `json:"created"`     // when its pod was created
	Scheduled   Time        `json:"scheduled"`   // when a node took it
	Started     Time        `json:"started"`     // when its kubelet began to start it
	Ready       Time        `json:"ready"`       // when it first became Ready
	Terminating Time        `json:"terminating"` // when it was first missing among the live pods
	Ended       Time        `json:"ended"`
	Phases      []Phase     `json:"phases"`
	Decision    *OrderedBy  `json:"decision"`
	Says        string      `json:"says"` // a sentence
}

// Phase is a period of a replica in one state.
type Phase struct {
	From  Time   `json:"from"`
	To    Time   `json:"to"`
	Phase string `json:"phase"` // "ordered", "unscheduled", "starting", "notready", "serving" or "draining"
}

// OrderedBy is the decision that ordered a replica.
type OrderedBy struct {
	Cycle    scaling.CycleID `json:"cycle"`
	Sentence string          `json:"sentence"`
}
