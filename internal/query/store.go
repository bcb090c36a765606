package query

import (
	"context"
	"time"
)

// Store keeps metrics for longer than a manager remembers: a Prometheus. It is safe for concurrent
// use.
type Store interface {
	// Range returns the curves of a PromQL expression, an instant vector, between two times in
	// steps of at least a second.
	Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]Curve, error)
}

// Curve is one series of a Store over a time.
type Curve struct {
	Labels map[string]string
	Points []Point // in the order of time
}

// Point is the value of a series at one instant.
type Point struct {
	At    time.Time
	Value float64
}
