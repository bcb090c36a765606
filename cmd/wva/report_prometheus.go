package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exported"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// reportStore is a Prometheus from which a report is made.
type reportStore struct{ simulateStore }

func (s *reportStore) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.url, "prometheus", "", "`URL` of the Prometheus that scrapes the manager, instead of --record")
	s.registerAccess(flags)
}

// check returns an error for wrong flags.
func (s *reportStore) check(changed func(name string) bool) error {
	if s.url != "" {
		return nil
	}
	var err error
	s.access.VisitAll(func(flag *pflag.Flag) {
		if err == nil && changed(flag.Name) {
			err = fmt.Errorf("--%s has no meaning without --prometheus", flag.Name)
		}
	})
	return err
}

// read reads the metrics that a manager exported from the store.
func (s *reportStore) read(ctx context.Context, from, to time.Time, namespace string) (modelCycles, error) {
	store, err := s.open()
	if err != nil {
		return modelCycles{}, fmt.Errorf("%w: --prometheus: %w", errUsage, err)
	}
	defer store.Close()
	span := exported.Span{From: from, To: to, Namespace: namespace}
	of, err := exported.Read(ctx, store, span)
	if err != nil {
		return modelCycles{}, fmt.Errorf("--prometheus: %w", err)
	}
	return modelCycles{of: of, objectives: map[scaling.ModelKey]scaling.Objective{}, source: "metrics in " + redacted(s.url), assumes: []string{
		fmt.Sprintf("metrics are read every %s, and each value stands until the next scrape, for three usual intervals at most (of reads or of scrapes, the longer one); longer gaps count for nothing", span.Step()),
		"what was decided is what would have run, from the decision on (wva_advised_replicas, wva_desired_replicas where decisions were carried out)",
		"decisions were made from what ran and what it showed: where another number had run, later decisions could have been others",
		"what the load was expected to need, the part of the requests within their objectives and the reasons of decisions are in no metric: read a record (--record) for them",
		"draining replicas and the surge of rollouts cost nothing here",
	}}, nil
}
