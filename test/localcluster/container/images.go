package container

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Images maps the last part of an image's repository to a program. Registry, tag and digest do not
// matter. The program is the image's entrypoint, and a command /NAME of a pod is NAME in the
// program's folder.
type Images map[string]string

var _ cri.ImageManagerService = Images{}

// user is the user ID of every image, that of an image without root; no process runs as it.
const user = 65532

// ParseImage reads NAME=PROGRAM, the form of a command line, and makes the path
// absolute.
func ParseImage(text string) (name, program string, err error) {
	name, program, _ = strings.Cut(text, "=")
	if name == "" || program == "" || strings.ContainsAny(name, "/:@") {
		return "", "", fmt.Errorf("image %q: want NAME=PROGRAM, the last part of a repository and a path", text)
	}
	if program, err = filepath.Abs(program); err != nil {
		return "", "", fmt.Errorf("image %q: resolving the path: %w", text, err)
	}
	return name, program, nil
}

// program returns the program of an image, or an error where there is none.
func (i Images) program(image string) (string, error) {
	name := repository(image)
	program, known := i[name]
	if !known {
		return "", fmt.Errorf("image %s: containers are processes of this machine here, and only %s", image, i.list())
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("image %s: its program is not there, it has to be built first: %w", image, err)
	}
	return program, nil
}

// list names the images for an error message.
func (i Images) list() string {
	names := slices.Sorted(maps.Keys(i))
	if len(names) == 0 {
		return "images that the cluster was told of run; it was told of none"
	}
	return "images named " + strings.Join(names, ", ") + " have a program"
}

// repository returns the last part of an image's repository.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
}

// id returns the ID of an image, which does not depend on its tag.
func id(image string) string { return "program:" + repository(image) }

// ListImages returns the images whose program exists.
func (i Images) ListImages(context.Context, *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	var images []*runtimeapi.Image
	for _, name := range slices.Sorted(maps.Keys(i)) {
		if image, ok := i.image(name); ok {
			images = append(images, image)
		}
	}
	return images, nil
}

func (i Images) image(name string) (*runtimeapi.Image, bool) {
	name = strings.TrimPrefix(name, "program:")
	program, err := i.program(name)
	if err != nil {
		return nil, false
	}
	info, err := os.Stat(program)
	if err != nil {
		return nil, false
	}
	return &runtimeapi.Image{
		Id: id(name), RepoTags: []string{repository(name)}, Size: uint64(info.Size()), Uid: &runtimeapi.Int64Value{Value: user},
		Spec: &runtimeapi.ImageSpec{Image: id(name)},
	}, true
}

// ImageStatus returns no image where none can run, so that the kubelet pulls it.
func (i Images) ImageStatus(_ context.Context, spec *runtimeapi.ImageSpec, _ bool) (*runtimeapi.ImageStatusResponse, error) {
	image, _ := i.image(spec.Image)
	return &runtimeapi.ImageStatusResponse{Image: image}, nil
}

// PullImage returns the ID of an image, or an error that says why it cannot run.
func (i Images) PullImage(_ context.Context, spec *runtimeapi.ImageSpec, _ *runtimeapi.AuthConfig, _ *runtimeapi.PodSandboxConfig) (string, error) {
	if _, err := i.program(spec.Image); err != nil {
		return "", err
	}
	return id(spec.Image), nil
}

// RemoveImage does nothing: the program stays.
func (i Images) RemoveImage(context.Context, *runtimeapi.ImageSpec) error { return nil }

// ImageFsInfo returns no file systems.
func (i Images) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	return &runtimeapi.ImageFsInfoResponse{}, nil
}

// Close does nothing.
func (i Images) Close(context.Context) error { return nil }
