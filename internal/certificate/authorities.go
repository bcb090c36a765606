package certificate

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Authorities are the certificate authorities of clients. Each use checks their file and reads it
// again if it changed; while the file is not usable, the last good authorities stay in force. They
// are safe for concurrent use.
type Authorities struct {
	file string

	mu     sync.Mutex
	looked os.FileInfo // state of the file when it was read
	pool   *x509.CertPool
}

// ReadAuthorities returns the authorities of a PEM file.
func ReadAuthorities(file string) (*Authorities, error) {
	a := &Authorities{file: file}
	if err := a.read(); err != nil {
		return nil, err
	}
	return a, nil
}

// ErrNoCertificate means that a client shows no certificate.
var ErrNoCertificate = errors.New("the client shows no certificate")

// Verify returns nil if the certificates that a client shows, its own first, prove at now that it
// is a client of these authorities, else the reason.
func (a *Authorities) Verify(shown []*x509.Certificate, now time.Time) error {
	if len(shown) == 0 {
		return ErrNoCertificate
	}
	options := x509.VerifyOptions{
		Roots: a.current(), Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range shown[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := shown[0].Verify(options); err != nil {
		return fmt.Errorf("verifying the certificate of the client: %w", err)
	}
	return nil
}

// current returns the authorities of the present file, or the last good ones.
func (a *Authorities) current() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if look, err := os.Stat(a.file); err == nil && !same(a.looked, look) {
		_ = a.read() // on an error the last good ones stay
	}
	return a.pool
}

// read reads the file. The caller holds the lock or is the only user.
func (a *Authorities) read() error {
	look, err := os.Stat(a.file)
	if err != nil {
		return fmt.Errorf("reading the authorities of clients: %w", err)
	}
	pem, err := os.ReadFile(a.file)
	if err != nil {
		return fmt.Errorf("reading the authorities of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate of an authority", a.file)
	}
	a.looked, a.pool = look, pool
	return nil
}

// same reports whether two states are of the same file, unchanged in between.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
