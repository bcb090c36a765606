package chart

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// configure starts the manager's configuration from what a chart made: the
// arguments and variables of its container, and its ConfigMaps.
func configure(t *testing.T, out *Output) {
	t.Helper()
	var operator *config.Operator
	var sources []config.Source
	for _, o := range out.Objects {
		switch o.GetKind() {
		case "Deployment":
			container := find[appsv1.Deployment](t, out.Objects, Identity(o)).Spec.Template.Spec.Containers[0]
			env := map[string]string{"POD_NAMESPACE": o.GetNamespace()}
			for _, variable := range container.Env {
				if variable.ValueFrom == nil {
					env[variable.Name] = variable.Value
				}
			}
			lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
			var err error
			if operator, err = config.Parse(container.Args, lookup, io.Discard); err != nil {
				t.Fatalf("the manager refuses %v: %s", container.Args, err)
			}
			if warnings := operator.Warnings(); len(warnings) > 0 {
				t.Errorf("the manager warns: %v", warnings)
			}
		case "ConfigMap":
			m := find[corev1.ConfigMap](t, out.Objects, Identity(o))
			sources = append(sources, config.Source{Namespace: m.Namespace, Name: m.Name, Data: m.Data})
		}
	}
	if operator == nil {
		return
	}
	known := slices.Concat(slices.Collect(maps.Values(operator.Names()))...)
	for _, source := range sources {
		ofOthers := strings.HasSuffix(source.Name, "-prometheus-ca") || strings.HasSuffix(source.Name, "-dashboards")
		if !slices.Contains(known, source.Name) && !ofOthers {
			t.Errorf("ConfigMap %s: the manager reads none of that name", source.Name)
		}
	}
	store, err := operator.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range store.Apply(sources).Findings {
		t.Errorf("the manager says of its configuration: %s", finding)
	}
}

func TestTheManagerTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	chart := load(t)
	for name, v := range samples(t) {
		t.Run("sample "+name, func(t *testing.T) { configure(t, mustRender(t, chart, v, standard)) })
	}
	t.Run("random values", func(t *testing.T) {
		all, _ := described(t)
		rng := rand.New(rand.NewPCG(randomSeed, 0))
		for range randomCount {
			drawn := randomValues(t, rng, chart, all)
			if configure(t, mustRender(t, chart, drawn, standard)); t.Failed() {
				t.Fatalf("of values %v", drawn)
			}
		}
	})
}

func TestTolerancesAreLeftOutWhereTheAPIServerKnowsNone(t *testing.T) {
	v := samples(t)["external-metrics"]
	for version, want := range map[string]bool{"v1.32.9": false, "v1.33.0": true, "v1.37.0": true} {
		release := standard
		release.Kubernetes = version
		out := mustRender(t, load(t), v, release)
		hpa := find[autoscalingv2.HorizontalPodAutoscaler](t, out.Objects, "HorizontalPodAutoscaler/workload-variant-autoscaler-system/llama-8b-l40s")
		if got := hpa.Spec.Behavior.ScaleUp.Tolerance != nil && hpa.Spec.Behavior.ScaleDown.Tolerance != nil; got != want {
			t.Errorf("Kubernetes %s: got tolerances %t, want %t", version, got, want)
		}
	}
}

func TestTheNetworkPolicyLetsThroughWhatThePrometheusURLNames(t *testing.T) {
	for _, test := range []struct{ name, values, namespace, port string }{
		{"a Service", "prometheus: {baseURL: 'https://thanos.monitoring.svc.cluster.local:9091'}", "monitoring", ""},
		{"a Service in short", "prometheus: {baseURL: 'https://thanos.monitoring.svc'}", "monitoring", ""},
		{"a host with a port", "prometheus: {baseURL: 'https://prometheus.example.com:9443/api'}", "", "9443"},
		{"a host", "prometheus: {baseURL: 'https://prometheus.example.com'}", "", "443"},
		{"a host without TLS", "prometheus: {baseURL: 'http://prometheus', allowInsecure: true}", "", "80"},
		{"an address", "prometheus: {baseURL: 'https://[2001:db8::1]:9090'}", "", "9090"},
		{"pods of one namespace", "collectorBackend: pods\nwatchNamespace: team-a", "team-a", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := mustRender(t, load(t), values(t, test.values), standard)
			policy := find[networkingv1.NetworkPolicy](t, out.Objects, "NetworkPolicy/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager")
			rule := policy.Spec.Egress[2] // after names and the API server
			var namespace, port string
			if len(rule.To) == 1 {
				namespace = rule.To[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
			}
			if len(rule.Ports) == 1 {
				port = rule.Ports[0].Port.String()
			}
			if diff := cmp.Diff([]string{test.namespace, test.port}, []string{namespace, port}); diff != "" {
				t.Errorf("(- want, + got)\n%s", diff)
			}
		})
	}
}

func TestTheNetworkPolicyLetsTheManagerLookAtEndpointPickers(t *testing.T) {
	for _, test := range []struct {
		values, namespace string
		pickersOnly       bool
	}{
		{"", "", true},
		{"watchNamespace: team-a", "team-a", true},
		{"collectorBackend: pods", "", false},
		{"collectorBackend: epp\nwatchNamespace: team-a", "team-a", false},
	} {
		t.Run(test.values, func(t *testing.T) {
			out := mustRender(t, load(t), values(t, test.values), standard)
			policy := find[networkingv1.NetworkPolicy](t, out.Objects, "NetworkPolicy/workload-variant-autoscaler-system/workload-variant-autoscaler-controller-manager")
			peer := policy.Spec.Egress[len(policy.Spec.Egress)-1].To[0]
			if got := peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]; got != test.namespace {
				t.Errorf("got pods of namespace %q, want %q", got, test.namespace)
			}
			if got := peer.PodSelector != nil && peer.PodSelector.MatchExpressions[0].Key == "inferencepool"; got != test.pickersOnly {
				t.Errorf("endpoint pickers only: got %t, want %t", got, test.pickersOnly)
			}
		})
	}
}
