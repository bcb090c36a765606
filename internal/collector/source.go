package collector

import (
	"context"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Source answers the questions of the catalogue for the whole cluster. It is the
// port behind which a metrics backend stands.
type Source interface {
	// Ask answers one question. No rows are an answer and not an error. It
	// returns when ctx ends at the latest and is safe for concurrent use; what
	// can be tried again within ctx, it tries again. Of a failed question no rows
	// are returned. An error says in one line who was asked and what was found;
	// it does not repeat the question, which the caller knows by name. The
	// answer belongs to the caller, but for its strings' memory.
	Ask(ctx context.Context, request query.Request) (query.Answer, error)
}
