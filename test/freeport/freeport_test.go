package freeport

import (
	"net"
	"slices"
	"testing"
)

func TestChosenPortsDifferAndAreFree(t *testing.T) {
	ports, err := Choose(20)
	if err != nil || len(ports) != 20 {
		t.Fatalf("%v, %v, want 20 ports", ports, err)
	}
	slices.Sort(ports)
	if len(slices.Compact(slices.Clone(ports))) != 20 || ports[0] < first || ports[19] >= last {
		t.Errorf("%v, want 20 that differ, from %d to %d", ports, first, last)
	}
	for _, port := range ports {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

func TestMorePortsThanThereAreIsAnError(t *testing.T) {
	if ports, err := Choose(tries + 1); err == nil {
		t.Errorf("%d ports, want an error", len(ports))
	}
}
