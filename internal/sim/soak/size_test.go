//go:build !race

package soak

// fixedCases take about half a minute on one core.
const fixedCases = 120
