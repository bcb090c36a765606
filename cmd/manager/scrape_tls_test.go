package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// securePage starts a page under https and writes the files of its certificate,
// which is its own authority and is for 127.0.0.1 and example.com.
func securePage(t *testing.T, client tls.ClientAuthType) (server *httptest.Server, cert, key string) {
	t.Helper()
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: client}
	server.StartTLS()
	t.Cleanup(server.Close)
	secret, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: server.Certificate().Raw},
		key:  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return server, cert, key
}

// TestPagesAreVerifiedAsConfigured asks a page under https with the client that
// each combination of flags makes.
func TestPagesAreVerifiedAsConfigured(t *testing.T) {
	open, cert, _ := securePage(t, tls.NoClientCert)
	closed, closedCert, closedKey := securePage(t, tls.RequireAnyClientCert)
	for name, tt := range map[string]struct {
		page  *httptest.Server
		flags []string
		works bool
	}{
		"the system's authorities":            {open, nil, false},
		"its authority":                       {open, []string{"--scrape-ca-cert-path=" + cert}, true},
		"its authority, by its name":          {open, []string{"--scrape-ca-cert-path=" + cert, "--scrape-server-name=example.com"}, true},
		"its authority, by another name":      {open, []string{"--scrape-ca-cert-path=" + cert, "--scrape-server-name=epp"}, false},
		"no matter which":                     {open, []string{"--scrape-tls-insecure-skip-verify"}, true},
		"a page that wants to know who asks":  {closed, []string{"--scrape-ca-cert-path=" + closedCert}, false},
		"who asks shows its certificate":      {closed, []string{"--scrape-ca-cert-path=" + closedCert, "--scrape-client-cert-path=" + closedCert, "--scrape-client-key-path=" + closedKey}, true},
		"shown to a page that is not checked": {closed, []string{"--scrape-tls-insecure-skip-verify", "--scrape-client-cert-path=" + closedCert, "--scrape-client-key-path=" + closedKey}, true},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := newScrapeClient(parsed(t, append([]string{"--collector-backend=pods"}, tt.flags...)...).Collector.Scrape)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Get(tt.page.URL)
			if (err == nil) != tt.works {
				t.Fatalf("got %v, want that it works: %v", err, tt.works)
			}
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}
