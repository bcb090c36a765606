// Package monitor is a Prometheus server made of the parts that a test needs: scraping with static,
// file and HTTP discovery, the time series database, PromQL and the HTTP API. Each is the code of
// Prometheus itself, so queries return what a real server returns.
//
// It has no user interface, no rules, no alerts and no remote write. It serves:
//
//	/api/v1/...   the Prometheus HTTP API
//	/-/ready      200 when queries are answered
//	/-/healthy    200 while the process serves
//	/-/reload     POST: reads the configuration and its scrape_config_files again
//	/metrics      its own metrics
//	/             a page that says so
package monitor
