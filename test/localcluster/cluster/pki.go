package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	// validity is the one of every certificate: longer than any local cluster lives.
	validity = 10 * 365 * 24 * time.Hour
	// proxyName is the client that an aggregated API server trusts to speak for a user.
	proxyName = "front-proxy-client"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// makePKI writes the certificates, keys and tokens of a cluster, unless they exist. ca signs the
// serving certificates and the one with which the API server calls the kubelet, and is the client
// CA of both; front-proxy-ca signs the certificate with which the API server calls aggregated ones;
// sa.key signs service account tokens.
func makePKI(l layout, n network) error {
	complete := l.path("pki", "tokens.csv") // written last
	if _, err := os.Stat(complete); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now := time.Now()
	ca, err := newAuthority(l, "ca", now)
	if err != nil {
		return err
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "localcluster"},
		DNSNames:    names,
		IPAddresses: []net.IP{net.ParseIP(loopback), net.IP(n.apiServer().AsSlice())},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if err := ca.issue(l, "serving", serving, now); err != nil {
		return err
	}
	kubelets := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := ca.issue(l, "kubelet-client", kubelets, now); err != nil {
		return err
	}
	proxyCA, err := newAuthority(l, "front-proxy-ca", now)
	if err != nil {
		return err
	}
	proxy := &x509.Certificate{
		Subject:     pkix.Name{CommonName: proxyName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := proxyCA.issue(l, "front-proxy-client", proxy, now); err != nil {
		return err
	}
	if _, err := newKey(l, "sa"); err != nil {
		return err
	}
	return writeTokens(l, complete)
}

func newAuthority(l layout, name string, now time.Time) (*authority, error) {
	key, err := newKey(l, name)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localcluster-" + name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	a := &authority{certificate: template, key: key}
	if a.certificate, err = a.sign(l, name, template, key, now); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *authority) issue(l layout, name string, template *x509.Certificate, now time.Time) error {
	key, err := newKey(l, name)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	_, err = a.sign(l, name, template, key, now)
	return err
}

func (a *authority) sign(l layout, name string, template *x509.Certificate, key *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing certificate %s: %w", name, err)
	}
	if err := writePEM(l.path("pki", name+".crt"), "CERTIFICATE", der, 0o644); err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing certificate %s: %w", name, err)
	}
	return certificate, nil
}

func newKey(l layout, name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating key %s: %w", name, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding key %s: %w", name, err)
	}
	return key, writePEM(l.path("pki", name+".key"), "EC PRIVATE KEY", der, 0o600)
}

func writePEM(path, kind string, der []byte, mode fs.FileMode) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeTokens writes the administrator's bearer token, alone and in the form that the API server
// reads.
func writeTokens(l layout, csv string) error {
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return fmt.Errorf("choosing a token: %w", err)
	}
	token := hex.EncodeToString(secret[:])
	if err := os.WriteFile(l.path("pki", "admin.token"), []byte(token), 0o600); err != nil {
		return fmt.Errorf("writing the token: %w", err)
	}
	line := fmt.Sprintf("%s,admin,admin,%q\n", token, "system:masters")
	if err := os.WriteFile(csv, []byte(line), 0o600); err != nil {
		return fmt.Errorf("writing the tokens: %w", err)
	}
	return nil
}
