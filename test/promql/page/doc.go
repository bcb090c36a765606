// Package page writes the pages of serving engines and endpoint pickers that do what they are told:
// vLLM and SGLang pods, of older and newer versions, with one rank or several, and pickers with
// flow control. It is not an emulator: nothing queues or takes time here. The caller says how many
// requests are in which state and which ended, and the page shows it as the engine would, with all
// the series that no query asks for.
//
// Metric names, labels, buckets and versions are those of the engines' sources.
package page
