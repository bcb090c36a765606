package component

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Names of the components, as given to Run and on the command line.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	KWOK              = "kwok"
	Prometheus        = "prometheus"
	Services          = "services"
	Kubelet           = "kubelet"
	Kubectl           = "kubectl"
)

// Names returns every component in the order of a start: a component needs only those before it.
func Names() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, KWOK, Prometheus, Services, Kubelet, Kubectl}
}

// Known reports whether name is a component.
func Known(name string) bool { return slices.Contains(Names(), name) }

// Run makes the process the named component, with the component's own command
// line arguments, and returns its exit code. It returns when the component ended
// by itself or after an interrupt or termination signal. Some components read
// os.Args themselves, so Run sets it. An unknown name panics; ask Known before.
func Run(name string, args []string) int {
	os.Args = append([]string{name}, args...)
	if err := reportVersion(); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	switch name {
	case Etcd:
		return runEtcd(args)
	case APIServer:
		return runAPIServer(args)
	case ControllerManager:
		return runControllerManager(args)
	case Scheduler:
		return runScheduler(args)
	case KWOK:
		return runKWOK()
	case Prometheus:
		return runPrometheus(args)
	case Services:
		return runServices(args)
	case Kubelet:
		return runKubelet(args)
	case Kubectl:
		return runKubectl()
	}
	panic("component: unknown name " + name + ", want one of " + strings.Join(Names(), ", "))
}
