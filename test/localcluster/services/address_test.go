package services

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAddressesOfThisMachineStandAsOthers(t *testing.T) {
	for _, c := range []struct{ address, published, reachable string }{
		{"127.9.8.7", "10.9.8.7", "127.9.8.7"},
		{"127.0.0.1", "10.0.0.1", "127.0.0.1"},
		{"10.244.3.4", "10.244.3.4", "127.244.3.4"}, // of a pod that does not run: no server listens there either
		{"192.0.2.1", "192.0.2.1", "192.0.2.1"},
		{"::1", "::1", "::1"},
		{"", "", ""},
	} {
		if got := published(c.address); got != c.published {
			t.Errorf("%s: published as %s, want %s", c.address, got, c.published)
		}
		if got := reachable(c.published); got != c.reachable {
			t.Errorf("%s: reached at %s, want %s", c.published, got, c.reachable)
		}
	}
}

func TestControllersSeePublishedAddresses(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: "127.9.8.7", PodIPs: []corev1.PodIP{{IP: "127.9.8.7"}}}}
	seen, err := publish(pod)
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.(*corev1.Pod).Status; got.PodIP != "10.9.8.7" || got.PodIPs[0].IP != "10.9.8.7" {
		t.Errorf("got %s and %v, want 10.9.8.7", got.PodIP, got.PodIPs)
	}
}
