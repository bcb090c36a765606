package scrape

import (
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// wantedOfPods returns the metrics that any recipe reads from a serving pod.
func wantedOfPods() families {
	wanted := families{}
	for _, engine := range query.Engines() {
		wanted[engine.Witness()] = struct{}{}
		for _, q := range query.All() {
			r, ok := query.RecipeOf(engine, q)
			if !ok {
				continue
			}
			for _, metrics := range [][]query.Series{r.Of, {r.Per}, r.Holds, r.Still} {
				wanted.add(metrics...)
			}
		}
	}
	return wanted
}

// add adds the families of metrics: a histogram's parts belong to one.
func (f families) add(metrics ...query.Series) {
	for _, metric := range metrics {
		for _, name := range metric.Names {
			f[name] = struct{}{}
			for _, suffix := range []string{"_sum", "_count", "_bucket"} {
				if base, ok := strings.CutSuffix(name, suffix); ok {
					f[base] = struct{}{}
				}
			}
		}
	}
}

// wantedOfPickers returns the metrics that are read from an endpoint picker.
func wantedOfPickers() families {
	names := query.Gateway()
	wanted := families{}
	for _, list := range [][]string{names.Queue, names.Dispatch, names.Requests, names.Errors} {
		wanted.add(query.Series{Names: list})
	}
	for _, s := range poolMetrics() {
		wanted.add(s)
	}
	return wanted
}
