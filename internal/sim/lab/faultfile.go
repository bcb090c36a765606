package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// fault reads one fault of a scenario.
func (scenarioReader) fault(v value, s *Scenario) error {
	f := fault.Fault{}
	kind, namespace := "", DefaultModel().Spec.Key.Namespace
	err := v.mapping(map[string]reader{
		"kind": text(&kind), "namespace": text(&namespace), "variant": text(&f.Variant.Name), "model": text(&f.Model.ID),
		"at": span(&f.At, 0), "for": span(&f.For, time.Second), "replicas": whole(&f.Replicas, 1, 100_000), "share": number(&f.Share, 0.01, 1),
		"wait": span(&f.Wait, time.Second), "period": span(&f.Period, time.Second), "ready": span(&f.Ready, time.Second),
		"step": span(&f.Step, -longest),
	})
	if err != nil {
		return err
	}
	f.Kind = fault.Kind(kind)
	if f.Variant.Name != "" {
		f.Variant.Namespace = namespace
	}
	if f.Model.ID != "" {
		f.Model.Namespace = namespace
	}
	s.Fleet.Faults = append(s.Fleet.Faults, f)
	if wrong, ok := errors.AsType[*fault.FieldError](f.Validate()); ok {
		return v.wrong(fmt.Sprintf("%s to be %s, it is %s", wrong.Field, wrong.Want, wrong.Value))
	}
	return nil
}
