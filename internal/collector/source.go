package collector

import (
	"context"
	"time"
)

// Source answers PromQL instant queries. It is the port behind which a metrics
// store stands.
type Source interface {
	// Query evaluates expr at the given instant and returns the resulting
	// vector; an empty one is an answer and not an error. It returns when ctx
	// ends at the latest, does not retry, and is safe for concurrent use. The
	// result belongs to the caller. An error says who was asked and what was
	// found; it does not repeat expr, which the caller knows by name.
	Query(ctx context.Context, expr string, at time.Time) ([]Sample, error)
}

// Sample is one row of an instant vector.
type Sample struct {
	Labels map[string]string // a missing label and an empty one are the same
	Value  float64           // unit of the query; NaN and infinities as the source has them
	// At is when the expression was evaluated. It is not when the value was
	// scraped: query.LastScrape asks for that.
	At time.Time
}
