package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"
)

// signingTimeout limits each request to a service of Sigstore.
const signingTimeout = 90 * time.Second

// signer signs the provenance of releases: with a key of a file, or with the identity of the
// workflow that runs it.
type signer struct {
	key    sign.Keypair
	by     sign.BundleOptions
	getenv func(string) string
}

// sign writes the signed provenance of a folder beside its files: a Sigstore bundle of an in-toto
// statement.
func (s signer) sign(ctx context.Context, of source, folder string) error {
	stated, err := of.state(folder, s.getenv)
	if err != nil {
		return err
	}
	data, err := stated.encoded()
	if err != nil {
		return err
	}
	s.by.Context = ctx
	bundle, err := sign.Bundle(&sign.DSSEData{Data: data, PayloadType: payloadType}, s.key, s.by)
	if err != nil {
		return fmt.Errorf("signing the provenance of %s: %w", folder, err)
	}
	text, err := protojson.Marshal(bundle)
	if err != nil {
		return fmt.Errorf("encoding the bundle: %w", err)
	}
	return writeFile(filepath.Join(folder, provenanceFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// byKey returns a signer with the private key of a PEM file: PKCS #8, ECDSA on P-256, as made by
// "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256".
func byKey(path string) (signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return signer{}, fmt.Errorf("reading the key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return signer{}, fmt.Errorf("reading the key %s: want PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return signer{}, fmt.Errorf("reading the key %s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve.Params().BitSize != 256 {
		return signer{}, fmt.Errorf("reading the key %s: found %T, want an ECDSA key on P-256", path, parsed)
	}
	return signer{key: fileKey{key}, getenv: os.Getenv}, nil
}

// byWorkflow returns a signer with the identity of the GitHub workflow that runs it, which needs
// the permission id-token: write. The key serves for this signature only; Fulcio certifies its
// owner, and Rekor's public log records the time.
func byWorkflow(ctx context.Context, getenv func(string) string) (signer, error) {
	token, err := workflowToken(ctx, getenv)
	if err != nil {
		return signer{}, err
	}
	key, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		return signer{}, fmt.Errorf("making a key: %w", err)
	}
	trusted, err := root.FetchTrustedRoot()
	if err != nil {
		return signer{}, fmt.Errorf("fetching the authorities that Sigstore trusts: %w", err)
	}
	services, err := root.FetchSigningConfig()
	if err != nil {
		return signer{}, fmt.Errorf("fetching the services of Sigstore: %w", err)
	}
	now := time.Now()
	fulcio, err := root.SelectService(services.FulcioCertificateAuthorityURLs(), sign.FulcioAPIVersions, now)
	if err != nil {
		return signer{}, fmt.Errorf("choosing a certificate authority: %w", err)
	}
	// Version 1: verifiers from before 2026 read its entries, and it records the time.
	rekor, err := root.SelectService(services.RekorLogURLs(), []uint32{1}, now)
	if err != nil {
		return signer{}, fmt.Errorf("choosing a log: %w", err)
	}
	return signer{key: key, getenv: getenv, by: sign.BundleOptions{
		CertificateProvider:        sign.NewFulcio(&sign.FulcioOptions{BaseURL: fulcio.URL, Timeout: signingTimeout, Retries: 2}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: token},
		TransparencyLogs:           []sign.Transparency{sign.NewRekor(&sign.RekorOptions{BaseURL: rekor.URL, Timeout: signingTimeout, Retries: 2, Version: 1})},
		TrustedRoot:                trusted, // the signature is verified at once
	}}, nil
}

// workflowToken asks GitHub for a token that tells Sigstore which workflow runs.
func workflowToken(ctx context.Context, getenv func(string) string) (string, error) {
	from, secret := getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if from == "" || secret == "" {
		return "", errors.New("signing without --key: this is no workflow of GitHub with the permission id-token: write")
	}
	address, err := url.Parse(from)
	if err != nil {
		return "", errors.New("ACTIONS_ID_TOKEN_REQUEST_URL: want a URL")
	}
	query := address.Query()
	query.Set("audience", "sigstore")
	address.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, signingTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("asking for the identity of the workflow: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("asking for the identity of the workflow: %w", err)
	}
	defer resp.Body.Close()
	var said struct{ Value string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said); err != nil || resp.StatusCode != http.StatusOK || said.Value == "" {
		return "", fmt.Errorf("asking for the identity of the workflow: %s without a token", resp.Status)
	}
	return said.Value, nil
}

// fileKey is a private key from a file.
type fileKey struct{ *ecdsa.PrivateKey }

var _ sign.Keypair = fileKey{}

// GetHashAlgorithm implements sign.Keypair.
func (fileKey) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}

// GetSigningAlgorithm implements sign.Keypair.
func (fileKey) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return protocommon.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256
}

// GetKeyAlgorithm implements sign.Keypair.
func (fileKey) GetKeyAlgorithm() string { return "ECDSA" }

// GetPublicKey implements sign.Keypair.
func (k fileKey) GetPublicKey() crypto.PublicKey { return k.Public() }

// GetHint returns the SHA-256 of the public key in base64, as cosign does.
func (k fileKey) GetHint() []byte {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		panic("release: a key on P-256 cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(der)
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}

// GetPublicKeyPem implements sign.Keypair.
func (k fileKey) GetPublicKeyPem() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// SignData returns the signature of data, and its SHA-256.
func (k fileKey) SignData(_ context.Context, data []byte) (signature, digest []byte, err error) {
	sum := sha256.Sum256(data)
	signature, err = ecdsa.SignASN1(rand.Reader, k.PrivateKey, sum[:])
	return signature, sum[:], err
}
