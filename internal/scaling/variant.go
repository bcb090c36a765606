package scaling

import (
	"math"
	"slices"
	"time"
)

// Variant is one way to serve a model, by an accelerator and engine settings, with its present
// replicas.
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
	// Stated is the user's profile if Profile is a learned one; else zero.
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
	// Approval holds the annotations of the object about the approval of reductions.
	Approval Approval `json:"approval,omitzero"`
	// Freeze is the freeze window that was in force for the variant at the time of the cycle.
	Freeze Freeze `json:"freeze,omitzero"`
	// Undecidable says why the decision is frozen, without an annotation, at the larger of the last
	// decision and the current replicas; "" if it is not. Paused is then true, too.
	Undecidable string `json:"undecidable,omitempty"`
	// Origin is KindHPA or KindScaledObject if an annotated scaler makes the target a variant; ""
	// for a VariantAutoscaling.
	Origin string `json:"origin,omitempty"`
	// ReadAs is another name by which the scaler of the target reads the decision, "" for none: the
	// scaler was made for an earlier variant of the target.
	ReadAs string `json:"readAs,omitempty"`
	// ByValue is Scalers.ByValue of the target's scalers.
	ByValue bool `json:"byValue,omitempty"`
	// Withheld is true if no decision is exported: the annotated HPA multiplies the metric, and
	// this process does not allow for its ready pods (Scaler.Multiplies). Without a metric it sets
	// nothing.
	Withheld bool `json:"withheld,omitempty"`
	// Advisory is true if decisions are advice: they are computed from the current replicas and
	// shown, but neither carried out nor readable for scalers. It is the same for all variants of a
	// model.
	Advisory bool `json:"advisory,omitempty"`
	// Role is the part of a request that the pods serve; "" if it is not stated.
	Role Role `json:"role,omitempty"`
	// GPUsRequested is the number of accelerators that a replica takes of the stock and of the
	// quotas: the request of the target's pod template, or of one of its pods if that is more, at
	// least 1. 0 if the target shows no template: then GPUsPerReplica counts.
	GPUsRequested Accelerators `json:"gpusRequested,omitempty"`
	// Workers is the number of pods of a replica besides the first, GPUsPerWorker the accelerators
	// of each of them; the first pod takes the rest. Both are 0 for a replica of one pod, on one
	// node.
	Workers       int          `json:"workers,omitempty"`
	GPUsPerWorker Accelerators `json:"gpusPerWorker,omitempty"`
	// GPUsShort is the number of accelerators by which the requests of the target's pods fall short
	// of those of as many pods of its template, >= 0. Pods of an earlier template may request
	// fewer, as all do while a rollout is paused.
	GPUsShort Accelerators `json:"gpusShort,omitempty"`
	// Unaccelerated is true if neither the template nor a pod requests a device of any kind: the
	// running replicas hold no accelerators, even if the object states some.
	Unaccelerated bool `json:"unaccelerated,omitempty"`
	// Missing says why the target cannot be read, "" if it can.
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

// GPUs returns the accelerators that the given replicas take of the stock and of the quotas: the
// requests of their pods, whatever the object states. A count above about a million (2^20) counts
// as 2^20.
func (v Variant) GPUs(replicas Replicas) Accelerators {
	each := v.GPUsRequested
	if each <= 0 {
		each = v.GPUsPerReplica
	}
	return min(max(1, each), mostCounted).Of(min(max(0, replicas), mostCounted))
}

// PodsOfReplica returns the pods of one replica that take accelerators, the largest first, in the
// order of their placement.
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

// Houses reports whether a replica of o fits on the accelerators of a replica of v, on the same
// nodes, with each pod of o in the place of one pod of v.
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

// CostPerHour returns the cost of the given replicas per hour, in cost units.
func (v Variant) CostPerHour(replicas Replicas) float64 { return v.Cost * float64(replicas) }

// Holds returns the accelerators that the given running replicas keep from others: GPUs, or 0 if
// the variant is Unaccelerated.
func (v Variant) Holds(replicas Replicas) Accelerators {
	if v.Unaccelerated {
		return 0
	}
	return v.GPUs(replicas)
}

// Held returns the accelerators that the pods of the given replicas request, fewer than Holds where
// pods have an earlier template.
func (v Variant) Held(replicas Replicas) Accelerators { return max(0, v.Holds(replicas)-v.GPUsShort) }

// EngineLimits are the limits that the arguments of a serving engine set. The zero value is
// unknown.
type EngineLimits struct {
	BatchTokens int `json:"batchTokens,omitempty"` // tokens computed in one step, 0 while unknown
	MaxBatch    int `json:"maxBatch,omitempty"`    // requests computed together, 0 while unknown
	// Ranks is the number of data-parallel ranks that the metrics page of one replica covers, >= 2;
	// 0 if it is one or unknown. A number that cannot be read counts as 2.
	Ranks int `json:"ranks,omitempty"`
	// Problem says why the arguments cannot be read, if the user has to change the target; else "".
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
	Accelerators Accelerators `json:"accelerators,omitempty"` // number over which each layer is spread, 0 while unknown
}

// Bounds limits the replicas of a variant. Max wins over Min if the two contradict each other.
type Bounds struct {
	Min Replicas `json:"min"` // >= 0
	Max Replicas `json:"max"` // math.MaxInt when unset
}

// Unbounded returns bounds without limits.
func Unbounded() Bounds { return Bounds{Max: math.MaxInt} }

// Clamp returns n within the bounds.
func (b Bounds) Clamp(n Replicas) Replicas { return min(max(n, b.Min), b.Max) }

// ReplicaCounts counts replicas in units of the target's scale subresource.
// While Observed, Current = Ready + Pending.
type ReplicaCounts struct {
	// Observed is false while the target cannot be read. The other fields are then unknown, not 0.
	Observed bool `json:"observed"`
	// Current is spec.replicas of the target's scale. The surge of a rollout is not in it.
	Current Replicas `json:"current"`
	Ready   Replicas `json:"ready"`
	Pending Replicas `json:"pending"` // asked for and not Ready
	// Unschedulable is the part of Pending for which the scheduler found no node.
	Unschedulable Replicas `json:"unschedulable,omitempty"`
	// Podless is the part of Pending that has no pod yet. An Inventory still counts its
	// accelerators as free.
	Podless Replicas `json:"podless,omitempty"`
	// Surplus counts pods beyond Current that hold accelerators and do not terminate yet: the
	// target was just scaled down, or a rollout surges.
	Surplus Replicas `json:"surplus,omitempty"`
	// NewestReady is when the youngest Ready replica became Ready, zero if none.
	NewestReady time.Time `json:"newestReady,omitzero"`
}

// clocksDiffer is the most by which the clock of the API server is taken to be ahead of this one.
const clocksDiffer = 5 * time.Minute

// ReadyWithin reports whether the youngest Ready replica became Ready less than d before at, or after
// it by no more than clocks differ. A time further ahead says nothing: the clock of at was set back.
func (r ReplicaCounts) ReadyWithin(at time.Time, d time.Duration) bool {
	age := at.Sub(r.NewestReady)
	return !r.NewestReady.IsZero() && age < d && age > -clocksDiffer
}

const (
	// patienceUnknown is the Patience while the usual start-up is unknown.
	patienceUnknown = 5 * time.Minute
	// patienceLeast covers delays besides the start of a pod: the scaler's sync period (15 s for an
	// HPA), scheduling, a readiness probe, and the first two scrapes.
	patienceLeast = time.Minute
)

// Patience returns how long to wait for an ordered replica of v: startUps times the usual start-up,
// at least 1 minute; 5 minutes while the start-up is unknown.
func (v Variant) Patience(startUps float64) time.Duration {
	if v.StartUp <= 0 {
		return patienceUnknown
	}
	return max(patienceLeast, time.Duration(startUps*float64(v.StartUp)))
}
