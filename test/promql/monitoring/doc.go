// Package monitoring tries the dashboards and the rules of monitoring/ before a user does: on hours
// of a small fleet, recorded as Prometheus would have scraped it, by Prometheus' own engines for
// queries and rules.
//
// The manager's series are not written by hand: internal/metrics publishes what the manager of the
// fleet "decided", so a metric that is renamed, loses a label or ends its series at another time
// changes the recording. The pages of the serving engines are those of package page.
//
// Each Fault is one thing that goes wrong; all else stays as it is. An alert is right if it fires
// on its own fault and on no other.
package monitoring
