package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// identity returns when process pid was started, as the ID of the boot and the clock ticks since
// then. It is false if there is no such process, or only a zombie. A killed process of which a
// thread still ends counts as running: it may hold a port.
func identity(pid int) (startTime string, running bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is a name in parentheses that may contain anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, threads, start = 0, 17, 19 // fields 3, 20 and 22 of proc_pid_stat(5)
	if len(fields) <= start || fields[state] == "X" || fields[state] == "Z" && (fields[threads] == "0" || fields[threads] == "1") {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + ":" + fields[start], true
}

// memory returns the memory of process pid in bytes, 0 if unknown. Memory that processes share,
// such as the program itself, is divided among them, so that sums are right.
func memory(pid int) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		var kib int
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
