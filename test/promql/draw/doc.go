// Command draw writes pictures of Grafana dashboards, asked of a Prometheus, where Grafana is not
// at hand:
//
//	go run ./draw -prometheus http://127.0.0.1:9090 -out /tmp ../../monitoring/dashboards/*.json
//	go run ./draw -choose namespace=chat -choose model=meta/llama-3.1-8b -range 1h ../../monitoring/dashboards/model.json
//
// Each picture is an SVG file, dashboard-NAME.svg for NAME.json. The standard output has a line for
// each query, with the number of series that it shows.
package main
