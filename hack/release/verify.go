package main

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// workflowIssuer is the issuer of the tokens of GitHub workflows.
const workflowIssuer = "https://token.actions.githubusercontent.com"

// workflowOf returns the identity that signs the release of a version.
func workflowOf(version string) string {
	return repository + "/" + releaseWorkflow + "@refs/tags/" + version
}

// verifier verifies files against the provenance of their release.
type verifier struct {
	trusted root.TrustedMaterial
	options []verify.VerifierOption
	policy  verify.PolicyOption
	// builder is the one that the provenance must name.
	builder string
}

// verifierByKey returns a verifier of signatures with the private key for the public key of a PEM
// file.
func verifierByKey(path string) (verifier, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return verifier{}, fmt.Errorf("reading the public key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return verifier{}, fmt.Errorf("reading the public key %s: want PEM", path)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return verifier{}, fmt.Errorf("reading the public key %s: %w", path, err)
	}
	checks, err := signature.LoadVerifier(parsed, crypto.SHA256)
	if err != nil {
		return verifier{}, fmt.Errorf("reading the public key %s: %w", path, err)
	}
	key := root.NewExpiringKey(checks, time.Time{}, time.Time{})
	return verifier{
		trusted: root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return key, nil }),
		options: []verify.VerifierOption{verify.WithNoObserverTimestamps()}, policy: verify.WithKey(), builder: localBuilder,
	}, nil
}

// verifierByWorkflow returns a verifier of the release workflow's signature for a version, by the
// public services of Sigstore.
func verifierByWorkflow(version string) (verifier, error) {
	trusted, err := root.FetchTrustedRoot()
	if err != nil {
		return verifier{}, fmt.Errorf("fetching the authorities that Sigstore trusts: %w", err)
	}
	return byIdentity(trusted, version,
		verify.WithSignedCertificateTimestamps(1), verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
}

// byIdentity returns a verifier of the release workflow's signature for a version.
func byIdentity(trusted root.TrustedMaterial, version string, options ...verify.VerifierOption) (verifier, error) {
	identity, err := verify.NewShortCertificateIdentity(workflowIssuer, "", workflowOf(version), "")
	if err != nil {
		return verifier{}, fmt.Errorf("naming the workflow: %w", err)
	}
	return verifier{trusted: trusted, options: options, policy: verify.WithCertificateIdentity(identity), builder: workflowOf(version)}, nil
}

// files verifies the content of files against the bundle at path.
func (v verifier) files(path string, files []string) error {
	entity, err := bundle.LoadJSONFromPath(path)
	if err != nil {
		return fmt.Errorf("reading the provenance %s: %w", path, err)
	}
	return v.entity(entity, files)
}

// entity verifies files against a signed statement.
func (v verifier) entity(entity verify.SignedEntity, files []string) error {
	if len(files) == 0 {
		return errors.New("verifying: found no file to verify")
	}
	checks, err := verify.NewVerifier(v.trusted, v.options...)
	if err != nil {
		return fmt.Errorf("verifying: %w", err)
	}
	for _, file := range files {
		sum, err := sumOf(file)
		if err != nil {
			return err
		}
		digest, err := hex.DecodeString(sum)
		if err != nil {
			return fmt.Errorf("verifying %s: %w", file, err)
		}
		found, err := checks.Verify(entity, verify.NewPolicy(verify.WithArtifactDigest("sha256", digest), v.policy))
		if err != nil {
			return fmt.Errorf("verifying %s: %w", file, err)
		}
		if err := v.states(found, filepath.Base(file), sum); err != nil {
			return fmt.Errorf("verifying %s: %w", file, err)
		}
	}
	return nil
}

// states returns an error unless the verified statement is provenance by the builder and has the
// digest under the name of the file: so one file of a release does not pass for another.
func (v verifier) states(found *verify.VerificationResult, name, sum string) error {
	said := found.Statement
	if said == nil || said.GetPredicateType() != provenanceType {
		return fmt.Errorf("found a statement of type %q, want %s", said.GetPredicateType(), provenanceType)
	}
	run := said.GetPredicate().GetFields()["runDetails"].GetStructValue().GetFields()
	if id := run["builder"].GetStructValue().GetFields()["id"].GetStringValue(); id != v.builder {
		return fmt.Errorf("found the builder %q, want %s", id, v.builder)
	}
	for _, s := range said.GetSubject() {
		if s.GetName() == name && s.GetDigest()["sha256"] == sum {
			return nil
		}
	}
	return fmt.Errorf("the release has a file with this content under another name than %s", name)
}
