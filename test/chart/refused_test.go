package chart

import (
	"strings"
	"testing"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
)

// refused says that a chart does not render values, and what it must say of it.
func refused(t *testing.T, chart *v2.Chart, text string, want ...string) {
	t.Helper()
	_, err := Render(chart, values(t, text), standard)
	if err == nil {
		t.Fatal("rendered")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got %q\nwant in it %q", err, w)
		}
	}
}

func TestInvalidValuesAreRefusedWithTheirPlace(t *testing.T) {
	chart := load(t)
	for _, test := range []struct {
		name, values string
		want         []string
	}{
		{"a misspelt value", "controler: {enabled: false}", []string{"additional properties 'controler' not allowed"}},
		{"a misspelt inner value", "prometheus: {baseUrl: x}", []string{"/prometheus", "additional properties 'baseUrl' not allowed"}},
		{"a number of replicas in quotes", `controller: {replicas: "2"}`, []string{"/controller/replicas", "got string, want integer"}},
		{"no replicas", "controller: {replicas: 0}", []string{"/controller/replicas", "minimum: got 0, want 1"}},
		{"an interval without unit", `interval: "60"`, []string{"/interval", "does not match pattern"}},
		{"an executor that is none", "executor: always", []string{"/executor", "value must be one of 'hybrid', 'polling', 'reactive'"}},
		{"a percentage for a ratio", "saturation: {default: {kvCacheThreshold: 80}}", []string{"/saturation/default/kvCacheThreshold", "maximum: got 80, want 1"}},
		{"a cost that is a number", "acceleratorCosts: {A100: {cost: 40}}", []string{"/acceleratorCosts/A100/cost", "got number, want string"}},
		{"a priority out of range", "serviceClasses: {premium: {priority: 0}}", []string{"/serviceClasses/premium/priority", "minimum: got 0, want 1"}},
		{"a model without an ID", "models: [{variants: [{name: a}]}]", []string{"/models/0", "missing property 'modelID'"}},
		{"a variant ID without accelerator", "models: [{modelID: m, variants: [{name: a, variantID: m}]}]", []string{"/models/0/variants/0/variantID", "does not match pattern"}},
		{"a CA that is a path", "prometheus: {caCert: /etc/ca.crt}", []string{"/prometheus/caCert", "does not match pattern"}},
		{"a setting that has a value of its own", "settings: {GLOBAL_OPT_INTERVAL: 30s}", []string{"/settings", "GLOBAL_OPT_INTERVAL"}},
		{"a privileged port", "metrics: {port: 443}", []string{"/metrics/port", "minimum: got 443, want 1,024"}},
		{"an earlier name with a value of the wrong type", "wva: {metrics: {port: https}}", []string{"/wva/metrics/port", "got string, want integer"}},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, chart, test.values, test.want...) })
	}
}

func TestContradictionsAreRefusedWithAWayOut(t *testing.T) {
	chart := load(t)
	for _, test := range []struct{ name, values, want string }{
		{"Prometheus on plain HTTP", "prometheus: {baseURL: 'http://p:9090'}", "HTTPS is required - URL must use https:// scheme: http://p:9090 (or set prometheus.allowInsecure=true"},
		{"no Prometheus", "prometheus: {baseURL: ''}", "the URL of Prometheus is needed, or collectorBackend=pods"},
		{"two CAs", "prometheus: {caCertPath: /ca, caConfigMap: {name: ca}}", "only one of caCert, caConfigMap.name and caCertPath"},
		{"two tokens", "prometheus: {tokenPath: /token, tokenSecret: token}", "only one of tokenPath and tokenSecret"},
		{"two deciding managers", "controller: {leaderElection: {enabled: false}}", "controller.replicas is 2 and controller.leaderElection.enabled false"},
		{"a budget that no drain could meet", "controller: {podDisruptionBudget: {minAvailable: 2}}", "it must be less than controller.replicas"},
		{"two servers on one port", "metrics: {port: 6443}\nexternalMetrics: {enabled: true, insecureSkipVerify: true}", "metrics.port and externalMetrics.port are both 6443"},
		{"the port of the probes", "metrics: {port: 8081}", "port 8081 is that of the probes"},
		{"a monitor of nothing", "metrics: {enabled: false, monitor: {kind: ServiceMonitor}}", "there is nothing to scrape"},
		{"a PodMonitor without token", "metrics: {monitor: {kind: PodMonitor}}", "a PodMonitor cannot show the token of Prometheus' own ServiceAccount"},
		{"a certificate for plain HTTP", "metrics: {secure: false, certificateSecret: a}", "without metrics.secure nothing is served with it"},
		{"External Metrics without a verified certificate", "externalMetrics: {enabled: true}", "the API server must know how to verify the server"},
		{"a CA without a certificate", "externalMetrics: {enabled: true, caCert: '-----BEGIN CERTIFICATE-----'}", "externalMetrics.certificateSecret: caCert verifies a certificate that must be given"},
		{"a CA that is not looked at", "externalMetrics: {caCert: '-----BEGIN CERTIFICATE-----', insecureSkipVerify: true}", "caCert and insecureSkipVerify contradict"},
		{"an external scaler for some and for everyone", "externalScaler: {enabled: true, clientCASecret: a, anyClient: true}", "clientCASecret and anyClient contradict"},
		{"an external scaler on the port of the metrics", "externalScaler: {enabled: true, port: 8443}", "externalScaler.port is 8443, and that is the port of metrics"},
		{"certificates of no issuer", "externalScaler: {enabled: true, certificates: cert-manager}", "externalScaler.issuer.name: certificates=cert-manager needs the ClusterIssuer"},
		{
			"a ScaledObject of an external scaler that is not served",
			"models: [{modelID: m, variants: [{name: a, maxReplicas: 2, scaler: keda, keda: {triggers: [external-scaler]}}]}]",
			"variant a is to be read from the external scaler (keda.triggers), which this release does not serve",
		},
		{
			"a ScaledObject of an external scaler and of another unit",
			"externalScaler: {enabled: true}\nmodels: [{modelID: m, variants: [{name: a, maxReplicas: 2, scaler: keda, averageValue: '2', keda: {triggers: [external-scaler]}}]}]",
			"variant a has averageValue 2: the external scaler",
		},
		{"a ServiceAccount without a name", "serviceAccount: {create: false}", "serviceAccount.name: with serviceAccount.create=false the name of one that exists is needed"},
		{"a scaler without a limit", "models: [{modelID: m, variants: [{name: a}]}]", "variant a needs maxReplicas: a scaler (hpa) has no default for it"},
		{"two that set replicas", "models: [{modelID: m, variants: [{name: a, maxReplicas: 2, scaler: hpa, actuation: scale}]}]", "the manager and the scaler would set its replicas in turn"},
		{"a fallback that would start what is at zero", "models: [{modelID: m, variants: [{name: a, maxReplicas: 2, scaler: keda, keda: {fallbackReplicas: 1}}]}]", "variant a has minReplicas 0 and keda.fallbackReplicas 1: without Prometheus every variant at zero would be started"},
		{"a monitor of everything", "models: [{modelID: m, monitor: {kind: PodMonitor}, variants: [{name: a, scaler: none}]}]", "the monitor of m needs a selector"},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, chart, test.values, test.want) })
	}
}
