package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The largest values that are accepted. They are far beyond any fleet, and a product of three
// counts is exact in 64 bits.
const (
	maxCount  = 1_000_000 // replicas, accelerators, requests in a batch
	maxNumber = 1e12      // costs, times, rates, tokens
)

// Validate returns the joined *FieldError values of all faults of a System, in the order of the
// document, or nil.
//
// A missing input of a single server (a profile of its model on an accelerator, a target of its
// model in its class) is no fault of the document: that server gets no allocation, and pkg/core
// says why.
func (s System) Validate() error {
	v := validator{accelerators: names{}, classes: names{}}
	v.acceleratorData(s.AcceleratorData)
	v.modelData(s.ModelData)
	v.serviceClassData(s.ServiceClassData)
	v.serverData(s.ServerData)
	v.optimizerData(s.OptimizerData, s.CapacityData)
	v.capacityData(s.CapacityData)
	return errors.Join(v.faults...)
}

// names maps a name in use, in quotes, to the key at which it was first used.
type names map[string]string

type validator struct {
	accelerators, classes names
	faults                []error
}

func (v *validator) acceleratorData(d AcceleratorData) {
	for i, a := range d.Accelerators {
		key := fmt.Sprintf("system.acceleratorData.accelerators[%d]", i)
		v.unique(v.accelerators, key+".name", a.Name)
		v.count(key+".multiplicity", a.Multiplicity)
		v.number(key+".memSize", a.MemSize)
		v.number(key+".memBW", a.MemBW)
		v.number(key+".cost", a.Cost)
		v.number(key+".power.idle", a.Power.Idle)
		v.number(key+".power.full", a.Power.Full)
		v.number(key+".power.midPower", a.Power.MidPower)
		v.within(key+".power.midUtil", a.Power.MidUtil, 0, 1)
	}
}

func (v *validator) modelData(d ModelData) {
	used := names{}
	for i, p := range d.Models {
		key := fmt.Sprintf("system.modelData.models[%d]", i)
		if p.Name == "" {
			v.fault(key+".name", `""`, "a name")
		}
		v.reference(v.accelerators, key+".acc", p.Accelerator, "accelerator")
		v.distinct(used, key, strconv.Quote(p.Name)+" on "+strconv.Quote(p.Accelerator))
		v.count(key+".accCount", p.Count)
		v.count(key+".maxBatchSize", p.MaxBatchSize)
		v.count(key+".atTokens", p.AtTokens)
		v.serviceModel(key, p)
	}
}

// serviceModel checks that a profile has one service model, and that serving a
// request takes some time.
func (v *validator) serviceModel(key string, p Profile) {
	const shape = "decodeParms and prefillParms, or serviceParms, with at least one parameter above 0"
	four, three := p.Decode != nil || p.Prefill != nil, p.Service != nil
	if four == three {
		found := "both"
		if !four {
			found = "neither"
		}
		v.fault(key, found, shape)
		return
	}
	sum := 0.0
	parameter := func(name string, value float64) {
		v.number(key+"."+name, value)
		sum += value
	}
	if p.Decode != nil {
		parameter("decodeParms.alpha", p.Decode.Alpha)
		parameter("decodeParms.beta", p.Decode.Beta)
	}
	if p.Prefill != nil {
		parameter("prefillParms.gamma", p.Prefill.Gamma)
		parameter("prefillParms.delta", p.Prefill.Delta)
	}
	if p.Service != nil {
		parameter("serviceParms.alpha", p.Service.Alpha)
		parameter("serviceParms.beta", p.Service.Beta)
		parameter("serviceParms.gamma", p.Service.Gamma)
	}
	if sum == 0 {
		v.fault(key, "a service time of 0", shape)
	}
}

func (v *validator) serviceClassData(d ServiceClassData) {
	for i, c := range d.ServiceClasses {
		key := fmt.Sprintf("system.serviceClassData.serviceClasses[%d]", i)
		v.unique(v.classes, key+".name", c.Name)
		if c.Priority < 0 || c.Priority > LowestPriority {
			v.fault(key+".priority", strconv.Itoa(c.Priority), fmt.Sprintf(
				"%d to %d, lower is more important, or 0 for %d", HighestPriority, LowestPriority, DefaultPriority))
		}
		used := names{}
		for j, t := range c.ModelTargets {
			key := fmt.Sprintf("%s.modelTargets[%d]", key, j)
			v.unique(used, key+".model", t.Model)
			v.number(key+".slo-itl", t.ITL)
			v.number(key+".slo-ttft", t.TTFT)
			v.number(key+".slo-tps", t.TPS)
		}
	}
}

func (v *validator) serverData(d ServerData) {
	used := names{}
	for i, s := range d.Servers {
		key := fmt.Sprintf("system.serverData.servers[%d]", i)
		v.unique(used, key+".name", s.Name)
		if s.Class != "" {
			v.reference(v.classes, key+".class", s.Class, "service class")
		} else if _, ok := v.classes[strconv.Quote(DefaultClass)]; !ok {
			v.fault(key+".class", `""`, fmt.Sprintf("a declared service class; the default, %q, is not declared", DefaultClass))
		}
		v.count(key+".minNumReplicas", s.MinNumReplicas)
		v.count(key+".maxBatchSize", s.MaxBatchSize)
		v.currentAlloc(key+".currentAlloc", s.CurrentAlloc)
	}
}

func (v *validator) currentAlloc(key string, a Allocation) {
	if a.Accelerator != "" {
		v.reference(v.accelerators, key+".accelerator", a.Accelerator, "accelerator")
	}
	v.count(key+".numReplicas", a.NumReplicas)
	v.count(key+".maxBatch", a.MaxBatch)
	v.number(key+".cost", a.Cost)
	v.number(key+".itlAverage", a.ITLAverage)
	v.number(key+".ttftAverage", a.TTFTAverage)
	v.within(key+".load.arrivalRate", a.Load.ArrivalRate, -maxNumber, maxNumber)
	v.number(key+".load.avgInTokens", a.Load.InputTokens)
	v.number(key+".load.avgOutTokens", a.Load.OutputTokens)
}

func (v *validator) optimizerData(d OptimizerData, capacity *CapacityData) {
	if d.Optimizer == nil {
		return // only pkg/manager needs it
	}
	if p := d.Optimizer.SaturationPolicy; p != "" && !slices.Contains(Policies(), p) {
		var want []string
		for _, policy := range Policies() {
			want = append(want, string(policy))
		}
		v.fault("system.optimizerData.optimizer.saturationPolicy", strconv.Quote(string(p)), "one of "+strings.Join(want, ", "))
	}
	if !d.Optimizer.Unlimited && capacity == nil {
		v.fault("system.capacityData", "nothing",
			"the accelerators in stock by type, or system.optimizerData.optimizer.unlimited: true")
	}
}

func (v *validator) capacityData(d *CapacityData) {
	if d == nil {
		return
	}
	used := names{}
	for i, c := range d.Count {
		key := fmt.Sprintf("system.capacityData.count[%d]", i)
		v.unique(used, key+".type", c.Type)
		v.count(key+".count", c.Count)
	}
}

func (v *validator) fault(key, value, want string) {
	v.faults = append(v.faults, &FieldError{Key: key, Value: value, Want: want})
}

// unique checks that a name is not empty and was not used before.
func (v *validator) unique(used names, key, name string) {
	if name == "" {
		v.fault(key, `""`, "a name")
		return
	}
	v.distinct(used, key, strconv.Quote(name))
}

// distinct checks that a quoted name, or a pair of names, was not used before.
func (v *validator) distinct(used names, key, quoted string) {
	if first, ok := used[quoted]; ok {
		v.fault(key, quoted, "a name of its own; it is that of "+first)
		return
	}
	used[quoted] = key
}

// reference checks that a name is declared.
func (v *validator) reference(declared names, key, name, kind string) {
	if _, ok := declared[strconv.Quote(name)]; !ok {
		v.fault(key, strconv.Quote(name), "the name of a declared "+kind)
	}
}

func (v *validator) count(key string, n int) {
	if n < 0 || n > maxCount {
		v.fault(key, strconv.Itoa(n), fmt.Sprintf("0 to %d", maxCount))
	}
}

func (v *validator) number(key string, x float64) { v.within(key, x, 0, maxNumber) }

func (v *validator) within(key string, x, low, high float64) {
	if math.IsNaN(x) || x < low || x > high {
		v.fault(key, strconv.FormatFloat(x, 'g', -1, 64), fmt.Sprintf("%g to %g", low, high))
	}
}
