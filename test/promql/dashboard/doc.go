// Package dashboard reads Grafana dashboards and asks a Prometheus what their panels show, so that
// a query is tried as it stands in the file that a user imports.
//
// It knows the part of Grafana's JSON model that the dashboards of this repository use: panels of
// type stat, timeseries and table; variables of type datasource, query (query_result) and textbox;
// the macros $__rate_interval, $__interval and $__range. Anything else is an error, not a guess: a
// dashboard that uses more needs support here first.
//
// It ignores transformations other than merge and organize, value mappings by regular expression,
// and links.
package dashboard
