//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// hostile is the image of the pods that attack: this test's own program, with one of the
// commands.
const (
	hostile            = "hostile"
	hostilePages       = "hostile-pages"
	hostileConnections = "hostile-connections"
)

// What hostile pods log.
const (
	hostilePagesSent = "bytes of a status line sent:"
	connectionsHeld  = "every connection was opened once"
)

// The connections of all pods together are 600 for each port.
const (
	connectingPods     = 10
	connectionsPerPort = 60
)

// runHostile runs a command of a hostile pod. It returns false where args are none.
func runHostile(args []string) (err error, ran bool) {
	if len(args) < 2 {
		return nil, false
	}
	var run func() error
	switch args[0] {
	case hostilePages:
		run = func() error { return servePages(strings.TrimPrefix(args[1], "--listen=")) }
	case hostileConnections:
		run = func() error { return holdOpen(strings.TrimPrefix(args[1], "--from="), args[2:]) }
	default:
		return nil, false
	}
	if err := yieldCPU(); err != nil {
		return err, true
	}
	return run(), true
}

// yieldCPU lets every other process of the machine go first. The node gives each pod the same part
// of the CPU, where a real one gives a pod that requests none, as one that attacks, next to nothing
// while others want it.
func yieldCPU() error {
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, 19); err != nil { // every thread of this process
		return fmt.Errorf("lowering the priority of this process: %w", err)
	}
	return nil
}

// servePages answers each request with a status line of 10 MB, in which each byte takes
// four where it is quoted.
func servePages(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	answer := append(bytes.Repeat([]byte{1}, 10<<20-1024), "\r\n\r\n"...)
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				n, err := conn.Write(answer) // the manager may not want all
				fmt.Println(hostilePagesSent, n, err)
			}
		}()
	}
}

// holdOpen opens connections from an address to each of some others, sends 1 MB of
// headers without their end on each, and does so again when one is closed.
func holdOpen(from string, to []string) error {
	local, err := net.ResolveTCPAddr("tcp", from)
	if err != nil {
		return err
	}
	headers := []byte("GET /readyz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 1<<20))
	var opened atomic.Int64
	var group sync.WaitGroup
	for _, address := range to {
		for range connectionsPerPort {
			group.Go(func() {
				for first := true; ; {
					err := holdConnection(&net.Dialer{LocalAddr: local, Timeout: 5 * time.Second}, address, headers)
					if first && err == nil {
						first = false
						if opened.Add(1) == int64(len(to)*connectionsPerPort) {
							fmt.Println(connectionsHeld)
						}
					}
					time.Sleep(3 * time.Second)
				}
			})
		}
	}
	group.Wait()
	return errors.New("it was given no address")
}

// holdConnection opens a connection, sends headers, and waits until the other side
// closes it. It is an error that it cannot be opened.
func holdConnection(dialer *net.Dialer, address string, headers []byte) error {
	conn, err := dialer.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if strings.HasSuffix(address, ":8443") {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := conn.Write(headers); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until it is closed
	}
	return nil
}
