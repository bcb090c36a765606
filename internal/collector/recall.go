package collector

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// recall asks since when the models that seem idle have been so, as far back as
// that is wanted: one question for each span. A question that fails is not asked
// again in this fetch, and its models are not known to have been idle. The fetch is
// complete all the same: nothing else goes by it.
func (c *Collector) recall(ctx context.Context, request query.Request, fleet scaling.Fleet, sheets builders) {
	if c.opts.Recall == nil {
		return
	}
	idle := slices.DeleteFunc(fleet.Models(), func(m scaling.ModelVariants) bool { return !sheets[m.Model].sheet.seemsIdle() })
	if len(idle) == 0 {
		return
	}
	wanted := c.opts.Recall(idle)
	models := map[time.Duration][]scaling.ModelKey{}
	for _, m := range idle {
		if span := wanted[m.Model]; span > 0 {
			models[span] = append(models[span], m.Model)
		}
	}
	for _, span := range slices.Sorted(maps.Keys(models)) {
		request.Span, request.Models = span, names(models[span])
		got := c.askOne(ctx, query.AskRecent, request)
		c.opts.Observe(query.AskRecent.String(), got.took, got.err)
		sheets.readQuiet(got.Rows, models[span])
	}
}

// names returns the names of models, sorted, none where they are too many or too
// long for a question: a source then answers about all models.
func names(models []scaling.ModelKey) []string {
	all := make([]string, len(models))
	for i, model := range models {
		all[i] = model.ID
	}
	slices.Sort(all)
	all = slices.Compact(all)
	length := 0
	for _, name := range all {
		length += len(name)
	}
	if len(all) > mostNamed || length > longestNames {
		return nil
	}
	return all
}

// seemsIdle reports whether the model's pages show no request, as far as they show
// anything.
func (s *sheet) seemsIdle() bool {
	for i := range s.pods {
		if larger(*s.pods[i].gauge(query.Running), 0) > 0 || larger(*s.pods[i].gauge(query.QueueLength), 0) > 0 {
			return false
		}
	}
	return len(s.pods) > 0 && larger(*s.flows.of(query.Completions), 0) == 0
}

// readQuiet takes over since when models are idle, of those that were asked about.
func (b builders) readQuiet(rows []query.Row, of []scaling.ModelKey) {
	asked := make(map[scaling.ModelKey]bool, len(of))
	for _, model := range of {
		asked[model] = true
	}
	for _, row := range rows {
		model := scaling.ModelKey{Namespace: row.Namespace, ID: row.Model}
		if asked[model] && !math.IsNaN(instant(row.Value)) {
			b[model].sheet.quietSince = max(b[model].sheet.quietSince, unixMilli(row.Value))
		}
	}
}
