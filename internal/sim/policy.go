package sim

import (
	"cmp"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Policy sets replicas. A run asks it in the order of time; it may keep state
// and must not draw anything random or read a clock.
type Policy interface {
	// Name identifies the policy in a Report.
	Name() string
	// Interval is the time between two decisions, 100ms or more. It is asked for
	// once.
	Interval() time.Duration
	// Decide returns the replicas wanted of each variant that it has a say on;
	// the others stay as they are. An error ends the run.
	Decide(View) ([]Target, error)
}

// Attentive is a Policy that is asked at the start of a run, and earlier than
// after its Interval when something happens.
type Attentive interface {
	Policy
	// Attention says when. It is asked for once.
	Attention() Attention
	// Look reports whether to ask for a decision at once. The View has no Models and
	// no Inventory.
	Look(View) bool
}

// Measuring is a Policy that measures, by what the replicas report, which part of the
// requests of a model met the objective.
type Measuring interface {
	Policy
	// Measured returns that part of all requests of the run so far, a ratio, and false
	// where nothing was measured.
	Measured(scaling.ModelKey) (attainment float64, known bool)
}

// Attention is when an Attentive policy is asked beside its interval. The zero
// value is never.
type Attention struct {
	Looks   time.Duration // between two looks, 0 for none
	Changes bool          // when the replicas of a variant have changed, or those that are Ready
	// Rest is the least time between two decisions of which a look or a change
	// asked for the later.
	Rest time.Duration
	// Alone says that nothing else brings a decision after the first.
	Alone bool
}

// View is what a policy sees at one instant. It must not be modified.
type View struct {
	Now       time.Time
	Snapshots []scaling.Snapshot // as the collector makes them, sorted by model
	Models    []ModelView        // what stands in no Snapshot, in the same order
	// Inventory is the stock of accelerators. Those that never run out are there in
	// plenty.
	Inventory scaling.Inventory
}

// ModelView is what the gateway and the cluster know of a model, at this instant
// and without any lag, for policies that live there.
type ModelView struct {
	Model       scaling.ModelKey
	SLO         SLO
	Held        int           // requests that wait for a first replica
	Passed      int           // requests that wait for a decode replica, of a model that is served in parts
	InFlight    int           // requests that arrived and have not ended, Held and Passed included
	InputTokens int64         // of the requests in flight
	Arrived     uint64        // requests since the start of the run, those that came back included
	Shapes      *Shapes       // of Arrived
	Variants    []VariantView // sorted by Key
	Pods        []PodView     // that exist and are not being removed, sorted by Variant, Name
}

// VariantView is what is known of a variant by itself.
type VariantView struct {
	Key           scaling.VariantKey
	KVTokens      float64 // of the KV cache of a replica, 0 where it is not known
	BatchedTokens float64 // that one step of a replica computes at most, 0 where it is not known
	// ArrivalRate is what the store of metrics says.
	ArrivalRate scaling.Reading // requests/s: completions, and growth of what is in flight
	// InFlight counts the requests in its pods at this instant, as a proxy in front
	// of each counts them; those in pods that are being removed are left out.
	InFlight int
}

// PodView is a pod as the cluster lists it.
type PodView struct {
	Name    string
	Variant scaling.VariantKey
	Placed  bool // it has a node
	Ready   bool
	// QueuedTokens counts the input tokens of the requests that waited in the
	// replica at its last scrape.
	QueuedTokens scaling.Reading
}

// Target is the number of replicas that a policy wants of a variant.
type Target struct {
	Variant  scaling.VariantKey
	Replicas scaling.Replicas // >= 0
	Reason   string
	Detail   string // one sentence
}

func (p PodView) compare(o PodView) int {
	return cmp.Or(p.Variant.Compare(o.Variant), strings.Compare(p.Name, o.Name))
}
