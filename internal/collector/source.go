package collector

import (
	"context"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Source answers the questions of the catalogue for the whole cluster. It is the port to a metrics
// backend.
type Source interface {
	// Ask answers one question. An answer without rows is no error. It returns when ctx ends at the
	// latest, is safe for concurrent use, and repeats failures that may pass as long as ctx allows.
	// A failed question returns no rows. An error says in one line which host was asked and what
	// was found; it does not repeat the question, which the caller knows by name. The answer
	// belongs to the caller, except for the memory of its strings.
	Ask(ctx context.Context, request query.Request) (query.Answer, error)
}
