package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
)

// profileForms returns the export formats of a profile, by their name for --output.
func profileForms() map[string]func(profiled) (any, error) {
	return map[string]func(profiled) (any, error){
		"yaml": modelProfileOf, "plan": planProfileOf, "simulate": simulateProfileOf,
		"queue": func(p profiled) (any, error) { return p.queueArguments(), nil },
	}
}

// export returns the profile in a format.
func (p profiled) export(form func(profiled) (any, error)) (string, error) {
	switch {
	case p.From == profile.Nowhere:
		return "", fmt.Errorf("there is no profile of %s yet: %s", p.Variant, strings.Join(p.Missing, "; "))
	case !(p.Prompt > 0):
		return "", fmt.Errorf("there is no profile of %s: the lengths of its requests are not known", p.Variant)
	}
	value, err := form(p)
	if err != nil {
		return "", err
	}
	if text, plain := value.(string); plain {
		return text + "\n", nil
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing the profile: %w", err)
	}
	return "# " + p.Variant.String() + ": " + p.about() + "\n# for requests of " + p.lengths() + "\n" + string(text), nil
}

// digits is the number of digits of an exported coefficient, more than its accuracy.
const digits = 6

func exact(v float64) string { return strconv.FormatFloat(rounded(v, digits), 'f', -1, 64) }

func modelProfileOf(p profiled) (any, error) {
	of := v1alpha1.AcceleratorProfile{
		Acc: p.Accelerator, AccCount: new(int32(p.Accelerators)),
		PerfParms: &v1alpha1.PerfParms{
			DecodeParms:  map[string]string{"alpha": exact(p.Profile.Alpha), "beta": exact(p.Profile.Beta)},
			PrefillParms: map[string]string{"gamma": exact(p.Profile.Gamma), "delta": exact(p.Profile.Delta)},
		},
	}
	if p.Profile.MaxBatchSize > 0 {
		of.MaxBatchSize = new(int32(p.Profile.MaxBatchSize))
	}
	return map[string]v1alpha1.ModelProfile{"modelProfile": {Accelerators: []v1alpha1.AcceleratorProfile{of}}}, nil
}

func planProfileOf(p profiled) (any, error) {
	return []config.Profile{{
		Name: p.Model.ID, Accelerator: p.Accelerator, Count: p.Accelerators, MaxBatchSize: p.Profile.Batch(), AtTokens: int(math.Round(p.Answer)),
		Decode:  &config.DecodeParms{Alpha: rounded(p.Profile.Alpha, digits), Beta: rounded(p.Profile.Beta, digits)},
		Prefill: &config.PrefillParms{Gamma: rounded(p.Profile.Gamma, digits), Delta: rounded(p.Profile.Delta, digits)},
	}}, nil
}

// simulateProfileOf returns the coefficients of a step, as the simulated replica uses them. The
// pass that begins the prompt of a lone request takes e steps.
func simulateProfileOf(p profiled) (any, error) {
	if !(p.KVCache > 0) {
		return nil, fmt.Errorf("there is no profile of %s for a simulation: no replica says how large its KV cache is", p.Variant)
	}
	by := map[string]float64{}
	for _, c := range p.Coefficients {
		by[c.Name] = rounded(c.Mean, digits)
	}
	const tokens, block = 2048, 16 // the defaults of vLLM
	of := serving.Profile{
		Name: p.Variant.Name, Accelerator: p.Accelerator, AlphaMS: by["a"], BetaMS: by["b"], GammaMS: rounded(by["e"]*(by["a"]+by["b"]), digits), DeltaMS: by["d"],
		MaxBatchSize: p.Profile.Batch(), MaxBatchedTokens: max(tokens, p.Profile.Batch()), KVCacheTokens: int(p.KVCache), BlockSize: block, MaxModelLen: int(p.KVCache),
	}
	if err := of.Validate(); err != nil {
		return nil, fmt.Errorf("there is no profile of %s for a simulation: %w", p.Variant, err)
	}
	return of, nil
}

func (p profiled) queueArguments() string {
	return fmt.Sprintf("--alpha %s --beta %s --gamma %s --delta %s --max-batch %d --input-tokens %.0f --output-tokens %.0f",
		exact(p.Profile.Alpha), exact(p.Profile.Beta), exact(p.Profile.Gamma), exact(p.Profile.Delta), p.Profile.Batch(), p.Prompt, p.Answer)
}
