package prometheus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

// newAuthority returns an authority that no client trusts yet.
func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert: cert, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue returns a certificate for name and its key, in PEM.
func (a authority) issue(t *testing.T, name string) (certPEM, keyPEM string) {
	t.Helper()
	return a.issueFor(t, name, time.Hour)
}

// issueFor is issue for a certificate that lasts so long from now, or ended so long ago.
func (a authority) issueFor(t *testing.T, name string, lasts time.Duration) (certPEM, keyPEM string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// serveTLS starts a server with a certificate of a for "prometheus".
func serveTLS(t *testing.T, a authority, change func(*tls.Config)) *httptest.Server {
	t.Helper()
	cert, key := a.issue(t, "prometheus")
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			w.Header().Set("Client", r.TLS.PeerCertificates[0].Subject.CommonName)
		}
		answer(http.StatusOK, vector())(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	change(server.TLS)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// openTLS returns a Source for a TLS server.
func openTLS(t *testing.T, config prometheus.Config) *prometheus.Source {
	t.Helper()
	s, err := prometheus.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestServerMustShowACertificateOfOurAuthority(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right.pem"), filepath.Join(dir, "wrong.pem")
	write(t, right, ours.pem)
	write(t, wrong, theirs.pem)
	server := serveTLS(t, ours, func(*tls.Config) {})
	for _, tc := range []struct {
		name   string
		config prometheus.Config
		want   string // part of the error, "" for none
	}{
		{"right", prometheus.Config{CACertPath: right, ServerName: "prometheus"}, ""},
		{"wrong", prometheus.Config{CACertPath: wrong, ServerName: "prometheus"}, "its certificate is not accepted: x509: certificate signed by unknown authority"},
		{"the system's", prometheus.Config{ServerName: "prometheus"}, "its certificate is not accepted: x509: certificate signed by unknown authority"},
		{"another name", prometheus.Config{CACertPath: right, ServerName: "thanos"}, "its certificate is not accepted: x509: certificate is valid for prometheus, not thanos"},
		{"no matter which", prometheus.Config{InsecureSkipVerify: true}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.config.URL = server.URL
			_, err := openTLS(t, tc.config).Ask(t.Context(), running)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestAnExpiredCertificateIsNamedAndItsSuccessorAccepted: the server gets a new one while
// it runs, and nothing has to start again.
func TestAnExpiredCertificateIsNamedAndItsSuccessorAccepted(t *testing.T) {
	ours := newAuthority(t, "ours")
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	write(t, trusted, ours.pem)
	var shown atomic.Pointer[tls.Certificate]
	show := func(lasts time.Duration) {
		t.Helper()
		cert, key := ours.issueFor(t, "prometheus", lasts)
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		shown.Store(&pair)
	}
	show(-time.Minute)
	server := serveTLS(t, ours, func(c *tls.Config) {
		c.Certificates = nil
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown.Load(), nil }
	})
	s := openTLS(t, prometheus.Config{URL: server.URL, CACertPath: trusted, ServerName: "prometheus"})
	const want = "its certificate is not accepted: x509: certificate has expired"
	if _, err := s.Ask(t.Context(), running); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	show(time.Hour)
	if _, err := s.Ask(t.Context(), running); err != nil {
		t.Errorf("with a certificate that is valid: %v", err)
	}
}

func TestTLSBelow12IsRefused(t *testing.T) {
	server := serveTLS(t, newAuthority(t, "ours"), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 })
	_, err := openTLS(t, prometheus.Config{URL: server.URL, InsecureSkipVerify: true}).Ask(t.Context(), running)
	if err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("got %v, want a complaint about the protocol version", err)
	}
}

func TestPlainServerBehindHTTPSIsNamed(t *testing.T) {
	server := serve(t, answer(http.StatusOK, vector()))
	url := strings.Replace(server.URL, "http:", "https:", 1)
	_, err := openTLS(t, prometheus.Config{URL: url}).Ask(t.Context(), running)
	if err == nil || !strings.HasSuffix(err.Error(), "http: server gave HTTP response to HTTPS client") {
		t.Errorf("got %v", err)
	}
}

func TestClientShowsItsCertificate(t *testing.T) {
	ours := newAuthority(t, "ours")
	pool := x509.NewCertPool()
	pool.AddCert(ours.cert)
	var shown []string
	server := serveTLS(t, ours, func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool
		c.VerifyConnection = func(state tls.ConnectionState) error {
			shown = append(shown, state.PeerCertificates[0].Subject.CommonName)
			return nil
		}
	})
	dir := t.TempDir()
	config := prometheus.Config{
		URL: server.URL, ServerName: "prometheus", CACertPath: filepath.Join(dir, "ca.pem"),
		ClientCertPath: filepath.Join(dir, "tls.crt"), ClientKeyPath: filepath.Join(dir, "tls.key"),
	}
	write(t, config.CACertPath, ours.pem)
	for _, name := range []string{"first", "second"} { // the second after a rotation
		cert, key := ours.issue(t, name)
		write(t, config.ClientCertPath, cert)
		write(t, config.ClientKeyPath, key)
		source := openTLS(t, config)
		if _, err := source.Ask(t.Context(), running); err != nil {
			t.Fatal(err)
		}
		source.Close()
	}
	if strings.Join(shown, " ") != "first second" {
		t.Errorf("the server saw %v", shown)
	}
	if _, err := openTLS(t, prometheus.Config{URL: server.URL, ServerName: "prometheus", CACertPath: config.CACertPath}).Ask(t.Context(), running); err == nil {
		t.Error("got an answer without a certificate")
	}
}

func TestAuthoritiesAreReadAgain(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	server := serveTLS(t, ours, func(*tls.Config) {})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, theirs.pem)
	source := openTLS(t, prometheus.Config{URL: server.URL, ServerName: "prometheus", CACertPath: ca})
	for _, step := range []struct {
		name, content string
		works         bool
	}{
		{"the wrong one", theirs.pem, false},
		{"the right one arrives", ours.pem, true},
		{"half a file: the last good one stays", "-----BEGIN", true},
		{"the wrong one again", theirs.pem, false},
	} {
		write(t, ca, step.content)
		if _, err := source.Ask(t.Context(), running); (err == nil) != step.works {
			t.Errorf("%s: got %v", step.name, err)
		}
	}
}
