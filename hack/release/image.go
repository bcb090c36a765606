package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// mostImage limits the size of an image archive, in bytes for each platform: 60 MB for the two of a
// release.
const mostImage = 30_000_000

// user is the user that runs the manager: an account without a name, and not root.
const user = "65532:65532"

// annotations of the OCI image specification (annotations.md).
const (
	annotationName     = "org.opencontainers.image.ref.name"
	annotationVersion  = "org.opencontainers.image.version"
	annotationRevision = "org.opencontainers.image.revision"
	annotationTitle    = "org.opencontainers.image.title"
	annotationLicenses = "org.opencontainers.image.licenses"
)

// inImage are the programs of the image, in the order of its layer. The first is its entrypoint;
// wva is for kubectl exec and for jobs.
var inImage = [...]string{"manager", "wva"}

// image builds the programs for the platforms and writes one image for all of them, as an archive
// of an OCI layout. called is the name of the image.
func (s source) image(ctx context.Context, archive, called string, platforms []platform) error {
	reference, err := name.NewTag(called)
	if err != nil {
		return fmt.Errorf("the name of the image: %w", err)
	}
	work, err := os.MkdirTemp("", "image")
	if err != nil {
		return fmt.Errorf("building the image: %w", err)
	}
	defer os.RemoveAll(work)
	programs := map[platform][]member{}
	for _, p := range platforms {
		for _, program := range inImage {
			built, err := s.build(ctx, work, program, p)
			if err != nil {
				return err
			}
			programs[p] = append(programs[p], member{program, built, 0o555})
		}
	}
	index, err := s.index(platforms, programs)
	if err != nil {
		return err
	}
	folder := filepath.Join(work, "layout")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{annotationName: reference.TagStr(), "io.containerd.image.name": reference.Name()})); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	if err := writeTar(archive, folder, s.at); err != nil {
		return err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return fmt.Errorf("measuring the image: %w", err)
	}
	if most := int64(mostImage * len(platforms)); info.Size() > most {
		return fmt.Errorf("the image %s has %d bytes: want %d at most", archive, info.Size(), most)
	}
	fmt.Printf("%s: %s for %v, %.1f MB\n", archive, called, platforms, float64(info.Size())/1e6)
	return nil
}

// index returns an index with one image per platform, in their order.
func (s source) index(platforms []platform, programs map[platform][]member) (v1.ImageIndex, error) {
	annotations := map[string]string{
		annotationTitle: "Workload Variant Autoscaler", annotationVersion: s.version, annotationRevision: s.commit, annotationLicenses: "Apache-2.0",
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		image, err := s.imageOf(programs[p], p, annotations)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	annotated, ok := mutate.Annotations(index, annotations).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotating the image: found %T, want an index", index)
	}
	return annotated, nil
}

// imageOf returns an image with the programs and nothing else.
func (s source) imageOf(programs []member, p platform, annotations map[string]string) (v1.Image, error) {
	var files bytes.Buffer
	if err := tarOf(&files, programs, s.at); err != nil {
		return nil, err
	}
	layer, err := newLayer(files.Bytes())
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: s.at}, CreatedBy: "hack/release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: s.at}
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + inImage[0]}, WorkingDir: "/", Labels: annotations}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(image, annotations).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("annotating: found %T, want an image", image)
	}
	return annotated, nil
}

// push pushes the only image of an archive.
func push(ctx context.Context, archive, called string, plain bool) error {
	var options []name.Option
	if plain {
		options = append(options, name.Insecure)
	}
	reference, err := name.ParseReference(called, options...)
	if err != nil {
		return fmt.Errorf("the name of the image: %w", err)
	}
	work, err := os.MkdirTemp("", "image")
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	defer os.RemoveAll(work)
	image, err := openImage(archive, work)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("reading %s: %w", archive, err)
	}
	if err := remote.WriteIndex(reference, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s to %s: %w", archive, strings.TrimSuffix(reference.Name(), ":latest"), err)
	}
	fmt.Printf("%s@%s\n", reference.Context().Name(), digest)
	return nil
}

// unpackImage writes the files of the only image of an archive, for one platform, into a folder.
func unpackImage(archive, folder string, p platform) error {
	work, err := os.MkdirTemp("", "image")
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	defer os.RemoveAll(work)
	index, err := openImage(archive, work)
	if err != nil {
		return err
	}
	images, err := partial.FindImages(index, match.Platforms(v1.Platform{OS: p.os, Architecture: p.arch}))
	if err != nil {
		return fmt.Errorf("reading %s: %w", archive, err)
	}
	if len(images) != 1 {
		return fmt.Errorf("reading %s: found %d images for %s, want one", archive, len(images), p)
	}
	files := mutate.Extract(images[0])
	defer files.Close()
	if err := unpackTar(files, folder); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	return nil
}

// openImage unpacks an archive into a folder and returns its only image. The image reads the folder
// as long as it is used.
func openImage(archive, folder string) (v1.ImageIndex, error) {
	if err := readTar(archive, folder); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", archive, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", archive, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("reading %s: found %d images, want one", archive, len(manifest.Manifests))
	}
	image, err := index.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", archive, err)
	}
	return image, nil
}
