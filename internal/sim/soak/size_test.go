//go:build !race

package soak

// fixedCases take about half a minute on one core.
const fixedCases = 100

// fixedRequests are those that are judged request by request too.
const fixedRequests = 4

// fixedCounterfactuals are the decisions that are asked about.
const fixedCounterfactuals = 500
