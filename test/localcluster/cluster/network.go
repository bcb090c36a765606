package cluster

import (
	"math/rand/v2"
	"net/netip"
)

// network is the loopback addresses of one cluster: one half for Services, one for pods of this
// machine. Two clusters of a machine share none, so that their ports do not collide.
type network string

// networkBits leave 512 addresses to services and 512 to pods.
const networkBits = 22

// chooseNetwork returns one of 15,000 networks at random. No file records which cluster has which:
// a collision of two clusters on a machine is too rare.
func chooseNetwork() network {
	const first, last = 1, 243 // 127.0.0.0/16 has the usual loopback address
	base := netip.AddrFrom4([4]byte{127, byte(first + rand.IntN(last-first+1)), byte(rand.IntN(64) << 2), 0})
	return network(netip.PrefixFrom(base, networkBits).String())
}

// half returns the first or the second half of the network.
func (n network) half(second bool) netip.Prefix {
	octets := netip.MustParsePrefix(string(n)).Addr().As4()
	if second {
		octets[2] += 1 << (24 - networkBits - 1)
	}
	return netip.PrefixFrom(netip.AddrFrom4(octets), networkBits+1)
}

// services returns the addresses of Services.
func (n network) services() netip.Prefix { return n.half(false) }

// pods returns the addresses of pods of this machine.
func (n network) pods() netip.Prefix { return n.half(true) }

// apiServer returns the address of the Service kubernetes.
func (n network) apiServer() netip.Addr { return n.services().Addr().Next() }
