package prometheus

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// transport is an HTTP transport whose authorities follow their file.
type transport struct {
	config Config
	proxy  *url.URL // nil: that of the environment

	mu      sync.Mutex
	caPEM   []byte // of current
	current *http.Transport
}

// newTransport returns a transport for a valid configuration.
func newTransport(config Config) (*transport, error) {
	t := &transport{config: config}
	var err error
	if t.proxy, err = config.proxy(); err != nil {
		return nil, err
	}
	var pool *x509.CertPool
	if config.CACertPath != "" && !config.InsecureSkipVerify {
		if t.caPEM, pool, err = readAuthorities(config.CACertPath); err != nil {
			return nil, err
		}
	}
	t.current = t.dialer(pool)
	return t, nil
}

// RoundTrip sends req. Where the file of authorities has changed, connections
// are made anew; while it cannot be used, the last good one stays in force.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.refreshed().RoundTrip(req)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *transport) CloseIdleConnections() {
	t.mu.Lock()
	current := t.current
	t.mu.Unlock()
	current.CloseIdleConnections()
}

// refreshed returns the transport that trusts what the file says now.
func (t *transport) refreshed() *http.Transport {
	path := t.config.CACertPath
	if path == "" || t.config.InsecureSkipVerify {
		return t.current // never replaced
	}
	pem, pool, err := readAuthorities(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && !bytes.Equal(pem, t.caPEM) {
		t.current.CloseIdleConnections()
		t.caPEM, t.current = pem, t.dialer(pool)
	}
	return t.current
}

// dialer returns a transport that trusts pool, nil for the system's.
func (t *transport) dialer(pool *x509.CertPool) *http.Transport {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            pool,
		ServerName:         t.config.ServerName,
		InsecureSkipVerify: t.config.InsecureSkipVerify, //nolint:gosec // asked for by the operator
	}
	if t.config.ClientCertPath != "" {
		config.GetClientCertificate = t.clientCertificate
	}
	proxy := http.ProxyFromEnvironment
	if t.proxy != nil {
		proxy = http.ProxyURL(t.proxy)
	}
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16, // as many as queries are likely to be under way
		IdleConnTimeout:       2 * time.Minute,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,     // see the comment of the package
		ReadBufferSize:        32 << 10, // an answer for 10,000 pods takes 1.5 MB
	}
}

// clientCertificate reads the certificate for one handshake.
func (t *transport) clientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(t.config.ClientCertPath, t.config.ClientKeyPath)
	if err != nil {
		return nil, fmt.Errorf("reading client certificate %s: %w", t.config.ClientCertPath, err)
	}
	return &pair, nil
}

// readAuthorities reads a PEM file of certificates.
func readAuthorities(path string) ([]byte, *x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("CA certificate file holds no certificate: %s", path)
	}
	return pem, pool, nil
}
