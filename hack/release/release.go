package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// serverPlatforms returns the platforms of the image, clientPlatforms those of the command line.
func serverPlatforms() []platform { return []platform{{"linux", "amd64"}, {"linux", "arm64"}} }

func clientPlatforms() []platform {
	return append(serverPlatforms(), platform{"darwin", "amd64"}, platform{"darwin", "arm64"})
}

// release makes all files of a release in a folder. The image has the name that the chart pulls.
func (s source) release(ctx context.Context, out string) error {
	if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) > 0 {
		return cmp.Or(err, fmt.Errorf("the folder %s holds %d files: want an empty one", out, len(left)))
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return fmt.Errorf("making the release: %w", err)
	}
	defer os.RemoveAll(work)
	chart, err := s.readChart()
	if err != nil {
		return err
	}
	image, err := imageOfChart(chart)
	if err != nil {
		return err
	}
	if err := s.image(ctx, filepath.Join(out, imageFile), image, serverPlatforms()); err != nil {
		return err
	}
	manager, err := s.build(ctx, work, "manager", serverPlatforms()[0])
	if err != nil {
		return err
	}
	if err := s.sbom(manager, "manager", filepath.Join(out, "manager.cdx.json")); err != nil {
		return err
	}
	var archives []archive
	for _, p := range clientPlatforms() {
		a, err := s.archive(ctx, work, out, p)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	if err := writeChart(chart, out); err != nil {
		return err
	}
	if err := s.krew(filepath.Join(out, "wva.yaml"), archives); err != nil {
		return err
	}
	return sums(out)
}

// archive is an archive of the command line for one platform.
type archive struct {
	platform

	name, sum string
}

// archive builds the command line for a platform, and archives it with its documents.
func (s source) archive(ctx context.Context, work, out string, p platform) (archive, error) {
	program, err := s.build(ctx, work, "wva", p)
	if err != nil {
		return archive{}, err
	}
	if p == clientPlatforms()[0] {
		if err := s.sbom(program, "wva", filepath.Join(out, "wva.cdx.json")); err != nil {
			return archive{}, err
		}
	}
	a := archive{platform: p, name: fmt.Sprintf("wva_%s_%s_%s.tar.gz", s.version, p.os, p.arch)}
	path := filepath.Join(out, a.name)
	if err := writeTarGz(path, []member{
		{"wva", program, 0o755},
		{"LICENSE", filepath.Join(s.root, "LICENSE"), 0o644},
		{"README.md", filepath.Join(s.root, "README.md"), 0o644},
	}, s.at); err != nil {
		return archive{}, err
	}
	a.sum, err = sumOf(path)
	return a, err
}

// sums writes the checksums of the files of a folder in the format of sha256sum.
func sums(folder string) error {
	const name = "checksums.txt"
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return fmt.Errorf("summing %s: %w", folder, err)
	}
	slices.Sort(paths)
	var lines strings.Builder
	for _, path := range paths {
		sum, err := sumOf(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, filepath.Base(path))
	}
	return writeFile(filepath.Join(folder, name), func(w io.Writer) error {
		_, err := io.WriteString(w, lines.String())
		return err
	})
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("summing: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("summing %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
