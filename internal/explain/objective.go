package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Objective is what requests of a model should meet, and where that comes from. The zero value is
// that of a model without a service class.
type Objective struct {
	scaling.Objective
	// Row says how specifically the class names the model, such as "namespace and
	// model".
	Row string `json:"row,omitempty"`
	// Unfollowed says why the class that a variant names is not in force, "" where it is or the
	// variant names none.
	Unfollowed string `json:"unfollowed,omitempty"`
	// TTFTPercentile and ITLPercentile are the percentiles that the objectives bound, ratios in [0,
	// 1); 0 is the mean.
	TTFTPercentile float64 `json:"ttftPercentile,omitempty"`
	ITLPercentile  float64 `json:"itlPercentile,omitempty"`
}

// objective says what requests should meet and what they meet now.
func objective(o Objective, l scaling.Load) string {
	var out []string
	for _, slo := range []struct {
		name               string
		target, percentile float64
		mean               scaling.Reading
		buckets            scaling.Histogram
	}{
		{"TTFT", o.TTFT, o.TTFTPercentile, l.TTFT, l.TTFTBuckets},
		{"ITL", o.ITL, o.ITLPercentile, l.ITL, l.ITLBuckets},
	} {
		if slo.target > 0 {
			out = append(out, fmt.Sprintf("%s %g ms, %s now", slo.name, slo.target, attained(slo.percentile, slo.mean, slo.buckets)))
		}
	}
	text := "none: no service class holds the model"
	switch {
	case len(out) > 0:
		text = fmt.Sprintf("%s; class %s, priority %d", strings.Join(out, "; "), o.Class, o.Rank())
	case o.Class != "":
		text = fmt.Sprintf("none of class %s, priority %d", o.Class, o.Rank())
	}
	if o.Row != "" {
		text += ", by " + o.Row
	}
	if o.Unfollowed != "" {
		text += "; " + o.Unfollowed
	}
	return text
}

// attained returns the measured latency at a percentile, of the mean where it is 0.
func attained(percentile float64, mean scaling.Reading, buckets scaling.Histogram) string {
	if percentile == 0 {
		return fmt.Sprintf("the mean %s", mean)
	}
	name := fmt.Sprintf("the %gth percentile", 100*percentile)
	estimate, ok := buckets.Quantile(percentile)
	switch {
	case !ok:
		return fmt.Sprintf("%s unknown, the mean %s", name, mean)
	case estimate.Side == scaling.AtLeast:
		return fmt.Sprintf("%s at least %.3g", name, estimate.Value)
	case estimate.Side == scaling.AtMost:
		return fmt.Sprintf("%s about %.3g or less", name, estimate.Value)
	}
	return fmt.Sprintf("%s %.3g", name, estimate.Value)
}
