package discovery

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// profile returns the measured speed of a replica: variantProfile, else the entry of the older
// modelProfile for this accelerator. Of several entries it takes the one with gpus accelerators,
// else the first.
func profile(spec v1alpha1.VariantAutoscalingSpec, accelerator string, gpus scaling.Accelerators) scaling.Profile {
	if p := spec.VariantProfile; p != nil {
		return profileOf("variantProfile", p.PerfParms, p.MaxBatchSize)
	}
	entries := entriesFor(spec.ModelProfile, accelerator)
	if len(entries) == 0 {
		return scaling.Profile{}
	}
	chosen := entries[0]
	for _, e := range entries {
		if e.AccCount != nil && scaling.Accelerators(*e.AccCount) == gpus {
			chosen = e
			break
		}
	}
	return profileOf("modelProfile", chosen.PerfParms, chosen.MaxBatchSize)
}

// entriesFor returns the entries of a profile for an accelerator, in their order. It ignores case.
func entriesFor(p *v1alpha1.ModelProfile, accelerator string) []v1alpha1.AcceleratorProfile {
	if p == nil {
		return nil
	}
	var out []v1alpha1.AcceleratorProfile
	for _, e := range p.Accelerators {
		if strings.EqualFold(e.Acc, accelerator) {
			out = append(out, e)
		}
	}
	return out
}

// longestText limits how much of a coefficient a problem quotes, in bytes.
const longestText = 64

// firstOf returns text, shortened to longestText bytes and an ellipsis.
func firstOf(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:longestText], "") + "..."
}

// profileOf reads a profile; source is the field of the spec that holds it. A profile without
// coefficients has only its batch size, at most scaling.MostBatch. A missing or wrong coefficient
// is a Problem.
func profileOf(source string, parms *v1alpha1.PerfParms, maxBatchSize *int32) scaling.Profile {
	var p scaling.Profile
	if maxBatchSize != nil {
		p.MaxBatchSize = min(int(max(0, *maxBatchSize)), scaling.MostBatch)
	}
	if parms == nil {
		return p
	}
	p.Source = source
	read := p
	for _, c := range []struct {
		field string
		parms map[string]string
		key   string
		into  *float64
	}{
		{"decodeParms", parms.DecodeParms, "alpha", &read.Alpha},
		{"decodeParms", parms.DecodeParms, "beta", &read.Beta},
		{"prefillParms", parms.PrefillParms, "gamma", &read.Gamma},
		{"prefillParms", parms.PrefillParms, "delta", &read.Delta},
	} {
		text, ok := c.parms[c.key]
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		known := scaling.Measured(value, scaling.Fresh)
		switch {
		case !ok:
			p.Problem = fmt.Sprintf("%s.perfParms.%s has no %s: want a decimal number, 0 or more", source, c.field, c.key)
			return p
		case err != nil || !known.Known():
			p.Problem = fmt.Sprintf("%s.perfParms.%s.%s is %q: want a decimal number, 0 to %g", source, c.field, c.key, firstOf(text), scaling.Largest)
			return p
		}
		*c.into = known.Value
	}
	return read
}
