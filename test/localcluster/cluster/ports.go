package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are below the range that Linux gives to outgoing connections, so no connection takes one
// between its choice and its use.
const (
	firstPort = 20000
	lastPort  = 32000
	portTries = 1000
)

// loopback is the only address on which components listen.
const loopback = "127.0.0.1"

// ports are the TCP ports of a cluster.
type ports struct {
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	APIServer         int `json:"apiServer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
	Prometheus        int `json:"prometheus"`
	Kubelet           int `json:"kubelet"`
}

// choosePorts returns ports that differ and are free now.
func choosePorts() (ports, error) {
	var p ports
	taken := map[int]bool{}
	for _, port := range []*int{&p.Etcd, &p.EtcdPeer, &p.APIServer, &p.ControllerManager, &p.Scheduler, &p.Prometheus, &p.Kubelet} {
		for try := 0; *port == 0; try++ {
			if try == portTries {
				return ports{}, fmt.Errorf("choosing ports: none of %d tried ports of %s is free", portTries, loopback)
			}
			candidate := firstPort + rand.IntN(lastPort-firstPort)
			if !taken[candidate] && free(candidate) {
				*port, taken[candidate] = candidate, true
			}
		}
	}
	return p, nil
}

func free(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
