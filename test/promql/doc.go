// Package promql holds the catalogue of questions (internal/query) against the real thing: every
// expression is evaluated by Prometheus' own engine over its own storage, on series shaped as vLLM,
// SGLang and the endpoint picker export them, and the rows are compared with what was worked out
// without it.
//
// Three independent sources have the right results:
//
//	testdata/*.txt      small cases with the arithmetic written out
//	steady pods         whole pages of which every rate is known in closed form,
//	                    scraped at intervals from 5s to a minute
//	internal/collector/scrape
//	                    another implementation of the catalogue, on the same
//	                    random pages: rows equal within 1e-9
//
// It is a module of its own, so that the manager does not depend on Prometheus. Its folders are
// store (a Prometheus without scraping), page (metrics pages of engines), faulty (a proxy with
// faults), loop (the control loop against a Prometheus that goes wrong), bench (the cost of a
// collection), monitoring (the dashboards and the alerts, on a recorded fleet), and dashboard,
// picture and draw, which turn a dashboard into a picture.
package promql
