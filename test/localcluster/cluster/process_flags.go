package cluster

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The components of a cluster, by the names of their sub-commands.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
	prometheus        = "prometheus"
	services          = "services"
	kubelet           = "kubelet"
)

// podRange has the addresses of fake pods; no server listens there.
const podRange = "10.244.0.0/16"

// controllers are those that workloads, autoscaling and clean-up need. Volume, certificate, cloud
// and device controllers stay off; the endpoint controllers run in services.
var controllers = []string{
	"clusterrole-aggregation-controller", "cronjob-controller", "daemonset-controller", "deployment-controller",
	"disruption-controller", "endpointslice-mirroring-controller",
	"garbage-collector-controller", "horizontal-pod-autoscaler-controller", "job-controller", "namespace-controller",
	"node-lifecycle-controller", "pod-garbage-collector-controller", "replicaset-controller", "replicationcontroller-controller",
	"resourcequota-controller", "root-ca-certificate-publisher-controller", "serviceaccount-controller",
	"serviceaccount-token-controller", "statefulset-controller", "taint-eviction-controller", "ttl-after-finished-controller",
}

// kubernetesParts are the components that run from another program where a cluster has another
// release of Kubernetes: the control plane. The kubelet stays, since a control plane supports
// kubelets of earlier releases.
var kubernetesParts = []string{apiServer, controllerManager, scheduler}

// spec says how to start a component and when it is up.
type spec struct {
	name   string
	args   []string
	env    []string
	health string // URL that answers with success once it is up; "" if there is none
}

// settings are what users choose of how components run. Where no component is started, the zero
// value will do.
type settings struct {
	downscaleStabilization time.Duration
	featureGates           string   // Name=true,... of the parts of Kubernetes; "" leaves their defaults
	images                 []string // NAME=PROGRAM for images of pods of this machine
}

// gateFlags returns the flags for the feature gates, for any component of Kubernetes.
func (s settings) gateFlags() []string {
	if s.featureGates == "" {
		return nil
	}
	return []string{"--feature-gates=" + s.featureGates}
}

// specs returns the components in the order of their start.
func specs(l layout, state *State, s settings) []spec {
	p := state.Ports
	pki := func(name string) string { return l.path("pki", name) }
	servingFlags := func(port int) []string {
		return []string{
			"--bind-address=" + loopback, fmt.Sprintf("--secure-port=%d", port),
			"--tls-cert-file=" + pki("serving.crt"), "--tls-private-key-file=" + pki("serving.key"), "--profiling=false",
		}
	}
	delegationFlags := []string{
		"--kubeconfig=" + l.path("kubeconfig"), "--authentication-kubeconfig=" + l.path("kubeconfig"),
		"--authorization-kubeconfig=" + l.path("kubeconfig"), "--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400",
	}
	return []spec{{
		name: etcd,
		args: []string{
			"--data-dir=" + l.path("data", "etcd"), "--client-url=http://" + address(p.Etcd), "--peer-url=http://" + address(p.EtcdPeer),
		},
		health: "http://" + address(p.Etcd) + "/health",
	}, {
		name: prometheus,
		args: []string{
			"--listen=" + address(p.Prometheus), "--config=" + l.path("prometheus", "prometheus.yml"),
			"--data-dir=" + l.path("data", "prometheus"),
		},
		health: "http://" + address(p.Prometheus) + "/-/ready",
	}, {
		name: apiServer,
		args: slices.Concat(servingFlags(p.APIServer), s.gateFlags(), []string{
			"--advertise-address=" + loopback, "--endpoint-reconciler-type=none", "--etcd-servers=http://" + address(p.Etcd),
			"--service-cluster-ip-range=" + state.Network.services().String(), "--authorization-mode=RBAC", "--allow-privileged",
			"--token-auth-file=" + pki("tokens.csv"), "--client-ca-file=" + pki("ca.crt"),
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + pki("sa.key"),
			"--service-account-signing-key-file=" + pki("sa.key"),
			"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"), "--requestheader-allowed-names=" + proxyName,
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + pki("front-proxy-client.crt"), "--proxy-client-key-file=" + pki("front-proxy-client.key"),
			"--kubelet-client-certificate=" + pki("kubelet-client.crt"), "--kubelet-client-key=" + pki("kubelet-client.key"),
			"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
			"--enable-admission-plugins=ExtendedResourceToleration", "--shutdown-send-retry-after=false",
			"--audit-policy-file=" + l.path("data", "audit.yaml"), "--audit-log-path=" + l.path("data", "audit.log"), "--audit-log-mode=blocking",
		}),
		health: "https://" + address(p.APIServer) + "/readyz",
	}, {
		name: controllerManager,
		args: slices.Concat(servingFlags(p.ControllerManager), delegationFlags, s.gateFlags(), []string{
			"--controllers=" + strings.Join(controllers, ","), "--root-ca-file=" + pki("ca.crt"),
			"--service-account-private-key-file=" + pki("sa.key"),
			"--horizontal-pod-autoscaler-sync-period=5s",
			"--horizontal-pod-autoscaler-downscale-stabilization=" + s.downscaleStabilization.String(),
		}),
		health: "https://" + address(p.ControllerManager) + "/healthz",
	}, {
		name:   scheduler,
		args:   slices.Concat(servingFlags(p.Scheduler), delegationFlags, s.gateFlags()),
		health: "https://" + address(p.Scheduler) + "/healthz",
	}, {
		name: kwok,
		args: []string{
			"--kubeconfig=" + l.path("kubeconfig"), "--config=" + l.path("data", "stages.yaml"),
			"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=" + fakeNode + "=fake",
			"--cidr=" + podRange, "--node-ip=" + loopback, "--node-lease-duration-seconds=40",
		},
		env: []string{"KWOK_WORKDIR=" + l.path("data", "kwok")},
	}, {
		name: services,
		args: []string{"--kubeconfig=" + l.path("kubeconfig")},
	}, {
		name: kubelet,
		args: slices.Concat([]string{
			"--kubeconfig=" + l.path("kubeconfig"), "--node=" + localNode, "--root-dir=" + l.path("data", "kubelet"),
			fmt.Sprintf("--port=%d", p.Kubelet), "--tls-cert-file=" + pki("serving.crt"), "--tls-private-key-file=" + pki("serving.key"),
			"--client-ca-file=" + pki("ca.crt"), "--pod-cidr=" + state.Network.pods().String(),
		}, s.imageFlags()),
	}}
}

// imageFlags returns the flags that map images to programs.
func (s settings) imageFlags() []string {
	var flags []string
	for _, image := range s.images {
		flags = append(flags, "--image="+image)
	}
	return flags
}

// environ returns this process's environment, without variables that would point a component at
// another cluster, and with settings that keep it small: garbage is collected twice as often as
// usual, and at most four threads run.
func (s spec) environ() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "KUBECONFIG" && !strings.HasPrefix(name, "KWOK_") && !strings.HasPrefix(name, "ETCD_") {
			env = append(env, v)
		}
	}
	for _, setting := range []string{"GOGC=50", fmt.Sprintf("GOMAXPROCS=%d", min(4, runtime.NumCPU()))} {
		if name, _, _ := strings.Cut(setting, "="); os.Getenv(name) == "" {
			env = append(env, setting)
		}
	}
	return append(env, s.env...)
}
