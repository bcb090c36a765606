package container

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
)

// Options configures New.
type Options struct {
	Dir       string       // folder of the runtime's files alone: New empties it
	Images    Images       // the images that can run
	Addresses netip.Prefix // loopback addresses of pods; no pod gets the first
	APIServer string       // base URL, for the processes' KUBECONFIG
	RunAs     []string     // program and arguments that call RunAs; empty means that all processes have the machine's hostname
}

// Runtime runs containers. It is safe for concurrent use. Make one with New.
type Runtime struct {
	Options
	starter  *starter
	streams  streaming.Server
	server   *http.Server // of streams
	instance string       // part of identifiers, so that no two runtimes make the same
	lastID   atomic.Int64

	mu         sync.Mutex
	sandboxes  map[string]*sandbox
	containers map[string]*container
	closed     bool // no container starts any more
}

var _ cri.RuntimeService = (*Runtime)(nil)

// New returns a Runtime without containers.
func New(o Options) (*Runtime, error) {
	r := &Runtime{
		Options: o, starter: newStarter(o.RunAs), instance: strconv.FormatInt(time.Now().UnixNano(), 36),
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{},
	}
	// Files of an earlier runtime belong to no container any more.
	if err := os.RemoveAll(o.Dir); err != nil {
		return nil, fmt.Errorf("removing what an earlier runtime left: %w", err)
	}
	var err error
	if r.streams, r.server, err = newStreams(r); err != nil {
		return nil, fmt.Errorf("serving streams: %w", err)
	}
	return r, nil
}

// newID returns the identifier of a new object.
func (r *Runtime) newID(kind string) string {
	return fmt.Sprintf("%s-%s-%d", kind, r.instance, r.lastID.Add(1))
}

// Close ends every container: it asks their processes to end, and kills those that still run when
// ctx ends.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	var running []*container
	for _, c := range r.containers {
		if c.process != nil {
			running = append(running, c)
		}
	}
	r.mu.Unlock()
	var group sync.WaitGroup
	for _, c := range running {
		group.Go(func() { c.process.end(ctx) })
	}
	group.Wait()
	if err := r.server.Close(); err != nil {
		return fmt.Errorf("ending streams: %w", err)
	}
	return nil
}

// version is the version of the interface.
const version = "v1"

// Version returns the names and versions of the runtime and of the interface.
func (r *Runtime) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "localcluster", RuntimeVersion: "0.1.0", RuntimeApiVersion: version}, nil
}

// Status reports that containers can run and have addresses.
func (r *Runtime) Status(context.Context, bool) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// UpdateRuntimeConfig does nothing.
func (r *Runtime) UpdateRuntimeConfig(context.Context, *runtimeapi.RuntimeConfig) error { return nil }

// RuntimeConfig returns an empty configuration.
func (r *Runtime) RuntimeConfig(context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{}, nil
}

// UpdateContainerResources does nothing: a container keeps the memory limit with which it started,
// and no other limit is enforced.
func (r *Runtime) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}

// UpdatePodSandboxResources does nothing: no limit is enforced.
func (r *Runtime) UpdatePodSandboxResources(context.Context, *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

// CheckpointContainer returns an error: a process cannot be saved.
func (r *Runtime) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest) error {
	return errors.ErrUnsupported
}

// GetContainerEvents returns an error; the kubelet lists containers instead.
func (r *Runtime) GetContainerEvents(context.Context, chan *runtimeapi.ContainerEventResponse, func(runtimeapi.RuntimeService_GetContainerEventsClient)) error {
	return errors.ErrUnsupported
}

// The following methods are about usage, which is not measured.

// ContainerStats returns an error.
func (r *Runtime) ContainerStats(context.Context, string) (*runtimeapi.ContainerStats, error) {
	return nil, errors.ErrUnsupported
}

// ListContainerStats returns an empty list.
func (r *Runtime) ListContainerStats(context.Context, *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	return nil, nil
}

// PodSandboxStats returns an error.
func (r *Runtime) PodSandboxStats(context.Context, string) (*runtimeapi.PodSandboxStats, error) {
	return nil, errors.ErrUnsupported
}

// ListPodSandboxStats returns an empty list.
func (r *Runtime) ListPodSandboxStats(context.Context, *runtimeapi.PodSandboxStatsFilter) ([]*runtimeapi.PodSandboxStats, error) {
	return nil, nil
}

// ListMetricDescriptors returns an empty list.
func (r *Runtime) ListMetricDescriptors(context.Context) ([]*runtimeapi.MetricDescriptor, error) {
	return nil, nil
}

// ListPodSandboxMetrics returns an empty list.
func (r *Runtime) ListPodSandboxMetrics(context.Context) ([]*runtimeapi.PodSandboxMetrics, error) {
	return nil, nil
}

// selected reports whether labels have all values of selector.
func selected(labels, selector map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// sorted returns the values of objects, oldest first.
func sorted[T any](objects map[string]T, created func(T) int64) []T {
	list := make([]T, 0, len(objects))
	for _, object := range objects {
		list = append(list, object)
	}
	slices.SortFunc(list, func(a, b T) int { return int(created(a) - created(b)) })
	return list
}
