package container

import (
	"fmt"
	"os"
	"syscall"
)

// attributes returns the attributes of a container's process: signals for the terminal of this
// process do not reach it, and the kernel kills it when this process ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownHostname lets a process have a hostname of its own. Only root may set one; any other user
// becomes root of a user namespace, which not every machine allows.
func ownHostname(a *syscall.SysProcAttr) {
	a.Cloneflags |= syscall.CLONE_NEWUTS
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
}

// RunAs makes this process, which was started with ownHostname, a program with a hostname: args are
// the hostname, the program and its arguments. It returns only after an error.
func RunAs(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("got %d arguments, want a hostname and a program", len(args))
	}
	if err := syscall.Sethostname([]byte(args[0])); err != nil {
		return fmt.Errorf("setting the hostname %s: %w", args[0], err)
	}
	if err := syscall.Exec(args[1], args[1:], os.Environ()); err != nil { //nolint:gosec // what runs is what a pod says
		return fmt.Errorf("running %s: %w", args[1], err)
	}
	panic("container: a process that became another program goes on")
}
