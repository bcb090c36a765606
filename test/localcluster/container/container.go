package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// container is one container of a pod, whether it runs or not.
type container struct {
	id      string
	sandbox *sandbox
	config  *runtimeapi.ContainerConfig
	command command
	log     *log
	created int64 // ns since 1970

	// Under Runtime.mu:
	started int64    // ns since 1970, 0 before
	process *process // nil before it is started
}

// dir returns the container's own folder.
func (r *Runtime) dir(id string) string { return filepath.Join(r.Dir, id) }

func notFound(kind, id string) error {
	return status.Errorf(codes.NotFound, "there is no %s %s", kind, id)
}

// find returns a container, or an error where there is none of that id.
func (r *Runtime) find(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return nil, notFound("container", id)
	}
	return c, nil
}

// CreateContainer prepares the container's folder and the command of its process.
func (r *Runtime) CreateContainer(_ context.Context, pod string, config *runtimeapi.ContainerConfig, podConfig *runtimeapi.PodSandboxConfig) (string, error) {
	program, err := r.Images.program(config.GetImage().GetUserSpecifiedImage())
	if err != nil {
		if program, err = r.Images.program(imageName(config)); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	s, err := r.findSandbox(pod)
	r.mu.Unlock()
	if err != nil {
		return "", err
	}
	c := &container{id: r.newID("container"), sandbox: s, config: config, created: time.Now().UnixNano()}
	if err := os.MkdirAll(r.dir(c.id), 0o755); err != nil {
		return "", fmt.Errorf("making the folder of container %s: %w", config.Metadata.GetName(), err)
	}
	if c.command, err = r.command(c, program); err != nil {
		return "", err
	}
	c.log = &log{path: filepath.Join(podConfig.GetLogDirectory(), config.LogPath)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[c.id] = c
	return c.id, nil
}

// StartContainer starts the container's process.
func (r *Runtime) StartContainer(ctx context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	if err := c.log.Reopen(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errors.New("the node is ending")
	case c.process != nil:
		return fmt.Errorf("container %s: it was started before", id)
	}
	p, err := r.starter.start(context.WithoutCancel(ctx), c.command, c.log, c.config.GetLinux().GetResources().GetMemoryLimitInBytes())
	if err != nil {
		return err
	}
	c.process, c.started = p, time.Now().UnixNano()
	return nil
}

// StopContainer asks the process to end and kills it after timeout seconds.
func (r *Runtime) StopContainer(ctx context.Context, id string, timeout int64) error {
	r.mu.Lock()
	c := r.containers[id]
	var p *process
	if c != nil {
		p = c.process
	}
	r.mu.Unlock()
	if p == nil {
		return nil // unknown or never started
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(timeout)*time.Second)
	defer cancel()
	p.end(ctx)
	return nil
}

// RemoveContainer ends and forgets a container and removes its folder. Its log belongs to the
// kubelet.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	if err := r.StopContainer(ctx, id, 0); err != nil {
		return err
	}
	r.mu.Lock()
	c := r.containers[id]
	delete(r.containers, id)
	r.mu.Unlock()
	if c == nil {
		return nil
	}
	if err := os.RemoveAll(r.dir(id)); err != nil {
		return fmt.Errorf("removing the folder of container %s: %w", id, err)
	}
	return c.log.Close()
}

// ReopenContainerLog makes the container write to a new file at the log's path.
func (r *Runtime) ReopenContainerLog(_ context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	return c.log.Reopen()
}

// state returns the state of the container. The caller holds Runtime.mu.
func (c *container) state() runtimeapi.ContainerState {
	switch {
	case c.process == nil:
		return runtimeapi.ContainerState_CONTAINER_CREATED
	case c.process.running():
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return runtimeapi.ContainerState_CONTAINER_EXITED
}

// ContainerStatus returns the status of a container.
func (r *Runtime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := r.find(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.Metadata, State: c.state(), CreatedAt: c.created, StartedAt: c.started,
		Image: c.config.Image, ImageRef: imageName(c.config), ImageId: imageName(c.config),
		Labels: c.config.Labels, Annotations: c.config.Annotations, Mounts: c.config.Mounts, LogPath: c.log.path,
	}
	if s.State == runtimeapi.ContainerState_CONTAINER_EXITED {
		end := c.process.result()
		s.FinishedAt, s.ExitCode, s.Reason = end.at.UnixNano(), int32(end.code), "Completed"
		switch {
		case end.beyondMemory:
			s.Reason = "OOMKilled"
		case end.code != 0:
			s.Reason = "Error"
		}
	}
	return &runtimeapi.ContainerStatusResponse{Status: s}, nil
}

func imageName(config *runtimeapi.ContainerConfig) string { return config.GetImage().GetImage() }

// ListContainers returns the containers that match filter, oldest first.
func (r *Runtime) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*runtimeapi.Container
	for _, c := range sorted(r.containers, func(c *container) int64 { return c.created }) {
		if want := filter.GetId(); want != "" && want != c.id {
			continue
		}
		if want := filter.GetPodSandboxId(); want != "" && want != c.sandbox.id {
			continue
		}
		if want := filter.GetState(); want != nil && want.State != c.state() {
			continue
		}
		if !selected(c.config.Labels, filter.GetLabelSelector()) {
			continue
		}
		list = append(list, &runtimeapi.Container{
			Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.config.Metadata, Image: c.config.Image, ImageRef: imageName(c.config), ImageId: imageName(c.config),
			State: c.state(), CreatedAt: c.created, Labels: c.config.Labels, Annotations: c.config.Annotations,
		})
	}
	return list, nil
}
