package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/web"
)

// profiled is a variant with its known speed.
type profiled struct {
	profile.Shown

	Model       scaling.ModelKey `json:"model"`
	Accelerator string           `json:"accelerator"`
	// Accelerators is the number of accelerators of one replica.
	Accelerators int `json:"accelerators"`
	// KVCache is the KV cache of one replica, in tokens; 0 if unknown.
	KVCache float64 `json:"kvCacheTokens,omitempty"`
	// Missing says why the measurements do not count yet.
	Missing []string `json:"missing,omitempty"`
}

// fromManager returns the variants of the namespace, and the present time. It returns an error
// unless name is empty or among them.
func (f *profileFlags) fromManager(ctx context.Context, name string) ([]profiled, time.Time, error) {
	now := time.Now()
	restConfig, c, err := f.connect()
	if err != nil {
		return nil, now, err
	}
	path := web.DecisionsPath + "/" + f.namespace
	if f.everywhere {
		path, f.namespace = web.DecisionsPath, ""
	}
	var all []explain.Explanation
	asked := f.ask(ctx, restConfig, c, path, &all)
	found := profiledOf(all)
	if name == "" || asked == nil && slices.ContainsFunc(found, func(p profiled) bool { return p.Variant.Name == name }) {
		return found, now, asked
	}
	key := client.ObjectKey{Namespace: f.namespace, Name: name}
	if err := c.Get(ctx, key, &v1alpha1.VariantAutoscaling{}); apierrors.IsNotFound(err) {
		return nil, now, absent(ctx, c, key)
	}
	return nil, now, cmp.Or(asked, fmt.Errorf("no cycle has seen VariantAutoscaling %s yet", key))
}

// fromRecord returns the same for a recorded cycle, and the time of the cycle.
func (f *profileFlags) fromRecord(stdin io.Reader, name string) ([]profiled, time.Time, error) {
	c, err := f.recorded(stdin)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("reading %s: %w", f.record, err)
	}
	verdict := replay.Decide(c)
	var all []explain.Explanation
	var names, elsewhere []string
	for _, s := range c.Snapshots {
		for _, v := range s.Variants {
			if f.namespace != "" && v.Key.Namespace != f.namespace {
				continue
			}
			all = append(all, replay.Explanation(c, verdict, s, v))
			names = append(names, v.Key.Name)
			if v.Key.Name == name {
				elsewhere = append(elsewhere, v.Key.Namespace)
			}
		}
	}
	if name == "" || len(elsewhere) == 1 {
		return profiledOf(all), c.Now, nil
	}
	if len(elsewhere) > 1 {
		return nil, c.Now, fmt.Errorf("%w: %s is in the namespaces %q of the cycle: want one of them, by -n", errUsage, name, elsewhere)
	}
	said := fmt.Sprintf("the cycle has no VariantAutoscaling %s", name)
	if f.namespace != "" {
		said += " in namespace " + f.namespace
	}
	if hint := spelling.Hint(name, names); hint != "" {
		said += hint
	} else if len(names) > 0 {
		said += "; it has " + scaling.Few(names)
	}
	return nil, c.Now, errors.New(said)
}

// recorded returns the selected cycle, by default the last.
func (f *profileFlags) recorded(stdin io.Reader) (record.Cycle, error) {
	var last record.Cycle
	found := false
	var torn error // the last line that could not be read; it counts only if no other could
	for c, err := range recordedCycles(f.record, stdin) {
		if _, bad := errors.AsType[*record.LineError](err); bad {
			torn = err
			continue
		}
		if err != nil {
			return record.Cycle{}, err
		}
		if f.cycle == "" || string(c.Cycle) == f.cycle {
			last, found = c, true
		}
	}
	switch {
	case found:
		return last, nil
	case f.cycle != "":
		return record.Cycle{}, fmt.Errorf("there is no cycle %q", f.cycle)
	}
	return record.Cycle{}, cmp.Or(torn, errors.New("there is no cycle"))
}

// profiledOf returns the known speed of variants from their explanations, in the order of their
// keys. The explanations include all variants of a model, or none.
func profiledOf(all []explain.Explanation) []profiled {
	models := map[scaling.ModelKey][]explain.Explanation{}
	for _, e := range all {
		models[e.Variant.Model] = append(models[e.Variant.Model], e)
	}
	var out []profiled
	for _, of := range models {
		out = append(out, profiledModel(of)...)
	}
	slices.SortFunc(out, func(a, b profiled) int { return a.Variant.Compare(b.Variant) })
	return out
}

func profiledModel(all []explain.Explanation) []profiled {
	variants, fits, means := make([]scaling.Variant, len(all)), map[scaling.VariantKey]memory.Fit{}, make([]memory.Means, len(all))
	for i, e := range all {
		variants[i], fits[e.Variant.Key], means[i] = e.Variant, e.Past.Fit, e.Past.Traffic.Means
	}
	prompt, answer := profile.LengthsFor(means, all[0].Snapshot.Load)
	out := make([]profiled, len(all))
	for i, shown := range profile.Show(variants, fits, prompt, answer) {
		e := all[i]
		out[i] = profiled{
			Shown: shown, Model: e.Variant.Model, Accelerator: e.Variant.Accelerator, Accelerators: int(e.Variant.GPUsPerReplica),
			KVCache: e.Past.Capacity.PerReplica, Missing: profile.Missing(e.Snapshot, e.Variant, e.Past.Fit),
		}
		for _, r := range e.Snapshot.Replicas {
			if r.Variant == shown.Variant && r.KVCapacity.Known() {
				out[i].KVCache = r.KVCapacity.Value
			}
		}
	}
	return out
}
