package scrape

import (
	"maps"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// wantedOfPods returns the metrics that the recipes evaluated here read from a serving pod.
func wantedOfPods(prefixes query.Prefixes) families {
	wanted := families{}
	for _, engine := range query.Engines() {
		for _, witness := range engine.Witnesses(prefixes) {
			wanted[witness] = struct{}{}
		}
		for _, q := range query.All() {
			r, ok := query.RecipeOf(engine, q, prefixes)
			if !ok {
				continue
			}
			for _, metrics := range [][]query.Series{r.Of, {r.Per}, r.Holds, r.Still} {
				wanted.add(metrics...)
			}
			if r.Over == query.Buckets {
				wanted.addBuckets(r.Of...)
			}
		}
	}
	return wanted
}

// infos returns the metrics whose number is in their labels, by name.
func infos(prefixes query.Prefixes) map[string]query.Series {
	all := map[string]query.Series{}
	for _, engine := range query.Engines() {
		for _, q := range query.All() {
			if r, ok := query.RecipeOf(engine, q, prefixes); ok && r.Over == query.Info {
				for _, metric := range r.Of {
					for _, name := range metric.Names {
						all[name] = metric
					}
				}
			}
		}
	}
	return all
}

// told replaces every info metric by its number, the largest of a page. As a label the number,
// which differs between pods, would give each pod a layout of its own.
func told(points []point, infos map[string]query.Series) []point {
	kept := make([]point, 0, len(points))
	found := map[string]float64{}
	for _, p := range points {
		metric, ok := infos[p.name]
		if !ok {
			kept = append(kept, p)
			continue
		}
		s := series{name: p.name, labels: p.labels}
		row, ok := query.RowOf(query.AskKVCapacity, s.label, p.value)
		if ok && passes(s, metric) {
			found[p.name] = max(found[p.name], row.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		kept = append(kept, point{name: name, value: found[name]})
	}
	return kept
}

// add adds the families of metrics: the parts of a histogram belong to one.
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

// addBuckets adds the buckets of histograms.
func (f families) addBuckets(histograms ...query.Series) {
	for _, h := range histograms {
		for _, name := range h.Names {
			f[name+"_bucket"] = struct{}{}
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
