package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/container"
)

// Options configures Serve. All are required.
type Options struct {
	Name       string // of the Node, which exists
	Kubeconfig string // path
	Dir        string // folder of the kubelet, absolute
	Port       int    // of the kubelet's API, on 127.0.0.1
	CertFile   string // to serve it with
	KeyFile    string
	ClientCA   string // path of the CA certificates of clients that may call it
	// Runtime has the images and the addresses of pods. Serve fills in Dir and APIServer.
	Runtime container.Options
}

// endWithin limits the time in which processes end with the node. This process has more time
// itself.
const endWithin = 8 * time.Second

// podsPerNode is the default limit of other nodes, too.
const podsPerNode = 110

// Serve runs the node until ctx ends, and ends its pods' processes before it returns.
func Serve(ctx context.Context, o Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	o.Runtime.Dir, o.Runtime.APIServer = filepath.Join(o.Dir, "containers"), config.Host
	runtime, err := container.New(o.Runtime)
	if err != nil {
		return fmt.Errorf("starting the container runtime: %w", err)
	}
	deps, err := dependencies(config, runtime, o)
	if err != nil {
		return err
	}
	flags, configuration, err := o.configure()
	if err != nil {
		return err
	}
	deps.Auth, _, err = app.BuildAuth("", nil, *configuration)
	if err != nil {
		return fmt.Errorf("building who may call the kubelet: %w", err)
	}
	kubelet.ContainerLogsDir = filepath.Join(o.Dir, "log") // the kubelet makes it and does not use it: see noLinks
	// The kubelet ends only with this process, not with its context.
	if err := app.RunKubelet(ctx, &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *configuration}, deps); err != nil {
		return fmt.Errorf("running the kubelet: %w", err)
	}
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	return runtime.Close(ending)
}

// configure returns the kubelet's default configuration, without all that changes the machine.
func (o Options) configure() (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	f := options.NewKubeletFlags()
	f.RootDirectory, f.CertDirectory = o.Dir, filepath.Join(o.Dir, "pki")
	f.HostnameOverride = o.Name
	// The address of the node is what its object says: a kubelet refuses loopback ones.
	f.CloudProvider = "external"

	c, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, fmt.Errorf("making the kubelet's configuration: %w", err)
	}
	c.RegisterNode = false
	c.Address, c.Port, c.ReadOnlyPort, c.HealthzPort = "127.0.0.1", int32(o.Port), 0, 0
	c.TLSCertFile, c.TLSPrivateKeyFile = o.CertFile, o.KeyFile
	c.Authentication.X509.ClientCAFile = o.ClientCA
	c.Authentication.Anonymous.Enabled, c.Authentication.Webhook.Enabled = false, false
	c.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeAlwaysAllow
	c.PodLogsDir = filepath.Join(o.Dir, "logs")
	c.MaxPods = podsPerNode
	// No server answers there: without an address, the kubelet warns of every pod.
	c.ClusterDNS, c.ClusterDomain, c.ResolverConfig = []string{"127.0.0.1"}, "cluster.local", ""
	c.CgroupsPerQOS, c.EnforceNodeAllocatable = false, nil
	c.EnableControllerAttachDetach = false
	c.MakeIPTablesUtilChains = false
	c.LocalStorageCapacityIsolation = false
	c.EvictionHard = nil
	c.ImageGCHighThresholdPercent = 100 // never
	// The kubelet watches ConfigMaps and Secrets of pods; their files follow this soon.
	c.SyncFrequency = metav1.Duration{Duration: 5 * time.Second}
	return f, c, nil
}

// dependencies returns the parts of the kubelet.
func dependencies(config *rest.Config, runtime *container.Runtime, o Options) (*kubelet.Dependencies, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	machine, err := newMachine()
	if err != nil {
		return nil, err
	}
	d := &kubelet.Dependencies{
		KubeClient: client, HeartbeatClient: client, EventClient: client.CoreV1(),
		RemoteRuntimeService: runtime, RemoteImageService: o.Runtime.Images,
		CAdvisorInterface: machine, ContainerManager: cm.NewStubContainerManager(), OOMAdjuster: oom.NewFakeOOMAdjuster(),
		OSInterface: noLinks{}, Mounter: mount.NewFakeMounter(nil), Subpather: &subpath.FakeSubpath{}, HostUtil: hostUtil{hostutil.NewHostUtil()},
		VolumePlugins:            volumePlugins(),
		TLSOptions:               &server.TLSOptions{CertFile: o.CertFile, KeyFile: o.KeyFile, ClientCAFile: o.ClientCA},
		PodStartupLatencyTracker: util.NewPodStartupLatencyTracker(), NodeStartupLatencyTracker: util.NewNodeStartupLatencyTracker(),
	}
	recordWithoutOOM(d, client, o.Name)
	return d, nil
}
