package main

import (
	"bytes"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// window is the distance in bytes over which a layer is compressed against itself. It is longer
// than a program, because the programs of an image are mostly the same code. It is the most that
// decoders accept by default (RFC 8878, and zstd's --long=27).
const window = 1 << 27

// layer is the files of an image, in Zstandard, which container runtimes support since containerd
// 1.5 and CRI-O 1.20. It is half as large as with gzip.
type layer struct{ files, packed []byte }

var _ v1.Layer = layer{}

// newLayer compresses a tar archive. The same archive gives the same layer.
func newLayer(files []byte) (layer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return layer{}, fmt.Errorf("compressing the layer: %w", err)
	}
	defer z.Close()
	return layer{files, z.EncodeAll(files, nil)}, nil
}

// Digest implements v1.Layer.
func (l layer) Digest() (v1.Hash, error) { return hash(l.packed) }

// DiffID implements v1.Layer.
func (l layer) DiffID() (v1.Hash, error) { return hash(l.files) }

// Compressed implements v1.Layer.
func (l layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.packed)), nil
}

// Uncompressed implements v1.Layer.
func (l layer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.files)), nil
}

// Size implements v1.Layer.
func (l layer) Size() (int64, error) { return int64(len(l.packed)), nil }

// MediaType implements v1.Layer.
func (l layer) MediaType() (types.MediaType, error) { return types.OCILayerZStd, nil }

func hash(content []byte) (v1.Hash, error) {
	h, _, err := v1.SHA256(bytes.NewReader(content))
	return h, err
}
