//go:build !linux

package cluster

import (
	"os/exec"
	"strconv"
	"strings"
)

// identity returns when process pid was started, as ps(1) prints it. It is false if there is no
// such process, or only a zombie.
func identity(pid int) (startTime string, running bool) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, start, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return "", false
	}
	return strings.TrimSpace(start), true
}

// memory returns the resident memory of process pid in bytes, 0 if unknown.
func memory(pid int) int {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0
	}
	return kib * 1024
}
