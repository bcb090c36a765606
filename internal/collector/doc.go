// Package collector measures a fleet: it asks a Source the questions of
// internal/query, joins the answers with the pods that live now, judges how far
// each number may be trusted, and returns one scaling.Snapshot per model.
//
// It decides nothing and keeps nothing between cycles, so a restarted process
// sees what its predecessor saw.
//
// # What a missing number means
//
// Unknown is a state and never a number. What there is gets the freshness of
// the page that it came from. The age of a page runs from its last scrape, which
// is asked for once (query.LastScrape), and not from the time of the question:
//
//	Fresh   younger than max(1m, 2 scrape intervals + cache TTL)
//	Aging   younger than max(5m, twice that)
//	Stale   older
//
// What a Fresh page leaves out depends on the kind of number:
//
//	gauge of a pod                     Absent
//	rate of a counter                  0
//	mean, while nothing was completed  NotApplicable
//	mean, otherwise                    Absent
//	gateway queue                      0
//
// What an Aging page leaves out is Absent, and what a Stale one does is Stale:
// it was there and is out of reach. Without any page everything is Absent, but
// for the gateway queue, which is NotApplicable: this namespace has no gateway
// that holds requests.
//
// For the numbers of a model, the page is the freshest of its live pods; for
// the gateway queue it is that of an endpoint picker in the model's namespace.
// A query that fails makes its readings Absent. When the question for the
// pages' age fails, or every other does, nothing can be said, and
// Snapshot.Fault names the cause.
//
// # Arrivals
//
// The source counts requests that finish, which under-reports exactly when a
// model is saturated. Over one window
//
//	arrivals = completions + max(0, growth of running and waiting)
//
// in requests per second. A shrinking backlog is not subtracted: a pod that is
// killed takes its requests with it, which looks the same. Requests that a
// client abandons are in neither term. Where the growth is unknown the
// completions are a lower bound, and the reading at best Aging: it may justify
// growth and never a reduction.
//
// # What is not here
//
// Expressions and metric names (internal/query), transport and TLS
// (internal/collector/prometheus), and what the numbers mean for scaling.
package collector
