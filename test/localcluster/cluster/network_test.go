package cluster

import (
	"net/netip"
	"testing"
)

func TestNetworksAreLoopbackAndTheirHalvesDoNotMeet(t *testing.T) {
	for range 1000 {
		n := chooseNetwork()
		services, pods := n.services(), n.pods()
		if services.Overlaps(pods) {
			t.Fatalf("%s: Services have %s and pods %s", n, services, pods)
		}
		whole := netip.MustParsePrefix(string(n))
		for _, half := range []netip.Prefix{services, pods} {
			if half != half.Masked() || !whole.Overlaps(half) || half.Bits() != whole.Bits()+1 || !half.Addr().IsLoopback() {
				t.Fatalf("%s: got a half %s", n, half)
			}
		}
		if whole.Contains(netip.MustParseAddr(loopback)) || !services.Contains(n.apiServer()) {
			t.Fatalf("%s: the usual loopback address is in it, or the API server's %s is not", n, n.apiServer())
		}
	}
}
