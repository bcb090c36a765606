package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Served is the certificate of a port. It is safe for concurrent use.
type Served struct {
	watcher *certwatcher.CertWatcher // nil when self-signed
	own     *tls.Certificate
}

// New returns the certificate of two PEM files, which is read again when they change. Without files
// it is self-signed and lives as long as the process.
func New(certFile, keyFile string) (*Served, error) {
	if certFile != "" || keyFile != "" {
		watcher, err := certwatcher.New(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate %q and its key %q: %w", certFile, keyFile, err)
		}
		return &Served{watcher: watcher}, nil
	}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate that was signed: %w", err)
	}
	return &Served{own: &pair}, nil
}

// Get returns the present certificate, for tls.Config.GetCertificate.
func (s *Served) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.watcher == nil {
		return s.own, nil
	}
	return s.watcher.GetCertificate(hello) //nolint:wrapcheck // for crypto/tls
}

// Run follows the files until ctx ends. It runs once.
func (s *Served) Run(ctx context.Context) error {
	if s.watcher == nil {
		<-ctx.Done()
		return nil
	}
	if err := s.watcher.Start(ctx); err != nil {
		return fmt.Errorf("watching a certificate: %w", err)
	}
	return nil
}
