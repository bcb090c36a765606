package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

func TestCacheServesWhatTheManagerServes(t *testing.T) {
	all := cacheOptions(&config.Operator{})
	if len(all.DefaultNamespaces) != 0 {
		t.Errorf("namespaces %v, want all", all.DefaultNamespaces)
	}
	one := cacheOptions(&config.Operator{WatchNamespace: "team", ControllerInstance: "blue"})
	if _, ok := one.DefaultNamespaces["team"]; !ok || len(one.DefaultNamespaces) != 1 {
		t.Errorf("namespaces %v, want team alone", one.DefaultNamespaces)
	}
	for object, by := range one.ByObject {
		if _, ok := object.(*v1alpha1.VariantAutoscaling); !ok {
			if by.Label != nil {
				t.Errorf("%T is restricted to %s; only VariantAutoscalings are split", object, by.Label)
			}
			continue
		}
		mine, other := labels.Set{v1alpha1.LabelControllerInstance: "blue"}, labels.Set{v1alpha1.LabelControllerInstance: "green"}
		if by.Label == nil || !by.Label.Matches(mine) || by.Label.Matches(other) || by.Label.Matches(labels.Set{}) {
			t.Errorf("VariantAutoscalings are restricted to %v", by.Label)
		}
	}
}

func TestTheCacheKnowsTheMetricsPortsOfThoseThatAreScraped(t *testing.T) {
	picker, other := labels.Set{"inferencepool": "chat"}, labels.Set{"app": "chat"}
	for _, tt := range []struct {
		backend, pickers string
		picker, other    bool
	}{
		{config.BackendPrometheus, "inferencepool", true, false},
		{config.BackendPrometheus, "", false, false},
		{config.BackendPods, "inferencepool", true, true},
		{config.BackendEPP, "inferencepool", true, true},
	} {
		of := scrapedPods(config.Collector{Backend: tt.backend, Scrape: config.Scrape{PickerSelector: tt.pickers}})
		for _, pod := range []struct {
			labels.Set
			want bool
		}{{picker, tt.picker}, {other, tt.other}} {
			if got := of != nil && of.Matches(pod.Set); got != pod.want {
				t.Errorf("backend %s, pickers %q: the page of a pod with %s is known: %t, want %t", tt.backend, tt.pickers, pod.Set, got, pod.want)
			}
		}
	}
}

func TestACertificateThatCannotBeServedIsRefused(t *testing.T) {
	here := t.TempDir()
	tests := []struct {
		name string
		o    config.Operator
		want string // of the error; "" is none
	}{
		{"none", config.Operator{MetricsSecure: true}, ""},
		{"not served at all", config.Operator{MetricsCertPath: here}, ""},
		{
			"not there",
			config.Operator{MetricsSecure: true, MetricsCertPath: here, MetricsCertName: "tls.crt", MetricsCertKey: "tls.key"},
			"METRICS_CERT_PATH: \"" + here + "\" is not accepted: want a folder with the certificate tls.crt and its key tls.key",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := checkMetricsCertificate(&tt.o)
			if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
