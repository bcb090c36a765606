// Package freeport chooses ports of the loopback address for servers that tests start.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
)

// Ports are below the range that Linux gives to outgoing connections (32768 to 60999), so that no
// connection takes one between its choice and its use.
const first, last, tries = 20000, 32000, 1000

// Choose returns n ports that differ and are free now.
func Choose(n int) ([]int, error) {
	var chosen []int
	for range tries {
		if len(chosen) == n {
			return chosen, nil
		}
		port := first + rand.IntN(last-first)
		if slices.Contains(chosen, port) {
			continue
		}
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue // taken
		}
		if err := listener.Close(); err != nil {
			return nil, fmt.Errorf("closing port %d: %w", port, err)
		}
		chosen = append(chosen, port)
	}
	return nil, errors.New("choosing free ports of 127.0.0.1: too many are taken")
}
