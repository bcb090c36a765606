package container

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod, without its containers.
type sandbox struct {
	id      string
	config  *runtimeapi.PodSandboxConfig
	created int64 // ns since 1970
	// address is the pod's own; not valid for a pod of the host's network.
	address netip.Addr
	stopped bool // under Runtime.mu
}

// options returns the namespace options of the pod.
func (s *sandbox) options() *runtimeapi.NamespaceOption {
	return s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) hostNetwork() bool {
	return s.options().GetNetwork() == runtimeapi.NamespaceMode_NODE
}

func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.stopped {
		return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return runtimeapi.PodSandboxState_SANDBOX_READY
}

// RunPodSandbox adds a pod and gives it an address, unless it is in the host's network.
func (r *Runtime) RunPodSandbox(_ context.Context, config *runtimeapi.PodSandboxConfig, _ string) (string, error) {
	s := &sandbox{id: r.newID("pod"), config: config, created: time.Now().UnixNano()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.hostNetwork() {
		address, err := r.freeAddress()
		if err != nil {
			return "", err
		}
		s.address = address
	}
	r.sandboxes[s.id] = s
	return s.id, nil
}

// freeAddress returns the first address that no pod has. The caller holds mu.
func (r *Runtime) freeAddress() (netip.Addr, error) {
	taken := map[netip.Addr]bool{}
	for _, s := range r.sandboxes {
		if !s.stopped {
			taken[s.address] = true
		}
	}
	for a := r.Addresses.Addr().Next(); r.Addresses.Contains(a); a = a.Next() {
		if !taken[a] {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("choosing a pod's address: all of %s are taken", r.Addresses)
}

// StopPodSandbox ends the pod's containers and frees its address.
func (r *Runtime) StopPodSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	s := r.sandboxes[id]
	containers := r.of(id)
	r.mu.Unlock()
	if s == nil {
		return nil // as the interface requires for an unknown pod
	}
	for _, c := range containers {
		if err := r.StopContainer(ctx, c.id, 0); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.stopped = true
	return nil
}

// of returns the containers of a sandbox. The caller holds mu.
func (r *Runtime) of(sandbox string) []*container {
	return slices.DeleteFunc(slices.Collect(maps.Values(r.containers)), func(c *container) bool { return c.sandbox.id != sandbox })
}

// RemovePodSandbox ends and forgets a pod and its containers.
func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	if err := r.StopPodSandbox(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	containers := r.of(id)
	r.mu.Unlock()
	for _, c := range containers {
		if err := r.RemoveContainer(ctx, c.id); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sandboxes, id)
	return nil
}

// PodSandboxStatus returns the status of a pod.
func (r *Runtime) PodSandboxStatus(_ context.Context, id string, _ bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.findSandbox(id)
	if err != nil {
		return nil, err
	}
	status := &runtimeapi.PodSandboxStatus{
		Id: s.id, Metadata: s.config.Metadata, State: s.state(), CreatedAt: s.created,
		Network:     &runtimeapi.PodSandboxNetworkStatus{},
		Linux:       &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: s.options()}},
		Labels:      s.config.Labels,
		Annotations: s.config.Annotations,
	}
	if s.address.IsValid() {
		status.Network.Ip = s.address.String()
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: status}, nil
}

// findSandbox returns a pod, or an error where there is none of that id. The caller holds mu.
func (r *Runtime) findSandbox(id string) (*sandbox, error) {
	s := r.sandboxes[id]
	if s == nil {
		return nil, notFound("pod", id)
	}
	return s, nil
}

// ListPodSandbox returns the pods that match filter, oldest first.
func (r *Runtime) ListPodSandbox(_ context.Context, filter *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*runtimeapi.PodSandbox
	for _, s := range sorted(r.sandboxes, func(s *sandbox) int64 { return s.created }) {
		if want := filter.GetId(); want != "" && want != s.id {
			continue
		}
		if want := filter.GetState(); want != nil && want.State != s.state() {
			continue
		}
		if !selected(s.config.Labels, filter.GetLabelSelector()) {
			continue
		}
		list = append(list, &runtimeapi.PodSandbox{
			Id: s.id, Metadata: s.config.Metadata, State: s.state(), CreatedAt: s.created, Labels: s.config.Labels, Annotations: s.config.Annotations,
		})
	}
	return list, nil
}
