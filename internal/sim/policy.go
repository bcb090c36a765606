package sim

import (
	"cmp"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Policy sets replicas. A run asks it in the order of time. It may keep state and must not draw
// random numbers or read a clock.
type Policy interface {
	// Name identifies the policy in a Report.
	Name() string
	// Interval is the time between two decisions, 100ms or more. The run calls it once.
	Interval() time.Duration
	// Decide returns the replicas wanted of the variants that it changes; the others stay as they
	// are. An error ends the run.
	Decide(View) ([]Target, error)
}

// Attentive is a Policy that the run asks at its start, and before its Interval is over when
// something happens.
type Attentive interface {
	Policy
	// Attention says when to ask. The run calls it once.
	Attention() Attention
	// Look reports whether to ask for a decision now. The View has no Models and no Inventory.
	Look(View) bool
}

// Measuring is a Policy that measures, from what the replicas report, the share of the requests of
// a model that met the objective.
type Measuring interface {
	Policy
	// Measured returns that share of all requests of the run so far, a ratio, and false where
	// nothing was measured.
	Measured(scaling.ModelKey) (attainment float64, known bool)
}

// Attention says when a run asks an Attentive policy beside its interval. The zero value means
// never.
type Attention struct {
	Looks   time.Duration // between two looks, 0 for none
	Changes bool          // ask when the replicas of a variant, or its Ready replicas, have changed
	// Rest is the least time between a decision and a later one that a look or a change asks for.
	Rest time.Duration
	// Alone says that after the first decision the run asks only for looks and changes.
	Alone bool
}

// View is what a policy sees at one instant. It must not be modified.
type View struct {
	Now       time.Time
	Snapshots []scaling.Snapshot // as the collector makes them, sorted by model
	Models    []ModelView        // facts that no Snapshot has, in the same order
	// Inventory is the stock of accelerators. It lists those that never run out with a large
	// number.
	Inventory scaling.Inventory
}

// ModelView is what the gateway and the cluster know of a model at this instant, without a lag, for
// policies that run there.
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

// VariantView is what the gateway and the cluster know of one variant.
type VariantView struct {
	Key           scaling.VariantKey
	KVTokens      float64 // of the KV cache of a replica, 0 where it is unknown
	BatchedTokens float64 // limit of one step of a replica, 0 where it is unknown
	// ArrivalRate comes from the metrics store.
	ArrivalRate scaling.Reading // requests/s: completions, and growth of what is in flight
	// InFlight counts the requests in its pods at this instant, as a proxy in front of each pod
	// would. Pods that are being removed do not count.
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
