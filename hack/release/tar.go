package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// member is a file of an archive.
type member struct {
	name, from string
	mode       int64
}

// writeTar archives the files of a folder, in the order of their names.
func writeTar(archive, folder string, at time.Time) error {
	var members []member
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		members = append(members, member{filepath.ToSlash(name), path, 0o644})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", archive, err)
	}
	return writeFile(archive, func(w io.Writer) error { return tarOf(w, members, at) })
}

// writeTarGz archives files, compressed with gzip.
func writeTarGz(archive string, members []member, at time.Time) error {
	return writeFile(archive, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := tarOf(z, members, at); err != nil {
			return err
		}
		return z.Close()
	})
}

// writeFile writes a file, and leaves no partly written one after an error.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func tarOf(w io.Writer, members []member, at time.Time) error {
	t := tar.NewWriter(w)
	for _, m := range members {
		content, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: m.mode, Size: int64(len(content)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := t.Write(content); err != nil {
			return err
		}
	}
	return t.Close()
}

// readTar unpacks an archive of files into a folder, and nothing outside of it.
func readTar(archive, folder string) error {
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	defer f.Close()
	if err := unpackTar(f, folder); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, err)
	}
	return nil
}

// unpackTar is readTar for an open archive. It creates the folder.
func unpackTar(from io.Reader, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(from); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			err = unpack(root, header, t)
		}
		if err != nil {
			return err
		}
	}
}

// unpack writes a file, in place of any file of its name.
func unpack(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(header.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(header.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
