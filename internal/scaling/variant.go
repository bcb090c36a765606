package scaling

import (
	"math"
	"slices"
	"time"
)

// Variant is one way to serve a model: an accelerator with engine settings, and the replicas
// that serve so now.
type Variant struct {
	Key            VariantKey   `json:"key"`
	ID             string       `json:"id,omitempty"` // variant ID: as configured, else model, accelerator and count
	Model          ModelKey     `json:"model"`
	Target         TargetRef    `json:"target"`
	Accelerator    string       `json:"accelerator"`    // canonical type, "" when unknown
	GPUsPerReplica Accelerators `json:"gpusPerReplica"` // >= 1; of the cost, the ID and the profile
	Cost           float64      `json:"cost"`           // cost units per replica-hour, >= 0; configuration, never measured
	CostSource     CostSource   `json:"costSource,omitempty"`
	Profile        Profile      `json:"profile,omitzero"` // of one replica, for the engines that need it
	// Stated is the user's profile where Profile is a learned one; else the zero value.
	Stated Profile      `json:"stated,omitzero"`
	Limits EngineLimits `json:"limits,omitzero"` // of one replica, as its engine was started
	Loaded Loaded       `json:"loaded,omitzero"` // by one replica, as its engine was started
	// Template identifies the image, command and arguments of the pod template: equal ones have
	// equal names. "" while unknown.
	Template string        `json:"template,omitempty"`
	Bounds   Bounds        `json:"bounds"`            // replicas
	Replicas ReplicaCounts `json:"replicas"`          // as the target has them
	StartUp  time.Duration `json:"startUp,omitempty"` // usual time from a pod's creation to its first Ready: the median of the last pods; 0 while unknown
	// SlowStartUp is the 90th percentile of those times, for decisions that must not be late;
	// 0 while unknown.
	SlowStartUp time.Duration `json:"slowStartUp,omitempty"`
	// StartUps counts the pods behind both times. With one or two pods SlowStartUp says no more
	// than StartUp.
	StartUps int `json:"startUps,omitempty"`
	// Paused is true while an annotation of the object freezes its decision.
	Paused bool `json:"paused,omitempty"`
	// Approval is what annotations of the object say of the approval of reductions.
	Approval Approval `json:"approval,omitzero"`
	// Freeze is the freeze window that was in force for the variant at the time of the cycle.
	Freeze Freeze `json:"freeze,omitzero"`
	// Undecidable says why the decision is frozen at the larger of the last one and what runs, where no
	// annotation asks for that: "" for no reason. Paused is then true, too.
	Undecidable string `json:"undecidable,omitempty"`
	// Origin is the kind of the object that makes the target a variant where that is the scaler
	// itself, KindHPA or KindScaledObject; "" for a VariantAutoscaling.
	Origin string `json:"origin,omitempty"`
	// ReadAs is another name by which the scaler of the target reads the decision, "" for none:
	// it was made for a variant that had this target before.
	ReadAs string `json:"readAs,omitempty"`
	// ByValue is Scalers.ByValue of the target's scalers.
	ByValue bool `json:"byValue,omitempty"`
	// Withheld is true where no decision is exported: the annotated HPA multiplies what it reads, and
	// is not answered by its ready pods (Scaler.Multiplies). Without a metric it sets nothing.
	Withheld bool `json:"withheld,omitempty"`
	// Advisory is true where decisions are advice: they are computed from what runs, shown, and not
	// carried out, and no scaler can read them. All variants of a model are alike in that.
	Advisory bool `json:"advisory,omitempty"`
	// Role is the part of a request that the pods serve; "" where nothing says.
	Role Role `json:"role,omitempty"`
	// GPUsRequested is how many accelerators a replica takes of the stock and of the quotas: what
	// the target's pod template requests, or one of its pods if that is more, at least 1. 0 where
	// the target shows no template: then GPUsPerReplica counts.
	GPUsRequested Accelerators `json:"gpusRequested,omitempty"`
	// Workers are the pods of a replica beside the first, and GPUsPerWorker the accelerators that each
	// of them takes; the first takes the rest. 0 for a replica of one pod, which takes them on one node.
	Workers       int          `json:"workers,omitempty"`
	GPUsPerWorker Accelerators `json:"gpusPerWorker,omitempty"`
	// GPUsShort is how many accelerators fewer the target's pods request than as many pods of
	// its template would, at least 0. Pods of an earlier template may request fewer, as all do
	// while a rollout is paused.
	GPUsShort Accelerators `json:"gpusShort,omitempty"`
	// Unaccelerated is true where neither the template nor a pod requests a device of any kind:
	// the running replicas hold no accelerators, even if the object states some.
	Unaccelerated bool `json:"unaccelerated,omitempty"`
	// Missing says why the target cannot be read, "" when it can.
	Missing string `json:"missing,omitempty"`
	// Gone is true if the target does not exist, so that it has no replica. It is false if the
	// API server did not answer.
	Gone bool `json:"gone,omitempty"`
}

// ByKey returns the variants sorted by key, so that sums over them round alike: the given slice
// if it is sorted, else a sorted copy.
func ByKey(variants []Variant) []Variant {
	inOrder := func(a, b Variant) int { return a.Key.Compare(b.Key) }
	if slices.IsSortedFunc(variants, inOrder) {
		return variants
	}
	sorted := slices.Clone(variants)
	slices.SortFunc(sorted, inOrder)
	return sorted
}

// mostCounted bounds the replicas, and the accelerators of each, in a sum of accelerators, so
// that a sum over millions of variants fits an int.
const mostCounted = 1 << 20

// GPUs returns how many accelerators so many replicas take of the stock and of the quotas: what
// their pods request, whatever the object states. A count beyond a million counts as a million.
func (v Variant) GPUs(replicas Replicas) Accelerators {
	each := v.GPUsRequested
	if each <= 0 {
		each = v.GPUsPerReplica
	}
	return min(max(1, each), mostCounted).Of(min(max(0, replicas), mostCounted))
}

// PodsOfReplica returns the pods of one replica that take accelerators, in the order in which they are
// placed: the largest first.
func (v Variant) PodsOfReplica() []PodsOfSize {
	all := v.GPUs(1)
	if v.Workers <= 0 || v.GPUsPerWorker <= 0 {
		return []PodsOfSize{{1, all}}
	}
	workers := PodsOfSize{min(Replicas(v.Workers), mostCounted), min(v.GPUsPerWorker, mostCounted)}
	first := PodsOfSize{1, all - workers.GPUs.Of(workers.Pods)}
	switch {
	case first.GPUs == workers.GPUs:
		return []PodsOfSize{{workers.Pods + 1, workers.GPUs}}
	case first.GPUs <= 0:
		return []PodsOfSize{workers}
	case first.GPUs < workers.GPUs:
		return []PodsOfSize{workers, first}
	}
	return []PodsOfSize{first, workers}
}

// PodsOfSize are pods with the same number of accelerators.
type PodsOfSize struct {
	Pods Replicas
	GPUs Accelerators // of each, > 0
}

// Houses reports whether the accelerators of one replica of v, on the nodes where they are, are enough
// for one replica of o, each pod of which takes the place of one of v.
func (v Variant) Houses(o Variant) bool {
	if v.Workers <= 0 && o.Workers <= 0 {
		return v.GPUs(1) >= o.GPUs(1)
	}
	left := v.PodsOfReplica()
	for _, p := range o.PodsOfReplica() {
		pods := p.Pods
		for i := range left {
			if left[i].GPUs >= p.GPUs {
				n := min(pods, left[i].Pods)
				pods, left[i].Pods = pods-n, left[i].Pods-n
			}
		}
		if pods > 0 {
			return false
		}
	}
	return true
}

// CostPerHour returns what so many replicas cost per hour, in cost units: Cost is that of one.
func (v Variant) CostPerHour(replicas Replicas) float64 { return v.Cost * float64(replicas) }

// Holds returns how many accelerators so many running replicas keep from others: those of GPUs,
// or none if the variant is Unaccelerated.
func (v Variant) Holds(replicas Replicas) Accelerators {
	if v.Unaccelerated {
		return 0
	}
	return v.GPUs(replicas)
}

// Held returns how many accelerators the pods of so many replicas request, which is fewer than
// Holds where pods are of an earlier template.
func (v Variant) Held(replicas Replicas) Accelerators { return max(0, v.Holds(replicas)-v.GPUsShort) }

// EngineLimits are the limits that the arguments of a serving engine set. The zero value is an
// engine whose arguments are unknown.
type EngineLimits struct {
	BatchTokens int `json:"batchTokens,omitempty"` // tokens computed in one step, 0 while unknown
	MaxBatch    int `json:"maxBatch,omitempty"`    // requests computed together, 0 while unknown
	// Ranks is of how many data-parallel ranks the page of one replica speaks, 2 or more; 0 where
	// they are not known to be several. Where the number cannot be read it is 2.
	Ranks int `json:"ranks,omitempty"`
	// Problem says why the arguments cannot be read, where the user has to change the target;
	// else "".
	Problem string `json:"problem,omitempty"`
}

// Loaded describes the model that a serving engine loads, by the engine's arguments. The zero
// value is unknown.
type Loaded struct {
	Model        string       `json:"model,omitempty"`        // name or path; users may ask for it by another name
	Quantization string       `json:"quantization,omitempty"` // of the parameters: fp8, awq, ...
	Type         string       `json:"type,omitempty"`         // of parameters that are not quantized: bfloat16, ...
	KVType       string       `json:"kvType,omitempty"`       // of the KV cache: fp8, ...
	Memory       float64      `json:"memory,omitempty"`       // part of an accelerator's memory that the engine takes, in (0, 1]; 0 while unknown
	Accelerators Accelerators `json:"accelerators,omitempty"` // over which each layer is spread, 0 while unknown
}

// Bounds limits the replicas of a variant: Min first, then Max, so Max wins
// where the two contradict each other.
type Bounds struct {
	Min Replicas `json:"min"` // >= 0
	Max Replicas `json:"max"` // math.MaxInt when unset
}

// Unbounded is the absence of limits.
func Unbounded() Bounds { return Bounds{Max: math.MaxInt} }

// Clamp returns n within the bounds.
func (b Bounds) Clamp(n Replicas) Replicas { return min(max(n, b.Min), b.Max) }

// ReplicaCounts counts replicas in units of the target's scale subresource.
// While Observed, Current = Ready + Pending.
type ReplicaCounts struct {
	// Observed is false while the target cannot be read. The other fields are then unknown, not 0.
	Observed bool `json:"observed"`
	// Current is what the target is asked to run (spec.replicas of its scale).
	// The surge of a rollout is not in it.
	Current Replicas `json:"current"`
	Ready   Replicas `json:"ready"`
	Pending Replicas `json:"pending"` // asked for and not Ready
	// Unschedulable is the part of Pending for which the scheduler found no node.
	Unschedulable Replicas `json:"unschedulable,omitempty"`
	// Podless is the part of Pending that has no pod yet: an Inventory does not contain the
	// accelerators that it will take.
	Podless Replicas `json:"podless,omitempty"`
	// Surplus counts pods beyond Current that hold accelerators and do not terminate yet: the
	// target was just scaled down, or a rollout surges.
	Surplus Replicas `json:"surplus,omitempty"`
	// NewestReady is when the youngest Ready replica became so, zero if none.
	NewestReady time.Time `json:"newestReady,omitzero"`
}

const (
	// patienceUnknown is how long an order is waited for while the usual start-up is not known.
	patienceUnknown = 5 * time.Minute
	// patienceLeast covers what comes on top of the start of a pod: the scaler's sync period (15 s
	// for an HPA), scheduling, a readiness probe, and the first two scrapes.
	patienceLeast = time.Minute
)

// Patience returns how long a replica of v that was ordered is waited for: so many times the usual
// start-up, 1 minute at least, and 5 minutes while that is not known.
func (v Variant) Patience(startUps float64) time.Duration {
	if v.StartUp <= 0 {
		return patienceUnknown
	}
	return max(patienceLeast, time.Duration(startUps*float64(v.StartUp)))
}
