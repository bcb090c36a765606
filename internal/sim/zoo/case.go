package zoo

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// Case is a scenario in the fields of a scenario file; see docs/user-guide/simulate.md.
type Case struct {
	Name           string        `yaml:"name"`
	Description    string        `yaml:"description"`
	Attainment     float64       `yaml:"attainment"`
	ScrapeInterval time.Duration `yaml:"scrapeInterval"`
	MissedScrapes  float64       `yaml:"missedScrapes,omitempty"`
	Tolerance      float64       `yaml:"tolerance,omitempty"`
	Workload       []Part        `yaml:"workload"`
	Nodes          []Nodes       `yaml:"nodes,omitempty"`
	Models         []Model       `yaml:"models"`
	Faults         []Fault       `yaml:"faults,omitempty"`

	Drawn Drawn `yaml:"-"`
}

// Drawn holds what Draw knows of a case beside its fields.
type Drawn struct {
	Traffic  string        // constant, day, log and so on
	Constant bool          // the load does not change: once settled, replicas should not either
	Replicas float64       // about as many as the peak needs
	Requests int           // about
	Window   time.Duration // in which requests arrive
}

// Part is one of the workloads that run side by side.
type Part struct {
	File         string        `yaml:"file,omitempty"`
	From         time.Duration `yaml:"from,omitempty"`
	For          time.Duration `yaml:"for,omitempty"`
	Times        float64       `yaml:"times,omitempty"`
	Generator    string        `yaml:"generator,omitempty"`
	InputTokens  float64       `yaml:"inputTokens,omitempty"`
	OutputTokens float64       `yaml:"outputTokens,omitempty"`
}

// Nodes are the nodes with one type of accelerator.
type Nodes struct {
	Accelerator string `yaml:"accelerator"`
	Count       int    `yaml:"count"`
	GPUs        int    `yaml:"gpus"`
}

// Model is a model of a case.
type Model struct {
	ID         string        `yaml:"id"`
	Share      float64       `yaml:"share"`
	TTFT       time.Duration `yaml:"ttft"`
	ITL        time.Duration `yaml:"itl"`
	Percentile bool          `yaml:"percentile"`
	Hold       time.Duration `yaml:"hold"`
	Routing    string        `yaml:"routing"`
	Patience   *Patience     `yaml:"patience,omitempty"`
	Prefix     *Prefix       `yaml:"prefix,omitempty"`
	Variants   []Variant     `yaml:"variants"`
}

// Patience says how long clients wait.
type Patience struct {
	Mean      time.Duration `yaml:"mean"`
	Deviation time.Duration `yaml:"deviation"`
	Retry     float64       `yaml:"retry"`
	After     time.Duration `yaml:"after"`
}

// Prefix says how much prompts share.
type Prefix struct {
	Share float64 `yaml:"share"`
	Part  float64 `yaml:"part"`
	Warm  float64 `yaml:"warm"`
}

// Variant is one way to serve a model.
type Variant struct {
	Name             string               `yaml:"name"`
	Loads            string               `yaml:"loads,omitempty"`
	Cost             float64              `yaml:"cost"`
	GPUs             scaling.Accelerators `yaml:"gpus"`
	Min              scaling.Replicas     `yaml:"min"`
	Max              scaling.Replicas     `yaml:"max"`
	Weight           float64              `yaml:"weight,omitempty"`
	StartUp          time.Duration        `yaml:"startUp"`
	StartUpDeviation time.Duration        `yaml:"startUpDeviation"`
	Grace            time.Duration        `yaml:"grace"`
	Profile          Profile              `yaml:"profile"`
}

// Profile is a serving.Profile in the fields of a file.
type Profile struct {
	Name             string  `yaml:"name"`
	Accelerator      string  `yaml:"accelerator"`
	AlphaMS          float64 `yaml:"alphaMS"`
	BetaMS           float64 `yaml:"betaMS"`
	GammaMS          float64 `yaml:"gammaMS"`
	DeltaMS          float64 `yaml:"deltaMS"`
	MaxBatchSize     int     `yaml:"maxBatchSize"`
	MaxBatchedTokens int     `yaml:"maxBatchedTokens"`
	KVCacheTokens    int     `yaml:"kvCacheTokens"`
}

// profileOf returns a profile in the fields of a file.
func profileOf(p serving.Profile) Profile {
	return Profile{p.Name, p.Accelerator, p.AlphaMS, p.BetaMS, p.GammaMS, p.DeltaMS, p.MaxBatchSize, p.MaxBatchedTokens, p.KVCacheTokens}
}

// Fault is a fault.Fault in the fields of a file.
type Fault struct {
	Kind     string           `yaml:"kind"`
	Variant  string           `yaml:"variant,omitempty"`
	At       time.Duration    `yaml:"at,omitempty"`
	For      time.Duration    `yaml:"for,omitempty"`
	Replicas scaling.Replicas `yaml:"replicas,omitempty"`
	Share    float64          `yaml:"share,omitempty"`
	Wait     time.Duration    `yaml:"wait,omitempty"`
	Period   time.Duration    `yaml:"period,omitempty"`
	Ready    time.Duration    `yaml:"ready,omitempty"`
	Step     time.Duration    `yaml:"step,omitempty"`
}

func faultOf(f fault.Fault) Fault {
	return Fault{string(f.Kind), f.Variant.Name, f.At, f.For, f.Replicas, f.Share, f.Wait, f.Period, f.Ready, f.Step}
}

// Text returns the case as a scenario file.
func (c Case) Text() (string, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("writing case %s: %w", c.Name, err)
	}
	return string(text), nil
}

// Scenario returns the scenario of the case, with the traces of a stock.
func (c Case) Scenario(s Stock) (lab.Scenario, error) {
	text, err := c.Text()
	if err != nil {
		return lab.Scenario{}, err
	}
	return lab.ParseScenario([]byte(text), lab.ScenarioOptions{File: c.Name, Open: s.open})
}
