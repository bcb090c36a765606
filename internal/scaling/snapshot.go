package scaling

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ReplicaSample holds the readings of one serving pod. A Ready pod that reports nothing has a
// sample too, with Absent readings.
type ReplicaSample struct {
	Pod     string     `json:"pod"`
	Variant VariantKey `json:"variant"`
	Ready   bool       `json:"ready"`
	// At is the time of the pod's last scrape, not of the query; zero if never.
	At time.Time `json:"at,omitzero"`
	// KVCacheUsage is the used part of the KV cache, in [0, 1], at its peak in the Snapshot's
	// window.
	KVCacheUsage Reading `json:"kvCacheUsage"`
	// QueueLength is the number of waiting requests at its peak in the window.
	QueueLength Reading `json:"queueLength"`
	// KVCacheUsageNow and QueueLengthNow are the same at the last scrape.
	KVCacheUsageNow Reading `json:"kvCacheUsageNow"`
	QueueLengthNow  Reading `json:"queueLengthNow"`
	Running         Reading `json:"running"`    // requests in the batch
	KVCapacity      Reading `json:"kvCapacity"` // tokens
	// Pace is how fast the replica works, known while its page is Fresh.
	Pace Pace `json:"pace,omitzero"`
	// Stuck says that the replica holds requests and makes no progress with them. Its load is
	// then Absent, as if it reported nothing.
	Stuck Stuckness `json:"stuck,omitempty"`
	// Partial says that the readings cover a part of the replica, or other replicas too:
	// Snapshot.Partial says why. They are Aging at best, so they never allow a reduction.
	Partial bool `json:"partial,omitempty"`
	// Held is the number of requests, running and waiting, that a Stuck replica holds; else 0.
	Held float64 `json:"held,omitempty"`
}

// Stuckness says how a replica is stuck: it holds requests, and neither they, nor its KV cache
// usage, nor any counter has changed for the stuck span (query.StuckSpan). Such requests are no
// load. Whether they still exist is unknown, so they make the model neither idle nor active. The
// zero value is a replica that is not stuck.
type Stuckness string

// The values of a Stuckness.
const (
	// Frozen: no request waits. The engine updates its gauges only while it works, so they show old
	// values and no load.
	Frozen Stuckness = "frozen"
	// Sick: requests wait and make no progress. The replica serves no request.
	Sick Stuckness = "sick"
)

// Reports reports whether the sample shows anything about the replica's load.
func (s ReplicaSample) Reports() bool {
	return s.KVCacheUsage.Known() || s.QueueLength.Known()
}

// Waiting returns the requests in the replica's queue at its last scrape, or the
// peak where the source has no latest value.
func (s ReplicaSample) Waiting() Reading {
	if s.QueueLengthNow.Known() {
		return s.QueueLengthNow
	}
	return s.QueueLength
}

// Load is the traffic of a model, measured over the Snapshot's window.
type Load struct {
	ArrivalRate  Reading `json:"arrivalRate"`  // requests/s
	InputTokens  Reading `json:"inputTokens"`  // mean tokens per request
	OutputTokens Reading `json:"outputTokens"` // mean tokens per request
	TTFT         Reading `json:"ttft"`         // mean, ms
	ITL          Reading `json:"itl"`          // mean, ms
	GatewayQueue Reading `json:"gatewayQueue"` // requests held before any replica
	Recent       Recent  `json:"recent,omitzero"`
	PrefixHits   Reading `json:"prefixHits"` // prompt tokens found in the prefix cache, a ratio in [0, 1]
	// TTFTBuckets and ITLBuckets are the distributions behind the means. They are
	// NotApplicable for a model without a latency objective.
	TTFTBuckets Histogram `json:"ttftBuckets,omitzero"`
	ITLBuckets  Histogram `json:"itlBuckets,omitzero"`
	// RequestITLBuckets is the distribution of the mean ITL of a request, where the engine
	// exports it. ITLBuckets is that of single tokens.
	RequestITLBuckets Histogram `json:"requestITLBuckets,omitzero"`
}

// MeanTokens returns the tokens that a request of mean length holds in the mean while it is
// computed: all of its input and half of its output; 0 while unknown.
func (l Load) MeanTokens() float64 {
	if !l.InputTokens.Known() || !l.OutputTokens.Known() {
		return 0
	}
	return l.InputTokens.Value + l.OutputTokens.Value/2
}

// Computed returns the mean number of input tokens that are computed because they are not in the
// prefix cache, and false while unknown.
func (l Load) Computed() (float64, bool) {
	return l.InputTokens.Value * (1 - min(1, l.PrefixHits.Or(0))), l.InputTokens.Known()
}

// Backend is the source of readings, by its name in COLLECTOR_BACKEND. The zero value is unknown;
// messages name it as BackendPrometheus.
type Backend string

// The backends.
const (
	BackendPrometheus Backend = "prometheus" // a store with the Prometheus HTTP API
	BackendPods       Backend = "pods"       // the pages of the serving pods themselves
	BackendEPP        Backend = "epp"        // the pages of the gateway's endpoint pickers
)

// Snapshot is one model at one instant. It is never modified.
type Snapshot struct {
	Model    ModelKey        `json:"model"`
	At       time.Time       `json:"at"`
	Window   time.Duration   `json:"window"`   // over which peaks and rates were taken
	Variants []Variant       `json:"variants"` // sorted by Key; those at zero replicas too
	Replicas []ReplicaSample `json:"replicas"` // sorted by Variant, Pod; only pods that live now
	Load     Load            `json:"load"`
	// Roles are the loads of the roles of a model that is served in parts, sorted by Role; empty
	// for any other. Load counts each request once.
	Roles []RoleLoad `json:"roles,omitempty"`
	// Role is the role that this Snapshot describes, as one of the Parts of another; "" for a whole
	// model.
	Role Role `json:"role,omitempty"`
	// Backend is the source of the readings.
	Backend Backend `json:"backend,omitempty"`
	// Fault says why the source failed, so that readings are missing; "" if it answered.
	Fault string `json:"fault,omitempty"`
	// SeenModels lists the model names in the source if it has no series of this model, sorted:
	// those of the namespace, else all as namespace/name.
	SeenModels []string `json:"seenModels,omitempty"`
	// SeenElsewhere says that SeenModels are of other namespaces.
	SeenElsewhere bool `json:"seenElsewhere,omitempty"`
	// Unjoined says in one sentence, with an example, why series that name the model belong to none
	// of its pods, or which foreign series count in its rates; "" for neither.
	Unjoined string `json:"unjoined,omitempty"`
	// Partial says in one sentence why the readings do not cover exactly one replica each, and what
	// to change; "" if they do.
	Partial string `json:"partial,omitempty"`
	// ClockLag is how far the source's clock is behind the manager's, in whole minutes; negative if
	// it is ahead, 0 below one. Ages of readings are by the source's clock alone.
	ClockLag time.Duration `json:"clockLag,omitempty"`
}

// Waiting returns the number of requests known to wait, at the gateway and in replicas.
func (s Snapshot) Waiting() float64 {
	sum := s.Load.GatewayQueue.Or(0)
	for _, r := range s.Sorted() {
		sum += r.Waiting().Or(0)
	}
	return sum
}

// Young reports whether a replica of the model is known to have become Ready within the window.
func (s Snapshot) Young() bool {
	return slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Replicas.ReadyWithin(s.At, s.Window) })
}

// Sorted returns the samples sorted by Variant, then Pod, so that sums over them round alike. It
// does not modify the Snapshot.
func (s Snapshot) Sorted() []ReplicaSample {
	byKey := func(a, b ReplicaSample) int {
		return cmp.Or(a.Variant.Compare(b.Variant), strings.Compare(a.Pod, b.Pod))
	}
	if slices.IsSortedFunc(s.Replicas, byKey) {
		return s.Replicas
	}
	sorted := slices.Clone(s.Replicas)
	slices.SortFunc(sorted, byKey)
	return sorted
}

// Life says whether a model has requests. The zero value is unknown, which is never the same as
// idle.
type Life string

// The values of a Life.
const (
	LifeUnknown Life = ""
	LifeIdle    Life = "idle"   // no request runs, waits, is queued or has arrived, and each of these is known
	LifeActive  Life = "active" // some reading shows a request
)

// Recent counts the requests of a model before a Snapshot, from earlier fetches and from the
// history of the metrics source before those. The zero value is unknown.
type Recent struct {
	// Requests counts the requests that began, ended or received a token between Since and Until.
	Requests Reading `json:"requests"`
	// Since is the time after which every replica has samples without a gap that could hide a
	// request.
	Since time.Time `json:"since,omitzero"`
	// Until is the time of the last scrape that counts; zero stands for the scrapes of the
	// Snapshot.
	Until time.Time `json:"until,omitzero"`
}

// Pace is the speed of one replica, in means over the window. The zero value is unknown.
type Pace struct {
	Decoding float64 `json:"decoding,omitempty"` // requests that waited for their next token, >= 0
	ITL      float64 `json:"itl,omitempty"`      // ms from one token to the next, > 0 where Decoding is
	Started  float64 `json:"started,omitempty"`  // requests/s that got their first token, >= 0
	TTFT     float64 `json:"ttft,omitempty"`     // ms from the arrival at the engine, > 0 where Started is
}
