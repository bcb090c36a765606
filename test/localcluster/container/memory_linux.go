package container

import (
	"fmt"
	"os"
	"strings"
)

// mostMemory returns the peak resident memory of a process since its program began, in bytes: VmHWM
// of proc(5), which counts pages of files too. It is 0 for a process that has ended.
func mostMemory(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}

// arguments returns the command line of a process, nil for one that has ended.
func arguments(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00") // each ends with 0
}
