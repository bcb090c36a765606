//go:build !linux

package container

import (
	"errors"
	"syscall"
)

// attributes returns the attributes of a container's process: signals for the terminal of this
// process do not reach it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ownHostname does nothing: a machine has one hostname.
func ownHostname(*syscall.SysProcAttr) {}

// RunAs returns an error: a machine has one hostname.
func RunAs([]string) error { return errors.ErrUnsupported }
