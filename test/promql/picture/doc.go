// Package picture draws what the panels of a dashboard show as one SVG file, laid out on Grafana's
// grid: stats, time series and tables, with units, thresholds, value mappings and the words for a
// panel without data.
//
// The file follows the reader's light or dark theme, needs no script and no font, and is the same
// for the same answers.
package picture
