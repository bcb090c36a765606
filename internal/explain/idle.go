package explain

import (
	"fmt"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// idle says for how long the model is known to have been without a request, or
// what keeps that from being known: why it does not go to zero. It is "" where no
// cycle has looked.
func idle(a scaling.Activity) string {
	switch {
	case a.At.IsZero():
		return ""
	case a.Life == scaling.LifeIdle:
		return fmt.Sprintf("for %s: %s", a.IdleFor().Round(time.Second), a.Detail)
	case a.Life == scaling.LifeActive:
		return "no: " + a.Detail
	}
	return "not known: " + a.Detail
}
