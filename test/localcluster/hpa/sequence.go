package hpa

// File holds the recorded answers.
type File struct {
	Controller string     `json:"controller"` // module and version
	SyncMillis int        `json:"syncMillis"` // between two syncs
	Sequences  []Sequence `json:"sequences"`
}

// Sequence is one HorizontalPodAutoscaler over some syncs.
type Sequence struct {
	Min      int32    `json:"min"` // 1 or more
	Max      int32    `json:"max"`
	Up       *Rules   `json:"up,omitempty"`   // spec.behavior.scaleUp; nil with Down means no behavior
	Down     *Rules   `json:"down,omitempty"` // spec.behavior.scaleDown
	Metrics  []Metric `json:"metrics"`
	Syncs    []Sync   `json:"syncs"`
	replicas int32    // at the next sync
	load     float64  // ratio of the targets
}

// Rules is one direction of spec.behavior.
type Rules struct {
	Window    int32           `json:"window"`    // seconds
	Select    string          `json:"select"`    // Max, Min, Disabled
	Tolerance int64           `json:"tolerance"` // thousandths, -1 for the controller's own
	Policies  []ScalingPolicy `json:"policies"`
}

// ScalingPolicy is one policy of the behaviour of an HPA.
type ScalingPolicy struct {
	Percent bool  `json:"percent,omitempty"`
	Value   int32 `json:"value"`
	Period  int32 `json:"period"` // seconds
}

// Metric is one metric of the spec.
type Metric struct {
	Kind   string `json:"kind"`   // AverageValue and Value of an External metric, or Pods
	Target int64  `json:"target"` // thousandths
}

// Sync is what the controller read at one sync, and the replicas that it left.
type Sync struct {
	Spec   int32 `json:"spec"`   // spec.replicas
	Status int32 `json:"status"` // status.replicas
	// Pods has a letter for each: p pending, s running and not ready, r ready.
	Pods string `json:"pods"`
	// Values has a list for each metric: the value of an External one, if any, and one value for
	// each pod of a Pods metric. In thousandths, -1 for none.
	Values [][]int64 `json:"values"`
	Want   int32     `json:"want"` // replicas, after the sync
}
