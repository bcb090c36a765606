package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/controller"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// newHistory returns a history that reads the conditions of variants from objects, which is a
// cache.
func newHistory(objects client.Reader) *history.History {
	return history.New(history.Options{Later: true, Troubles: func(key scaling.VariantKey) []explain.Trouble {
		var va v1alpha1.VariantAutoscaling
		if err := objects.Get(context.Background(), client.ObjectKey{Namespace: key.Namespace, Name: key.Name}, &va); err != nil {
			return nil // the object is gone, and the next cycle is without the variant
		}
		return controller.Troubles(&va)
	}})
}

// chronicle adds every cycle to the history and passes it on to next.
type chronicle struct {
	history *history.History
	memory  *ledger.Ledger // holds the record of the cycle
	next    cycle.Archive  // nil for none
}

var _ cycle.Archive = (*chronicle)(nil)

// Keep implements cycle.Archive.
func (c *chronicle) Keep(d cycle.Decided) {
	of := history.Cycle{Cycle: d.Recorded(), Part: func(m scaling.ModelKey) record.Cycle { return d.Part(m).Recorded() }}
	if r, ok := c.memory.Latest(); ok && r.Cycle == d.Case.Cycle {
		of.Analyses, of.Pods, of.Ending = r.Analyses, r.Fleet.Pods, r.Fleet.Ending
	}
	c.history.Add(of)
	if c.next != nil {
		c.next.Keep(d)
	}
}
