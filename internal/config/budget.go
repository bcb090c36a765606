package config

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"

// Budget limits what one namespace may cost the manager.
type Budget struct{ budget.Limits }

func (b *Budget) define(d *definition) {
	for _, l := range b.limits() {
		d.count(l.of, l.flag, budget.DefaultLimits().Of(l.what), l.help)
		d.twin(l.what.Setting())
	}
}

// budgetLimit is the setting of one limit and its range.
type budgetLimit struct {
	what        budget.What
	flag        string
	of          *int
	least, most int
	help        string
}

// limits returns the settings. An ordinary namespace needs the least of each; the most of each
// exceeds what a manager of 16 GiB holds.
func (b *Budget) limits() []budgetLimit {
	return []budgetLimit{
		{budget.Variants, "namespace-variants", &b.Variants, 1, 100_000, "VariantAutoscalings that are served of one namespace, the oldest first, 1 to 100,000"},
		{budget.ObjectBytes, "namespace-object-bytes", &b.ObjectBytes, 64 << 10, 1 << 30, "bytes of text in the VariantAutoscalings that are served of one namespace, the oldest first, 64 KiB to 1 GiB"},
		{budget.BatchSizes, "namespace-batch-sizes", &b.BatchSizes, 4096, 1 << 26, "requests in the batches of all profiles of one namespace (maxBatchSize, 256 where it is not set), which is what the time of a cycle is in proportion to; the oldest objects first, 4,096 to 67,108,864"},
		{budget.PageBytes, "namespace-page-bytes", &b.PageBytes, 1 << 20, 1 << 30, "bytes of pages that are kept of the pods of one namespace beside 128 KiB for each pod (backends pods and epp), 1 MiB to 1 GiB; of all namespaces together four times as many"},
		{budget.Series, "namespace-series", &b.Series, 1000, 1 << 24, "series on the latest pages of the pods of one namespace beside 256 for each pod (backends pods and epp), 1,000 to 16,777,216"},
		{budget.Findings, "namespace-findings", &b.Findings, 1, 1000, "findings about the ConfigMaps of one namespace that are told, 1 to 1,000; of the others the number is"},
		{budget.Events, "namespace-events", &b.Events, 10, 1_000_000, "events about objects of one namespace that are sent within an hour, 10 to 1,000,000"},
	}
}

func (b *Budget) validate() error {
	for _, l := range b.limits() {
		if err := between(l.what.Setting(), *l.of, l.least, l.most); err != nil {
			return err
		}
	}
	return nil
}
