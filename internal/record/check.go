package record

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// check returns a *FieldError for values that no cycle can have, and that no decision can use.
func (c Cycle) check() error {
	if c.Now.IsZero() {
		return &FieldError{Path: "now", Problem: "is missing: the instant of the decision"}
	}
	models, variants := map[scaling.ModelKey]bool{}, map[scaling.VariantKey]bool{}
	for i, s := range c.Snapshots {
		at := fmt.Sprintf("snapshots[%d]", i)
		if err := named(at+".model", "id", s.Model.Namespace, s.Model.ID); err != nil {
			return err
		}
		if models[s.Model] {
			return &FieldError{Path: at + ".model", Problem: fmt.Sprintf("%s has a snapshot before", s.Model)}
		}
		models[s.Model] = true
		for j, v := range s.Variants {
			if err := checkVariant(fmt.Sprintf("%s.variants[%d]", at, j), s.Model, v); err != nil {
				return err
			}
			if variants[v.Key] {
				return &FieldError{Path: fmt.Sprintf("%s.variants[%d].key", at, j), Problem: fmt.Sprintf("%s is there before", v.Key)}
			}
			variants[v.Key] = true
		}
		for j, r := range s.Replicas {
			if !slices.ContainsFunc(s.Variants, func(v scaling.Variant) bool { return v.Key == r.Variant }) {
				return &FieldError{
					Path:    fmt.Sprintf("%s.replicas[%d].variant", at, j),
					Problem: fmt.Sprintf("%s is not among the variants of the snapshot", r.Variant),
				}
			}
		}
	}
	if err := c.checkConfiguration(); err != nil {
		return err
	}
	return c.checkHistory()
}

// checkConfiguration checks the configuration and the quotas. As in checkHistory, a key stands for
// an index in paths.
func (c Cycle) checkConfiguration() error {
	for _, key := range slices.SortedFunc(maps.Keys(c.Configuration), scaling.ModelKey.Compare) {
		at, p := fmt.Sprintf("configuration[%s]", key), c.Configuration[key]
		if err := named(at+".model", "id", key.Namespace, key.ID); err != nil {
			return err
		}
		if err := checkSettings(at, p); err != nil {
			return err
		}
	}
	for i, q := range c.Quotas {
		if q.GPUs < 0 {
			return &FieldError{Path: fmt.Sprintf("quotas[%d].gpus", i), Problem: fmt.Sprintf("want 0 or more, found %d", q.GPUs)}
		}
	}
	return nil
}

// checkSettings refuses values that no configuration accepts. at is the path of p.
func checkSettings(at string, p settings.Model) error {
	for _, name := range []struct {
		field, value string
		known        []string
	}{{"engine", string(p.Engine), []string{"", "saturation", "queueing", "hybrid", "published", "model"}}, {"method", string(p.Method), []string{"", "spare", "tokens"}}} {
		if !slices.Contains(name.known, name.value) {
			return &FieldError{Path: at + "." + name.field, Problem: fmt.Sprintf("want %s, found %.80q", strings.Join(name.known[1:], ", "), name.value)}
		}
	}
	for _, number := range []struct {
		name        string
		value       float64
		above, most float64 // the range, without its lower end
	}{
		{"saturation.kvCacheThreshold", p.Saturation.KVCacheThreshold, below0, math.MaxFloat64},
		{"saturation.queueLengthThreshold", p.Saturation.QueueLengthThreshold, below0, math.MaxFloat64},
		{"saturation.kvSpareTrigger", p.Saturation.KVSpareTrigger, below0, math.MaxFloat64},
		{"saturation.queueSpareTrigger", p.Saturation.QueueSpareTrigger, below0, math.MaxFloat64},
		{"tokens.kvCacheThreshold", p.Tokens.KVCacheThreshold, 0, math.MaxFloat64},
		{"tokens.queueLengthThreshold", p.Tokens.QueueLengthThreshold, 0, math.MaxFloat64},
		{"tokens.scaleUpThreshold", p.Tokens.ScaleUpThreshold, 0, math.MaxFloat64},
		{"tokens.scaleDownBoundary", p.Tokens.ScaleDownBoundary, 0, math.MaxFloat64},
		{"objective.ttft", p.Objective.TTFT, below0, math.MaxFloat64},
		{"objective.itl", p.Objective.ITL, below0, math.MaxFloat64},
		{"sizing.ttftPercentile", p.Sizing.TTFTPercentile, below0, below1},
		{"sizing.itlPercentile", p.Sizing.ITLPercentile, below0, below1},
	} {
		if !(number.value > number.above && number.value <= number.most) {
			return &FieldError{Path: at + "." + number.name, Problem: fmt.Sprintf("want %s, found %g", accepted(number.above, number.most), number.value)}
		}
	}
	if held := p.Pacing.Zero.Retention; held < 0 {
		return &FieldError{Path: at + ".pacing.zero.retention", Problem: fmt.Sprintf("want a period above 0, or 0 to leave the model alone, found %s", held)}
	}
	return nil
}

// below0 and below1 are the numbers next to 0 and 1.
const (
	below0 = -math.SmallestNonzeroFloat64
	below1 = 1 - 1.0/(1<<53)
)

// accepted returns a range in words.
func accepted(above, most float64) string {
	switch {
	case most == below1:
		return "a ratio from 0 to below 1"
	case above == 0:
		return "more than 0"
	}
	return "0 or more"
}

func checkVariant(at string, model scaling.ModelKey, v scaling.Variant) error {
	if err := named(at+".key", "name", v.Key.Namespace, v.Key.Name); err != nil {
		return err
	}
	if v.Model != model {
		return &FieldError{Path: at + ".model", Problem: fmt.Sprintf("want that of the snapshot, %s, found %s", model, v.Model)}
	}
	if !(v.Cost >= 0) || math.IsInf(v.Cost, 1) {
		return &FieldError{Path: at + ".cost", Problem: fmt.Sprintf("want 0 or more, found %g", v.Cost)}
	}
	return checkCounts(at+".replicas", v.Replicas)
}

// checkHistory checks the history. Its entries have no index, so their key stands for it in a path.
func (c Cycle) checkHistory() error {
	for _, key := range slices.SortedFunc(maps.Keys(c.History), scaling.VariantKey.Compare) {
		at, past := fmt.Sprintf("history[%s]", key), c.History[key]
		if err := named(at+".variant", "name", key.Namespace, key.Name); err != nil {
			return err
		}
		if err := checkCount(at+".desired", past.Desired); err != nil {
			return err
		}
		if err := checkCounts(at+".counts", past.Counts); err != nil {
			return err
		}
		if err := checkCount(at+".unplaced.replicas", past.Unplaced.Replicas); err != nil {
			return err
		}
		if err := checkCount(at+".podless.replicas", past.Podless.Replicas); err != nil {
			return err
		}
	}
	return nil
}

func checkCounts(at string, r scaling.ReplicaCounts) error {
	for _, n := range []struct {
		name  string
		value scaling.Replicas
	}{{"current", r.Current}, {"ready", r.Ready}, {"pending", r.Pending}, {"unschedulable", r.Unschedulable}, {"podless", r.Podless}, {"surplus", r.Surplus}} {
		if err := checkCount(at+"."+n.name, n.value); err != nil {
			return err
		}
	}
	return nil
}

// checkCount refuses numbers of replicas that the Kubernetes API does not accept.
func checkCount(at string, n scaling.Replicas) error {
	if n < 0 || n > math.MaxInt32 {
		return &FieldError{Path: at, Problem: fmt.Sprintf("want a number of replicas, 0 to %d, found %d", math.MaxInt32, n)}
	}
	return nil
}

// named refuses a key without a namespace or a name; second is the field of the name.
func named(at, second, namespace, name string) error {
	switch {
	case namespace == "":
		return &FieldError{Path: at + ".namespace", Problem: "is missing"}
	case name == "":
		return &FieldError{Path: at + "." + second, Problem: "is missing"}
	}
	return nil
}
