package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Constants of the provenance, by SLSA (https://slsa.dev/spec/v1.0/provenance) and in-toto
// (https://in-toto.io/Statement/v1).
const (
	statementType   = "https://in-toto.io/Statement/v1"
	provenanceType  = "https://slsa.dev/provenance/v1"
	payloadType     = "application/vnd.in-toto+json"
	repository      = "https://github.com/llm-d-incubation/workload-variant-autoscaler"
	buildType       = repository + "/tree/main/hack/release@v1"
	provenanceFile  = "provenance.sigstore.json"
	localBuilder    = repository + "/tree/main/hack/release#local"
	releaseWorkflow = ".github/workflows/release.yml"
)

// statement says which builder made which files from which commit.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// subject is a file of the release, or the image, with its SHA-256.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	InternalParameters   map[string]string `json:"internalParameters"`
	ResolvedDependencies []subjectOfSource `json:"resolvedDependencies"`
}

// subjectOfSource is the commit from which a release is made.
type subjectOfSource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type runDetails struct {
	Builder  builder   `json:"builder"`
	Metadata *metadata `json:"metadata,omitempty"`
}

type builder struct {
	ID string `json:"id"`
}

type metadata struct {
	InvocationID string `json:"invocationId"`
}

// state returns the provenance of a folder. getenv reads the environment, in which GitHub names the
// workflow.
func (s source) state(folder string, getenv func(string) string) (statement, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(paths) == 0 {
		return statement{}, fmt.Errorf("stating the provenance of %s: found no file: run make release first", folder)
	}
	slices.Sort(paths)
	out := statement{Type: statementType, PredicateType: provenanceType, Predicate: provenance{
		BuildDefinition: buildDefinition{
			BuildType: buildType, ExternalParameters: map[string]string{"version": s.version}, InternalParameters: map[string]string{"go": runtime.Version()},
			ResolvedDependencies: []subjectOfSource{{URI: "git+" + repository + "@" + s.commit, Digest: map[string]string{"gitCommit": s.commit}}},
		},
		RunDetails: runDetails{Builder: builder{ID: localBuilder}},
	}}
	for _, path := range paths {
		if filepath.Base(path) == provenanceFile {
			continue
		}
		sum, err := sumOf(path)
		if err != nil {
			return statement{}, err
		}
		out.Subject = append(out.Subject, subject{Name: filepath.Base(path), Digest: map[string]string{"sha256": sum}})
	}
	image, err := subjectOfImage(filepath.Join(folder, imageFile))
	if err != nil {
		return statement{}, err
	}
	out.Subject = append(out.Subject, image)
	if workflow := getenv("GITHUB_WORKFLOW_REF"); workflow != "" {
		server := strings.TrimSuffix(getenv("GITHUB_SERVER_URL"), "/")
		out.Predicate.RunDetails.Builder.ID = server + "/" + workflow
		out.Predicate.RunDetails.Metadata = &metadata{
			InvocationID: fmt.Sprintf("%s/%s/actions/runs/%s/attempts/%s", server, getenv("GITHUB_REPOSITORY"), getenv("GITHUB_RUN_ID"), getenv("GITHUB_RUN_ATTEMPT")),
		}
	}
	return out, nil
}

// subjectOfImage returns the image of an archive, as "image" with the digest of its index, by which
// registries identify it.
func subjectOfImage(archive string) (subject, error) {
	work, err := os.MkdirTemp("", "image")
	if err != nil {
		return subject{}, fmt.Errorf("unpacking %s: %w", archive, err)
	}
	defer os.RemoveAll(work)
	image, err := openImage(archive, work)
	if err != nil {
		return subject{}, err
	}
	digest, err := image.Digest()
	if err != nil {
		return subject{}, fmt.Errorf("reading %s: %w", archive, err)
	}
	return subject{Name: "image", Digest: map[string]string{digest.Algorithm: digest.Hex}}, nil
}

// encoded returns the bytes of a statement that are signed.
func (s statement) encoded() ([]byte, error) {
	out, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the provenance: %w", err)
	}
	return out, nil
}
