package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Files are the certificates of a client, and how far it verifies its servers.
// The zero value trusts the authorities of the system and shows no certificate.
type Files struct {
	// CACert names a PEM file of authorities to trust instead of the system's. ""
	// means the system's.
	CACert string
	// ClientCert and ClientKey name the PEM files of the client's certificate.
	// Both or neither.
	ClientCert, ClientKey string
	// ServerName is the name expected in a server's certificate. "" means the host
	// of the URL.
	ServerName string
	// InsecureSkipVerify accepts any certificate of a server. Files are not checked then.
	InsecureSkipVerify bool
}

// Check returns an error that names the first file that is missing or unusable.
func (f Files) Check() error {
	if (f.ClientCert == "") != (f.ClientKey == "") {
		return errors.New("a client certificate needs both its certificate and its key file")
	}
	if f.InsecureSkipVerify {
		return nil
	}
	for _, file := range []struct{ what, path string }{
		{"CA certificate", f.CACert},
		{"client certificate", f.ClientCert},
		{"client key", f.ClientKey},
	} {
		if file.path == "" {
			continue
		}
		if _, err := os.Stat(file.path); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s file not found: %s", file.what, file.path)
		}
	}
	if f.CACert != "" {
		if _, _, err := readAuthorities(f.CACert); err != nil {
			return err
		}
	}
	if f.ClientCert != "" {
		if _, err := f.clientCertificate(nil); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether there is a file of authorities to follow.
func (f Files) follows() bool { return f.CACert != "" && !f.InsecureSkipVerify }

// config returns the TLS configuration of a client that trusts pool, nil for the
// system's.
func (f Files) config(pool *x509.CertPool) *tls.Config {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            pool,
		ServerName:         f.ServerName,
		InsecureSkipVerify: f.InsecureSkipVerify, //nolint:gosec // asked for by the operator
	}
	if f.ClientCert != "" {
		config.GetClientCertificate = f.clientCertificate
	}
	return config
}

// clientCertificate reads the certificate for one handshake.
func (f Files) clientCertificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.ClientCert, f.ClientKey)
	if err != nil {
		return nil, fmt.Errorf("reading client certificate %s: %w", f.ClientCert, err)
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
