package services

import "net/netip"

// The first octet of an address of this machine, and the one that replaces it in an EndpointSlice.
const (
	machineOctet = 127
	sliceOctet   = 10
)

// published returns the form of an address in an EndpointSlice: the same, unless it is one of this
// machine.
func published(address string) string { return swap(address, machineOctet, sliceOctet) }

// reachable returns the address for a published one. From addresses of pods that are not of this
// machine it makes ones at which no server answers either.
func reachable(address string) string { return swap(address, sliceOctet, machineOctet) }

// swap replaces the first octet of an IPv4 address if it is from.
func swap(address string, from, to byte) string {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is4() {
		return address
	}
	octets := a.As4()
	if octets[0] != from {
		return address
	}
	octets[0] = to
	return netip.AddrFrom4(octets).String()
}
