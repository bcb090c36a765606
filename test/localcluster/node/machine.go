package node

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// machine reports the processors and the memory of this machine, and nothing of its usage.
type machine struct {
	cadvisortest.Fake
	memory uint64 // bytes
}

var _ cadvisor.Interface = (*machine)(nil)

// elsewhere is the assumed memory of a machine without Linux, in bytes.
const elsewhere = 8 << 30

func newMachine() (*machine, error) {
	if runtime.GOOS != "linux" {
		return &machine{memory: elsewhere}, nil
	}
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil, fmt.Errorf("reading how much memory there is: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		var kib uint64
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
			return &machine{memory: kib << 10}, nil
		}
	}
	return nil, fmt.Errorf("reading how much memory there is: no MemTotal in /proc/meminfo")
}

// MachineInfo returns the capacity of the node.
func (m *machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{NumCores: runtime.NumCPU(), MemoryCapacity: m.memory}, nil
}

// VersionInfo returns the name of the operating system.
func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{ContainerOsVersion: runtime.GOOS}, nil
}
