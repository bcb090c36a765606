// Package samples is for the manifests beside it: its tests have a real API
// server accept each of them, under the definitions of KEDA and of the Prometheus
// Operator, and hold them against what the pages in docs/integrations say. There
// is no code.
//
// The definitions in testdata/crd are those of github.com/kedacore/keda/v2 v2.21.0
// (config/crd/bases) and github.com/prometheus-operator/prometheus-operator
// v0.85.0 (example/prometheus-operator-crd), unchanged.
package samples
