package cluster

import (
	"math/rand/v2"
	"net/netip"
)

// network is the loopback addresses of one cluster, of which services and pods of
// this machine each have a half. Two clusters of a machine do not share any, so
// that the ports of one are not those of the other.
type network string

// networkBits leave 512 addresses to services and 512 to pods.
const networkBits = 22

// chooseNetwork returns one of 15,000 networks. No file records which cluster has which: that
// two clusters of a machine choose the same is not worth more.
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

// services is where Services have their addresses.
func (n network) services() netip.Prefix { return n.half(false) }

// pods is where pods of this machine have theirs.
func (n network) pods() netip.Prefix { return n.half(true) }

// apiServer is the address of the Service kubernetes.
func (n network) apiServer() netip.Addr { return n.services().Addr().Next() }
