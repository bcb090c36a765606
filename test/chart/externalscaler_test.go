package chart

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/externalscaler/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Secrets of the external scaler of the standard release.
const (
	portSecret = "Secret/workload-variant-autoscaler-system/workload-variant-autoscaler-external-scaler"
	kedaSecret = "Secret/keda/workload-variant-autoscaler-external-scaler-client"
)

func TestTheChartIssuesCertificatesForThePortAndForKEDA(t *testing.T) {
	out := mustRender(t, load(t), values(t, "externalScaler: {enabled: true}"), standard)
	served, shown := find[corev1.Secret](t, out.Objects, portSecret), find[corev1.Secret](t, out.Objects, kedaSecret)
	if diff := cmp.Diff(served.Data["ca.crt"], shown.Data["ca.crt"]); diff != "" {
		t.Errorf("two authorities\n%s", diff)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(served.Data["ca.crt"])
	for _, test := range []struct {
		name   string
		secret *corev1.Secret
		usage  x509.ExtKeyUsage
		host   string
	}{
		{"the port, as triggers name it", served, x509.ExtKeyUsageServerAuth, "workload-variant-autoscaler-external-scaler.workload-variant-autoscaler-system.svc"},
		{"the port, by its whole name", served, x509.ExtKeyUsageServerAuth, "workload-variant-autoscaler-external-scaler.workload-variant-autoscaler-system.svc.cluster.local"},
		{"KEDA", shown, x509.ExtKeyUsageClientAuth, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pair, err := tls.X509KeyPair(test.secret.Data["tls.crt"], test.secret.Data["tls.key"])
			if err != nil {
				t.Fatal(err)
			}
			options := x509.VerifyOptions{
				Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage}, CurrentTime: time.Now().AddDate(9, 11, 0),
			}
			if _, err := pair.Leaf.Verify(options); err != nil {
				t.Error(err)
			}
		})
	}
	block, _ := pem.Decode(served.Data["ca.crt"])
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []*corev1.Secret{served, shown} {
		pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
		if err != nil {
			t.Fatal(err)
		}
		if pair.Leaf.IsCA || authority.PublicKey.(*ecdsa.PublicKey).Equal(pair.Leaf.PublicKey) || len(secret.Data) != 3 {
			t.Errorf("Secret %s lets its readers sign further certificates", secret.Name)
		}
	}
}

// letsKEDAIn runs a manager with the certificates that the chart issues, and calls it as
// KEDA does.
func (c *cluster) letsKEDAIn(t *testing.T) {
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "keda"}})
	d := c.deploy(t, "externalScaler: {enabled: true}", "pushed")
	name := "real-pushed-workload-variant-autoscaler-external-scaler"
	served, shown := &corev1.Secret{}, &corev1.Secret{}
	for key, secret := range map[client.ObjectKey]*corev1.Secret{
		{Namespace: d.release.Namespace, Name: name}: served, {Namespace: "keda", Name: name + "-client"}: shown,
	} {
		if err := c.Client.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for file, data := range served.Data {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := d.run(t, "--external-scaler-cert-path="+dir, "--external-scaler-client-ca-path="+filepath.Join(dir, "ca.crt"))
	pair, err := tls.X509KeyPair(shown.Data["tls.crt"], shown.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(shown.Data["ca.crt"])
	for _, test := range []struct {
		name  string
		shows []tls.Certificate
		want  codes.Code
	}{{"KEDA", []tls.Certificate{pair}, codes.OK}, {"a stranger", nil, codes.Unavailable}} {
		t.Run(test.name, func(t *testing.T) {
			secure := &tls.Config{RootCAs: roots, ServerName: name + "." + d.release.Namespace + ".svc", Certificates: test.shows}
			connection, err := grpc.NewClient(r.scaler, grpc.WithTransportCredentials(credentials.NewTLS(secure)))
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			got, err := wire.NewExternalScalerClient(connection).GetMetricSpec(ctx, &wire.ScaledObjectRef{Namespace: "pushed", Name: "served"})
			if status.Code(err) != test.want {
				t.Fatalf("got %v, %v, want %s", got, err, test.want)
			}
			if err == nil && got.GetMetricSpecs()[0].GetMetricName() != "wva_desired_replicas" {
				t.Errorf("got %v, want wva_desired_replicas", got)
			}
		})
	}
}

// keepsCertificates renders a release as its upgrades do: with certificates in the
// cluster, with one that is gone, and in another namespace of KEDA.
func (c *cluster) keepsCertificates(t *testing.T) {
	release := Release{Name: standard.Name, Namespace: standard.Namespace, Cluster: c.Config, Upgrade: true}
	for _, namespace := range []string{release.Namespace, "keda", "keda-elsewhere"} {
		c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	issue := func(t *testing.T, text, keda string) (served, shown *corev1.Secret) {
		t.Helper()
		out := mustRender(t, load(t), values(t, text), release)
		return find[corev1.Secret](t, out.Objects, portSecret), find[corev1.Secret](t, out.Objects, keda)
	}
	served, shown := issue(t, "externalScaler: {enabled: true}", kedaSecret)
	for _, secret := range []*corev1.Secret{served, shown} {
		c.create(t, secret)
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Client.Delete(context.Background(), secret)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("they are kept", func(t *testing.T) {
		servedNow, shownNow := issue(t, "externalScaler: {enabled: true}", kedaSecret)
		if diff := cmp.Diff(served.Data, servedNow.Data) + cmp.Diff(shown.Data, shownNow.Data); diff != "" {
			t.Errorf("an upgrade changes certificates\n%s", diff)
		}
	})
	anew := func(t *testing.T, text, keda string) {
		t.Helper()
		servedNow, shownNow := issue(t, text, keda)
		if cmp.Equal(served.Data["ca.crt"], servedNow.Data["ca.crt"]) || !cmp.Equal(servedNow.Data["ca.crt"], shownNow.Data["ca.crt"]) {
			t.Error("want both of another authority, whose key was not kept")
		}
	}
	t.Run("for another namespace both are new", func(t *testing.T) {
		anew(t, "externalScaler: {enabled: true, keda: {namespace: keda-elsewhere}}", "Secret/keda-elsewhere/"+shown.Name)
	})
	t.Run("without KEDA's both are new", func(t *testing.T) {
		if err := c.Client.Delete(t.Context(), shown); err != nil {
			t.Fatal(err)
		}
		anew(t, "externalScaler: {enabled: true}", kedaSecret)
	})
}
