package certificate_test

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/certificate/certificatetest"
)

func TestAClientNeedsACertificateOfAnAuthority(t *testing.T) {
	ours, others := certificatetest.NewAuthority(t, "ours"), certificatetest.NewAuthority(t, "others")
	file := filepath.Join(t.TempDir(), "ca.crt")
	ours.Write(t, file)
	who, err := certificate.ReadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	client := func() *x509.Certificate { return &x509.Certificate{Subject: pkix.Name{CommonName: "keda"}} }
	server := client()
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for name, tt := range map[string]struct {
		shown []*x509.Certificate
		at    time.Time
		want  bool
	}{
		"of the authority":          {[]*x509.Certificate{ours.Issue(t, client()).Leaf}, now, true},
		"of another authority":      {[]*x509.Certificate{others.Issue(t, client()).Leaf}, now, false},
		"expired by now":            {[]*x509.Certificate{ours.Issue(t, client()).Leaf}, now.Add(2 * time.Hour), false},
		"for servers only":          {[]*x509.Certificate{ours.Issue(t, server).Leaf}, now, false},
		"none":                      {nil, now, false},
		"followed by one of theirs": {[]*x509.Certificate{ours.Issue(t, client()).Leaf, others.Issue(t, client()).Leaf}, now, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := who.Verify(tt.shown, tt.at)
			if (err == nil) != tt.want {
				t.Errorf("error %v, want none: %v", err, tt.want)
			}
			if (len(tt.shown) == 0) != errors.Is(err, certificate.ErrNoCertificate) {
				t.Errorf("error %v for %d certificates", err, len(tt.shown))
			}
		})
	}
}

func TestAuthoritiesFollowTheirFile(t *testing.T) {
	before, after := certificatetest.NewAuthority(t, "before"), certificatetest.NewAuthority(t, "after")
	file := filepath.Join(t.TempDir(), "ca.crt")
	if _, err := certificate.ReadAuthorities(file); err == nil {
		t.Error("a file that is missing is no error")
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := certificate.ReadAuthorities(file); err == nil {
		t.Error("a file without a certificate is no error")
	}
	before.Write(t, file)
	who, err := certificate.ReadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	of := func(a *certificatetest.Authority) error {
		return who.Verify([]*x509.Certificate{a.Issue(t, &x509.Certificate{}).Leaf}, time.Now())
	}
	if err := of(before); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := of(before); err != nil {
		t.Errorf("while the file cannot be used, the last authorities are not in force: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := of(before); err != nil {
		t.Errorf("without the file the last authorities are not in force: %v", err)
	}
	after.Write(t, file)
	if err := of(after); err != nil {
		t.Errorf("the authority of the new file: %v", err)
	}
	if err := of(before); err == nil {
		t.Error("the authority that was taken away still lets clients in")
	}
}

func TestWithoutFilesACertificateIsSignedByItself(t *testing.T) {
	s, err := certificate.New("", "")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := s.Get(nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf.VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}
}

func TestTheServedCertificateIsThatOfItsFiles(t *testing.T) {
	authority := certificatetest.NewAuthority(t, "ours")
	pair := authority.Issue(t, &x509.Certificate{})
	certFile, keyFile := certificatetest.WritePair(t, t.TempDir(), pair)
	s, err := certificate.New(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(nil); err != nil || !bytes.Equal(got.Certificate[0], pair.Certificate[0]) {
		t.Errorf("another certificate is served (%v)", err)
	}
	for _, files := range [][2]string{{certFile, ""}, {"", keyFile}, {certFile, certFile}} {
		if _, err := certificate.New(files[0], files[1]); err == nil {
			t.Errorf("certificate %q and key %q are no error", files[0], files[1])
		}
	}
}
