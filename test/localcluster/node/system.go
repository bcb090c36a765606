package node

import (
	"os"
	"strings"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
)

// systemLogs is the folder in which a kubelet keeps links to the logs of the machine's containers.
// The pods of this node have none there.
const systemLogs = "/var/log/containers/"

// noLinks is the operating system without those links.
type noLinks struct{ kubecontainer.RealOS }

func (o noLinks) Symlink(target, link string) error {
	if strings.HasPrefix(link, systemLogs) {
		return nil
	}
	return o.RealOS.Symlink(target, link)
}

func (o noLinks) Remove(path string) error {
	if strings.HasPrefix(path, systemLogs) {
		return os.ErrNotExist
	}
	return o.RealOS.Remove(path)
}

func (o noLinks) Glob(pattern string) ([]string, error) {
	if strings.HasPrefix(pattern, systemLogs) {
		return nil, nil
	}
	return o.RealOS.Glob(pattern)
}

// hostUtil mounts nothing.
type hostUtil struct{ *hostutil.HostUtil }

func (hostUtil) MakeRShared(string) error { return nil }

// recordWithoutOOM makes the kubelet send events, and keeps it from watching the kernel's log for
// processes that ran out of memory, which only root may read. The kubelet does not watch while its
// recorder is a FakeRecorder, and checks that before it makes anything else. It asks for a tracer
// next, and from then on the recorder sends events.
func recordWithoutOOM(d *kubelet.Dependencies, client kubernetes.Interface, name string) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	d.Recorder = &record.FakeRecorder{}
	d.TracerProvider = &tracers{TracerProvider: noop.NewTracerProvider(), first: func() {
		d.Recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: name})
	}}
}

// tracers makes tracers that do nothing, and calls first at each request for one.
type tracers struct {
	trace.TracerProvider
	first func()
}

func (t *tracers) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	t.first()
	return t.TracerProvider.Tracer(name, options...)
}
