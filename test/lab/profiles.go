package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/zoo"
)

// measurements is the part of profiles.json that the lab uses.
type measurements struct {
	Prices struct {
		Items []struct {
			Accelerator string  `json:"accelerator"`
			USD         float64 `json:"usd"` // per hour
		} `json:"items"`
	} `json:"reference_prices"`
	Profiles    []measurement `json:"profiles"`
	Recommended []string      `json:"recommended_ids"`

	file string
}

// measurement is the published speed of one replica.
type measurement struct {
	ID          string               `json:"id"`
	Model       string               `json:"model"`
	Accelerator string               `json:"accelerator"`
	Quality     string               `json:"quality"` // good or suspect
	GPUs        scaling.Accelerators `json:"tensor_parallel"`
	Alpha       float64              `json:"alpha_ms"`
	Beta        float64              `json:"beta_ms"`
	Gamma       float64              `json:"gamma_ms"`
	Delta       float64              `json:"delta_ms_per_input_token"`
	KVTokens    int                  `json:"kv_cache_tokens"`
}

func readMeasurements(dir string) (measurements, error) {
	m := measurements{file: filepath.Join(dir, "profiles.json")}
	content, err := os.ReadFile(m.file)
	if err != nil {
		return m, fmt.Errorf("reading the profiles: %w", err)
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("reading the profiles of %s: %w", m.file, err)
	}
	return m, nil
}

// price returns the price of one accelerator of a machine with eight, per hour.
func (m measurements) price(machine string) (float64, error) {
	for _, item := range m.Prices.Items {
		if item.Accelerator == machine {
			return item.USD / 8, nil
		}
	}
	return 0, fmt.Errorf("%s: reference_prices has no %q", m.file, machine)
}

// profile returns a recommended measurement as a serving profile, and its number of accelerators.
// Batches have 256 requests and 2048 tokens at most, the defaults of vLLM, and a request may fill
// the KV cache.
func (m measurements) profile(id, accelerator string) (serving.Profile, scaling.Accelerators, error) {
	i := slices.IndexFunc(m.Profiles, func(p measurement) bool { return p.ID == id })
	if i < 0 || !slices.Contains(m.Recommended, id) {
		return serving.Profile{}, 0, fmt.Errorf("%s: %q is not among recommended_ids", m.file, id)
	}
	one := m.Profiles[i]
	p := one.profile(accelerator)
	if err := p.Validate(); err != nil {
		return p, 0, fmt.Errorf("%s: profile %s: %w", m.file, id, err)
	}
	return p, one.GPUs, nil
}

func (m measurement) profile(accelerator string) serving.Profile {
	return serving.Profile{
		Name: m.ID, Accelerator: accelerator, AlphaMS: m.Alpha, BetaMS: m.Beta, GammaMS: m.Gamma, DeltaMS: m.Delta,
		MaxBatchSize: 256, MaxBatchedTokens: 2048, KVCacheTokens: m.KVTokens, BlockSize: 16, MaxModelLen: m.KVTokens,
	}
}

// replicas returns, for the zoo, every profile of good quality with a KV cache size and an
// accelerator with a price. Duplicates count once.
func (m measurements) replicas() ([]zoo.Replica, error) {
	var out []zoo.Replica
	for _, one := range m.Profiles {
		on, known := machineOf(one.Accelerator)
		p := one.profile(on.name)
		if !known || one.Quality != "good" || one.KVTokens == 0 || p.Validate() != nil || strings.Contains(one.ID, "#") {
			continue
		}
		price, err := m.price(on.priced)
		if err != nil {
			return nil, err
		}
		out = append(out, zoo.Replica{Profile: p, Model: one.Model, GPUs: one.GPUs, Cost: price * float64(one.GPUs)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no profile of good quality with kv_cache_tokens", m.file)
	}
	return out, nil
}

// machineOf returns the machine of an accelerator as profiles name it, false if the accelerator has
// no price.
func machineOf(accelerator string) (machine, bool) {
	for _, m := range []machine{a100(), h100()} {
		if strings.HasPrefix(accelerator, m.name) {
			return m, true
		}
	}
	return machine{}, false
}
