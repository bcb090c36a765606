package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// Issue returns a serving certificate for hosts and for 127.0.0.1, signed by the
// cluster's CA, and its key, all in PEM.
func (b *Bed) Issue(hosts ...string) (cert, key []byte, err error) {
	return b.IssueUntil(time.Now().AddDate(1, 0, 0), hosts...)
}

// IssueUntil is Issue with the end of the certificate's validity, which may be in the past.
func (b *Bed) IssueUntil(end time.Time, hosts ...string) (cert, key []byte, err error) {
	caCert, err := os.ReadFile(b.State.CACert)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	caKey, err := os.ReadFile(b.State.CAKey)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the cluster's CA: %w", err)
	}
	return issue(caCert, caKey, end, hosts...)
}

// issue returns a serving certificate for hosts and for 127.0.0.1, valid until end and signed by a
// CA, and its key, all in PEM.
func issue(caCert, caKey []byte, end time.Time, hosts ...string) (cert, key []byte, err error) {
	ca, err := tls.X509KeyPair(caCert, caKey)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the CA: %w", err)
	}
	parent, err := x509.ParseCertificate(ca.Certificate[0])
	if err != nil {
		return nil, nil, fmt.Errorf("reading the CA: %w", err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("making a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: hosts[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: hosts, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, ca.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a certificate for %s: %w", hosts[0], err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
