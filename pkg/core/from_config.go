package core

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// secondsPerMinute converts the arrival rates of a document.
const secondsPerMinute = 60

// FromConfig returns the System of a document. It validates the document, applies the defaults and
// converts the units. Its error is that of config.System.Validate.
func FromConfig(spec config.System, rules Rules) (System, error) {
	if err := spec.Validate(); err != nil {
		return System{}, err
	}
	return NewSystem(Parts{
		Accelerators: accelerators(spec.AcceleratorData),
		Models:       models(spec.ModelData),
		Classes:      classes(spec.ServiceClassData),
		Servers:      servers(spec.ServerData),
	}, rules)
}

// Stock returns the accelerators in stock by type, nil where a document has no
// capacityData.
func Stock(spec config.System) map[string]int {
	if spec.CapacityData == nil {
		return nil
	}
	stock := make(map[string]int, len(spec.CapacityData.Count))
	for _, c := range spec.CapacityData.Count {
		stock[c.Type] = c.Count
	}
	return stock
}

func accelerators(d config.AcceleratorData) []Accelerator {
	out := make([]Accelerator, 0, len(d.Accelerators))
	for _, a := range d.Accelerators {
		out = append(out, Accelerator{
			Name: a.Name, Type: a.Type, Multiplicity: a.Multiplicity, Cost: a.Cost,
			Power: Power{Idle: a.Power.Idle, Mid: a.Power.MidPower, Full: a.Power.Full, MidUtilization: a.Power.MidUtil},
		})
	}
	return out
}

// models collects the profiles of each model.
func models(d config.ModelData) []Model {
	profiles := map[string][]Profile{}
	for _, p := range d.Models {
		profiles[p.Name] = append(profiles[p.Name], Profile{
			Accelerator: p.Accelerator, Count: p.Count, MaxBatch: p.MaxBatchSize, AtTokens: p.AtTokens,
			Service: serviceModel(p),
		})
	}
	out := make([]Model, 0, len(profiles))
	for _, name := range sortedKeys(profiles) {
		out = append(out, Model{Name: name, Profiles: profiles[name]})
	}
	return out
}

func serviceModel(p config.Profile) analyzer.ServiceModel {
	if p.Service != nil {
		return analyzer.ThreeParameter{Alpha: p.Service.Alpha, Beta: p.Service.Beta, Gamma: p.Service.Gamma}
	}
	var m analyzer.FourParameter
	if p.Decode != nil {
		m.Alpha, m.Beta = p.Decode.Alpha, p.Decode.Beta
	}
	if p.Prefill != nil {
		m.Gamma, m.Delta = p.Prefill.Gamma, p.Prefill.Delta
	}
	return m
}

func classes(d config.ServiceClassData) []ServiceClass {
	out := make([]ServiceClass, 0, len(d.ServiceClasses))
	for _, c := range d.ServiceClasses {
		class := ServiceClass{Name: c.Name, Priority: c.Priority}
		if class.Priority == 0 {
			class.Priority = config.DefaultPriority
		}
		for _, t := range c.ModelTargets {
			class.Targets = append(class.Targets, Target{Model: t.Model, TTFT: t.TTFT, ITL: t.ITL, TPS: t.TPS})
		}
		out = append(out, class)
	}
	return out
}

func servers(d config.ServerData) []Server {
	out := make([]Server, 0, len(d.Servers))
	for _, s := range d.Servers {
		if s.Class == "" {
			s.Class = config.DefaultClass
		}
		load := s.CurrentAlloc.Load
		out = append(out, Server{
			Name: s.Name, Class: s.Class, Model: s.Model,
			KeepAccelerator: s.KeepAccelerator, MinReplicas: s.MinNumReplicas, MaxBatch: s.MaxBatchSize,
			Load: Load{
				Unknown:     load.ArrivalRate < 0,
				ArrivalRate: max(load.ArrivalRate, 0) / secondsPerMinute,
				InputTokens: load.InputTokens, OutputTokens: load.OutputTokens,
			},
			Current: Allocation{
				Accelerator: s.CurrentAlloc.Accelerator, Replicas: s.CurrentAlloc.NumReplicas, Cost: s.CurrentAlloc.Cost,
			},
		})
	}
	return out
}
