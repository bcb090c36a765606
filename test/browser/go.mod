module github.com/llm-d-incubation/workload-variant-autoscaler/test/browser

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.3
	github.com/chromedp/chromedp v0.23.0
	github.com/llm-d-incubation/workload-variant-autoscaler v0.0.0-00010101000000-000000000000
)

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/llm-d-incubation/workload-variant-autoscaler => ../..
