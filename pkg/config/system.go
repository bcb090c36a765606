package config

// Document is the content of a file.
type Document struct {
	System System `json:"system"`
}

// System is the whole input of the optimizer.
type System struct {
	AcceleratorData  AcceleratorData  `json:"acceleratorData"`
	ModelData        ModelData        `json:"modelData"`
	ServiceClassData ServiceClassData `json:"serviceClassData"`
	ServerData       ServerData       `json:"serverData"`
	OptimizerData    OptimizerData    `json:"optimizerData"`
	// CapacityData is the stock of accelerators. Limited mode requires it; a type that it does not
	// list has no stock. In unlimited mode only the report of accelerators by type reads it.
	CapacityData *CapacityData `json:"capacityData,omitempty"`
}

// AcceleratorData lists the accelerators.
type AcceleratorData struct {
	Accelerators []Accelerator `json:"accelerators"`
}

// Accelerator is one unit that a replica may be placed on: one card, or several
// of one type that are always taken together.
type Accelerator struct {
	Name string `json:"name"` // unique, not empty
	// Type is the type by which stock is counted, mostly the product name of the card; empty is a
	// type of that name.
	Type         string  `json:"type"`
	Multiplicity int     `json:"multiplicity"` // cards of this type in one unit; 0 is 1
	MemSize      float64 `json:"memSize"`      // GB, for the reader of the document only
	MemBW        float64 `json:"memBW"`        // GB/s, for the reader of the document only
	Power        Power   `json:"power"`
	// Cost is the price of one unit per hour, 0 or more, multiplicity included.
	// Published documents count in cents; any unit will do as long as all costs
	// are in it.
	Cost float64 `json:"cost"`
}

// Power is the electric power that an accelerator draws: linear from idle to
// midPower at utilization midUtil, and on to full.
type Power struct {
	Idle     float64 `json:"idle"`     // W
	Full     float64 `json:"full"`     // W
	MidPower float64 `json:"midPower"` // W
	MidUtil  float64 `json:"midUtil"`  // ratio, 0 to 1
}

// ModelData lists the measured profiles.
type ModelData struct {
	Models []Profile `json:"models"`
}

// Profile holds the measurements of one model on one accelerator. A pair of name and accelerator is
// listed once.
type Profile struct {
	Name         string `json:"name"`         // of the model
	Accelerator  string `json:"acc"`          // name of a declared accelerator
	Count        int    `json:"accCount"`     // accelerators per replica; 0 is 1
	MaxBatchSize int    `json:"maxBatchSize"` // requests in a batch, at AtTokens output tokens
	AtTokens     int    `json:"atTokens"`     // output tokens per request at which MaxBatchSize was measured

	// Decode and Prefill are the service model with four parameters; Service is the one with three.
	// A profile has exactly one of the two.
	Decode  *DecodeParms  `json:"decodeParms,omitempty"`
	Prefill *PrefillParms `json:"prefillParms,omitempty"`
	Service *ServiceParms `json:"serviceParms,omitempty"`
}

// DecodeParms gives the time of a decode step, alpha + beta x batch.
type DecodeParms struct {
	Alpha float64 `json:"alpha"` // ms
	Beta  float64 `json:"beta"`  // ms per request in the batch
}

// PrefillParms gives the time of a prefill, gamma + delta x input tokens x batch.
type PrefillParms struct {
	Gamma float64 `json:"gamma"` // ms
	Delta float64 `json:"delta"` // ms per input token and request in the batch
}

// ServiceParms is the service model with three parameters: the time of an
// iteration, of computing a token, and of reading a token from the KV cache.
type ServiceParms struct {
	Alpha float64 `json:"alpha"` // ms per iteration
	Beta  float64 `json:"beta"`  // ms per computed token
	Gamma float64 `json:"gamma"` // ms per token read
}

// ServiceClassData lists the service classes.
type ServiceClassData struct {
	ServiceClasses []ServiceClass `json:"serviceClasses"`
}

// ServiceClass is a named set of objectives with a priority.
type ServiceClass struct {
	Name         string        `json:"name"`     // unique, not empty
	Priority     int           `json:"priority"` // 1 to 100, lower is more important; 0 is DefaultPriority
	ModelTargets []ModelTarget `json:"modelTargets"`
}

// ModelTarget holds the objectives of one model in one class; 0 is no objective.
type ModelTarget struct {
	Model string  `json:"model"`
	ITL   float64 `json:"slo-itl"`  // ms
	TTFT  float64 `json:"slo-ttft"` // ms
	// TPS is the token throughput of all replicas together, tokens/s.
	TPS float64 `json:"slo-tps"`
}

// ServerData lists the servers.
type ServerData struct {
	Servers []Server `json:"servers"`
}

// Server is one model served to one service class, by one or more replicas.
type Server struct {
	Name            string     `json:"name"`  // unique, not empty
	Class           string     `json:"class"` // a declared class; empty is DefaultClass
	Model           string     `json:"model"`
	KeepAccelerator bool       `json:"keepAccelerator"` // stay on the accelerator of CurrentAlloc
	MinNumReplicas  int        `json:"minNumReplicas"`
	MaxBatchSize    int        `json:"maxBatchSize"` // requests; 0 takes it from the profile
	CurrentAlloc    Allocation `json:"currentAlloc"`
	// DesiredAlloc holds the answer of published versions. It is accepted, so that such a file
	// loads, and not used.
	DesiredAlloc Allocation `json:"desiredAlloc,omitzero"`
}

// Allocation is what a server has, or is given.
type Allocation struct {
	Accelerator string  `json:"accelerator"` // name; empty where there is none
	NumReplicas int     `json:"numReplicas"`
	MaxBatch    int     `json:"maxBatch"`    // requests
	Cost        float64 `json:"cost"`        // of all replicas, per hour
	ITLAverage  float64 `json:"itlAverage"`  // ms
	TTFTAverage float64 `json:"ttftAverage"` // ms
	Load        Load    `json:"load,omitzero"`
}

// Load is the load of a server.
type Load struct {
	ArrivalRate  float64 `json:"arrivalRate"`  // requests/min; negative: not known
	InputTokens  float64 `json:"avgInTokens"`  // tokens/request
	OutputTokens float64 `json:"avgOutTokens"` // tokens/request
}

// OptimizerData holds the optimizer's settings.
type OptimizerData struct {
	Optimizer *Optimizer `json:"optimizer,omitempty"`
}

// Optimizer holds the options of the optimizer.
type Optimizer struct {
	Unlimited         bool             `json:"unlimited"`         // ignore the stock
	DelayedBestEffort bool             `json:"delayedBestEffort"` // best effort after all classes, not after each
	SaturationPolicy  SaturationPolicy `json:"saturationPolicy"`
}

// CapacityData is the stock.
type CapacityData struct {
	Count []Capacity `json:"count"`
}

// Capacity is the stock of one type.
type Capacity struct {
	Type  string `json:"type"`
	Count int    `json:"count"` // cards
}

// Solution is the answer: the allocation by server. A server without an allocation is absent.
type Solution struct {
	Allocations map[string]Allocation `json:"allocations"`
}
