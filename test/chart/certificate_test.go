package chart

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/util/cert"
)

// reloads replaces the certificates of a running manager, as a renewed Secret does.
func (c *cluster) reloads(t *testing.T) {
	d := c.deploy(t, "metrics: {certificateSecret: a}\nexternalMetrics: {enabled: true, apiService: false, certificateSecret: b}\nexternalScaler: {enabled: true, certificates: secrets, anyClient: true}", "certified")
	metrics, external, scaler := newSecretVolume(t), newSecretVolume(t), newSecretVolume(t)
	r := d.run(t, "--metrics-cert-path="+metrics.dir, "--external-metrics-cert-path="+external.dir, "--external-scaler-cert-path="+scaler.dir)
	for _, port := range []struct {
		name, address string
		volume        *secretVolume
	}{{"the metrics port", r.metrics, metrics}, {"External Metrics", r.external, external}, {"the external scaler", r.scaler, scaler}} {
		t.Run(port.name, func(t *testing.T) {
			if !bytes.Equal(served(t, port.address), port.volume.certificate) {
				t.Fatal("the certificate of the Secret is not served: this test sees nothing")
			}
			port.volume.replace(t)
			waitFor(t, "new certificate", r.log, func() bool { return bytes.Equal(served(t, port.address), port.volume.certificate) })
		})
	}
}

// served returns the certificate that is shown at an address.
func served(t *testing.T, address string) []byte {
	t.Helper()
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
}

// secretVolume is a Secret with a certificate as kubelet mounts it: its files are
// links through the link ..data, which is what changes, at one stroke.
type secretVolume struct {
	dir         string
	writes      int
	certificate []byte // what the files hold, DER
}

func newSecretVolume(t *testing.T) *secretVolume {
	t.Helper()
	v := &secretVolume{dir: t.TempDir()}
	v.replace(t)
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(v.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// replace writes another certificate: kubelet's order of doing so is that of
// k8s.io/kubernetes/pkg/volume/util/atomic_writer.go.
func (v *secretVolume) replace(t *testing.T) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v.writes++
	before, err := os.Readlink(filepath.Join(v.dir, "..data"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	now := fmt.Sprintf("..write-%d", v.writes)
	if err := errors.Join(
		os.Mkdir(filepath.Join(v.dir, now), 0o755),
		os.WriteFile(filepath.Join(v.dir, now, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(v.dir, now, "tls.key"), key, 0o600),
		os.Symlink(now, filepath.Join(v.dir, "..data_tmp")),
		os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")),
	); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(v.dir, before)); err != nil {
			t.Fatal(err)
		}
	}
	block, _ := pem.Decode(certificate)
	v.certificate = block.Bytes
}
