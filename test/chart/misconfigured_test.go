package chart

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// misconfigured starts managers that cannot do what they are told. Each ends, and
// says why.
func (c *cluster) misconfigured(t *testing.T) {
	text := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(text, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, namespace, values string
		edit                    map[string]string // of the ConfigMap of settings, which the chart does not check
		want                    []string
	}{
		{"a CA that is not there", "no-ca", "prometheus: {caCertPath: /nowhere/ca.crt}", nil, []string{"CA certificate file not found: /nowhere/ca.crt"}},
		{"a CA that is none", "bad-ca", "prometheus: {caCertPath: " + text + "}", nil, []string{`PROMETHEUS_CA_CERT_PATH: "` + text + `" is not accepted: want a PEM file with one certificate or more`}},
		{"a certificate to serve with that is not there", "no-certificate", "metrics: {certificateSecret: nowhere}", nil, []string{`METRICS_CERT_PATH: "/etc/wva/metrics" is not accepted: want a folder with the certificate tls.crt and its key tls.key`}},
		{"a Prometheus on plain HTTP", "plain", "", map[string]string{"PROMETHEUS_BASE_URL": "http://p:9090"}, []string{
			"HTTPS is required - URL must use https:// scheme: http://p:9090", "no Prometheus configuration found. Please set PROMETHEUS_BASE_URL",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := c.deploy(t, test.values, test.namespace)
			if test.edit != nil {
				var settings corev1.ConfigMap
				if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: d.release.Namespace, Name: "workload-variant-autoscaler-variantautoscaling-config"}, &settings); err != nil {
					t.Fatal(err)
				}
				maps.Copy(settings.Data, test.edit)
				if err := c.Client.Update(t.Context(), &settings); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := d.command(ctx, "--health-probe-bind-address="+freeAddress(t), "--metrics-bind-address="+freeAddress(t))
			out, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Errorf("the manager ended with %v: want that it ends by itself, with an error", err)
			}
			for _, want := range test.want {
				if !strings.Contains(strings.ReplaceAll(string(out), `\"`, `"`), want) {
					t.Errorf("got %s\nwant in it %q", out, want)
				}
			}
		})
	}
}
