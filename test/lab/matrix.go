package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// The recommended profiles in the matrix.
const (
	phi4A100      = "microsoft/phi-4/A100-80/tp1/v0.8.4"
	phi4H100      = "microsoft/phi-4/H100/tp1/v0.8.4"
	llama8A100    = "meta-llama/llama-3.1-8b-instruct/A100-80/tp1/v0.8.4"
	mistral24A100 = "mistralai/mistral-small-24b-instruct-2501/A100-80/tp2/v0.8.4"
	codellamaH100 = "codellama/codellama-34b-instruct-hf/H100/tp1/v0.8.4"
)

// most is the maxReplicas of every variant: more than any trace needs, as every HPA has a limit.
const most = 32

// trace is a file of the folder, with the objectives of its requests.
type trace struct {
	name, file string
	slo        sim.SLO
	// fleets are the fleets that serve the trace.
	fleets []string
	nodes  int // of eight A100 each, which the three models share
	// prefix is the common part of prompts in the fleet of two variants.
	prefix sim.Prefix
}

// patience returns the patience of clients: 30 times the TTFT objective in the mean, so that fewer
// than one of a thousand leaves before it has missed its TTFT. Half of those that leave come back.
func patience(slo sim.SLO) sim.Patience {
	const times, retry, after = 30, 0.5, 30 * time.Second
	mean := times * time.Duration(slo.TTFT*float64(time.Millisecond))
	return sim.Patience{Mean: mean, Deviation: mean, Retry: retry, After: after}
}

// shared returns a prefix that half of the prompts have in common with an earlier one; part is its
// share of their tokens.
func shared(part float64) sim.Prefix { return sim.Prefix{Share: 0.5, Part: part, Warm: 200} }

func chat() sim.SLO { return sim.SLO{TTFT: 2000, ITL: 50, Attainment: lab.DefaultTarget} }

// documents returns objectives for prompts of 12,000 tokens in the mean.
func documents() sim.SLO { return sim.SLO{TTFT: 10_000, ITL: 100, Attainment: lab.DefaultTarget} }

func traces() []trace {
	return []trace{
		{name: "aibrix", file: "aibrix_8min_up_and_down.csv", slo: chat(), fleets: []string{"one", "full"}},
		{name: "azure", file: "azure2023_conv.csv", slo: chat(), fleets: []string{"one", "full", "two", "three"}, nodes: 1, prefix: shared(0.5)},
		{name: "azure-code", file: "azure2023_code.csv", slo: chat(), fleets: []string{"one", "full"}},
		{name: "mooncake", file: "mooncake_conversation.csv", slo: documents(), fleets: []string{"one", "two", "three"}, nodes: 2, prefix: shared(0.75)},
		{name: "servegen-day", file: "servegen_m-large_24h.csv", slo: chat(), fleets: []string{"one", "full"}},
		{name: "servegen-bursty", file: "servegen_m-large_bursty_2d.csv", slo: chat(), fleets: []string{"one"}},
		{name: "deepseek-r1", file: "servegen_deepseek-r1_24h.csv", slo: chat(), fleets: []string{"one", "full"}},
		{name: "rates-small", file: "servegen_m-small_rate.csv", slo: chat(), fleets: []string{"one"}},
		{name: "rates-mid", file: "servegen_m-mid_rate.csv", slo: chat(), fleets: []string{"one"}},
	}
}

// matrix returns every scenario whose trace is in a folder.
func matrix(dir string) ([]lab.Scenario, error) {
	m, err := readMeasurements(dir)
	if err != nil {
		return nil, err
	}
	lengths, err := workload.ChatLengths(984, 129) // the means of servegen_m-large
	if err != nil {
		return nil, err
	}
	var all []lab.Scenario
	for _, t := range traces() {
		// Curves of rates are those of whole platforms: the first two days, scaled to 10 requests/s
		// at the highest.
		source, err := lab.File(filepath.Join(dir, t.file), lab.FileOptions{Lengths: lengths, Peak: 10, Take: 48 * time.Hour})
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		source.Name = t.file
		for _, name := range t.fleets {
			s, err := fleet(m, name, t)
			if err != nil {
				return nil, err
			}
			s.Name, s.Workload, s.Target = t.name+"/"+name, source, t.slo.Attainment
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no trace in %s: want files such as %s", dir, traces()[0].file)
	}
	return all, nil
}

// fleet returns a scenario without its workload.
func fleet(m measurements, name string, t trace) (lab.Scenario, error) {
	var s lab.Scenario
	var err error
	add := func(id string, share float64, variants ...serves) {
		model := lab.DefaultModel()
		model.Spec.Key, model.Share, model.Spec.SLO = scaling.ModelKey{Namespace: "lab", ID: id}, share, t.slo
		model.Spec.Patience = patience(t.slo)
		if name == "two" {
			model.Spec.Prefix = t.prefix
		}
		for _, one := range variants {
			v, wrong := m.variant(one)
			err = errors.Join(err, wrong)
			model.Spec.Variants = append(model.Spec.Variants, v)
		}
		s.Models = append(s.Models, model)
	}
	switch name {
	case "one":
		s.Description = "One model, one variant: phi-4 (14B) on one A100, whose KV cache is larger than the objectives let it fill."
		add("phi-4", 1, serves{"phi-4-a100", phi4A100, a100(), 1})
	case "full":
		s.Description = "One model, one variant: codellama-34b on one H100, whose KV cache is full before the ITL is at its limit."
		add("codellama-34b", 1, serves{"codellama-34b-h100", codellamaH100, h100(), 1})
	case "two":
		s.Description = "One model on two accelerators: phi-4 on one A100 or one H100; the H100 may go to zero." +
			fmt.Sprintf(" %g %% of the prompts share %g %% of their tokens with earlier ones.", 100*t.prefix.Share, 100*t.prefix.Part)
		add("phi-4", 1, serves{"phi-4-a100", phi4A100, a100(), 1}, serves{"phi-4-h100", phi4H100, h100(), 0})
	case "three":
		s.Description = fmt.Sprintf("Three models share %d A100 in nodes of eight: llama-3.1-8b (50 %% of the requests), phi-4 (30 %%), mistral-small-24b on two (20 %%).", 8*t.nodes)
		add("llama-3.1-8b", 5, serves{"llama-8b-a100", llama8A100, a100(), 1})
		add("phi-4", 3, serves{"phi-4-a100", phi4A100, a100(), 1})
		add("mistral-small-24b", 2, serves{"mistral-24b-2xa100", mistral24A100, a100(), 1})
		s.Fleet.Nodes = []sim.Nodes{{Accelerator: a100().name, Count: t.nodes, GPUs: 8}}
	}
	return s, err
}

// machine is an accelerator type and the rented machine whose price it has.
type machine struct{ name, priced string }

func a100() machine { return machine{"A100", "DGX-A100 (8 GPU)"} }

func h100() machine { return machine{"H100", "DGX-H100 (8 GPU)"} }

// serves is a variant: its name, the ID of its profile, its accelerator and its minReplicas.
type serves struct {
	name, id string
	on       machine
	least    scaling.Replicas
}

func (m measurements) variant(s serves) (sim.Variant, error) {
	profile, gpus, err := m.profile(s.id, s.on.name)
	if err != nil {
		return sim.Variant{}, err
	}
	price, err := m.price(s.on.priced)
	if err != nil {
		return sim.Variant{}, err
	}
	v := lab.DefaultVariant("lab", profile)
	v.Spec.Key.Name = s.name
	v.Spec.GPUsPerReplica, v.Spec.Cost = gpus, price*float64(gpus)
	v.Spec.Bounds = scaling.Bounds{Min: s.least, Max: most}
	return v, nil
}
