//go:build race

package soak

// fixedCases are fewer where the detector makes each take ten times as long.
const fixedCases = 6

// fixedRequests are those that are judged request by request too.
const fixedRequests = 1

// fixedCounterfactuals are the decisions that are asked about.
const fixedCounterfactuals = 40
