package cluster

import (
	"context"
	_ "embed" // for the files that the components read
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// portAttempts is how often a start is tried while another program takes a chosen port before its
// component does.
const portAttempts = 3

//go:embed stages.yaml
var stages []byte

//go:embed audit.yaml
var auditPolicy []byte

// UpOptions say which cluster Up starts.
type UpOptions struct {
	Dir                    string        // the cluster's folder
	Executable             string        // the binary whose sub-commands the components are, absolute
	Kubernetes             string        // the same for the parts of Kubernetes, of another release; "" means Executable
	DownscaleStabilization time.Duration // default of every HorizontalPodAutoscaler of the cluster
	FeatureGates           string        // Name=true,... of the parts of Kubernetes, "" for their defaults
	Images                 []string      // NAME=PROGRAM: the program that pods without accelerators run, by the name of their image
	Out                    io.Writer     // progress, for a person to read
}

// up is one start of a cluster, under its lock.
type up struct {
	UpOptions
	layout
	state *State
	specs []spec
}

// Up starts the cluster in a folder and returns when it can be used: it starts the components that
// do not run and leaves the others alone. After a failure the started components keep running, and
// the next Up continues from there.
func Up(ctx context.Context, o UpOptions) error {
	l, err := newLayout(o.Dir)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, l, o.Out)
	if err != nil {
		return err
	}
	defer unlock()
	u := &up{UpOptions: o, layout: l}
	if u.state, err = loadOrNew(l); err != nil {
		return err
	}
	if err := u.prepare(); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := u.bring(ctx)
		taken := (*portTakenError)(nil)
		if err == nil || !errors.As(err, &taken) || attempt == portAttempts {
			return err
		}
		fmt.Fprintln(o.Out, "another program has the port of", taken.name+"; starting everything with other ports")
		if err := u.forgetPorts(ctx); err != nil {
			return err
		}
	}
}

// prepare makes the folders, the state, the link to kubectl and the certificates of a cluster.
func (u *up) prepare() error {
	if u.state.Network == "" {
		return fmt.Errorf("the cluster in %s is of an earlier version: end it with down", u.dir)
	}
	if len(u.state.Processes) == 0 && u.state.Ports == (ports{}) {
		if err := u.refuseForeign(); err != nil {
			return err
		}
	}
	if err := u.makeDirs(); err != nil {
		return err
	}
	// The state is written before any file that "down" has to remove.
	if err := u.state.save(u.layout); err != nil {
		return err
	}
	if target, err := os.Readlink(u.state.Kubectl); err != nil || target != u.Executable {
		if err := os.Remove(u.state.Kubectl); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing the kubectl link: %w", err)
		}
		if err := os.Symlink(u.Executable, u.state.Kubectl); err != nil {
			return fmt.Errorf("linking kubectl: %w", err)
		}
	}
	return makePKI(u.layout, u.state.Network)
}

// refuseForeign keeps a first start from using, and a later "down" from removing,
// folders that were not made for a cluster.
func (u *up) refuseForeign() error {
	if _, err := os.Stat(u.path(stateFile)); err == nil {
		return nil // a start that ended before its first process
	}
	for _, name := range []string{"data", "pki", "prometheus"} {
		if _, err := os.Stat(u.path(name)); err == nil {
			return fmt.Errorf("%s is there but %s is not: choose a folder without it, or remove it", u.path(name), u.path(stateFile))
		}
	}
	return nil
}

// bring starts the components that do not run and waits for all.
func (u *up) bring(ctx context.Context) error {
	if err := u.settlePorts(ctx); err != nil {
		return err
	}
	u.specs = specs(u.layout, u.state, settings{u.DownscaleStabilization, u.FeatureGates, u.Images})
	missing := u.missing()
	if len(missing) > 0 {
		if err := u.configure(); err != nil {
			return err
		}
	}
	c, err := newClient(u.layout, u.state.APIServer)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := u.startMissing(ctx, c, missing); err != nil {
		return err
	}
	if err := createNodes(ctx, c); err != nil {
		return err
	}
	// The Node has to exist when the kubelet starts.
	if slices.Contains(missing, kubelet) {
		if err := u.start(kubelet); err != nil {
			return err
		}
	}
	for _, name := range []string{prometheus, controllerManager, scheduler} {
		if err := u.await(ctx, c, name); err != nil {
			return err
		}
	}
	ready := func(ctx context.Context) error { return nodesReady(ctx, c) }
	if err := u.wait(ctx, "the nodes", []string{kwok, controllerManager, kubelet}, ready); err != nil {
		return err
	}
	u.say(missing, time.Since(begin))
	return nil
}

// startMissing starts the missing components in groups, each once the component that it needs
// answers.
func (u *up) startMissing(ctx context.Context, c *client, missing []string) error {
	for _, group := range []struct {
		names []string
		await string // answers before the next group starts, "" for nothing
	}{
		{[]string{etcd, prometheus}, etcd},
		{[]string{apiServer}, apiServer},
		{[]string{controllerManager, scheduler, kwok, services}, ""},
	} {
		for _, name := range group.names {
			if !slices.Contains(missing, name) {
				continue
			}
			if err := u.start(name); err != nil {
				return err
			}
		}
		if group.await == "" {
			continue
		}
		if err := u.await(ctx, c, group.await); err != nil {
			return err
		}
	}
	return nil
}

func (u *up) say(started []string, took time.Duration) {
	switch len(started) {
	case 0:
		fmt.Fprintln(u.Out, "everything is running already")
	case len(u.specs):
		fmt.Fprintf(u.Out, "the cluster is up after %s\n", took.Round(100*time.Millisecond))
	default:
		fmt.Fprintf(u.Out, "started again: %s, after %s\n", strings.Join(started, ", "), took.Round(100*time.Millisecond))
	}
	fmt.Fprintf(u.Out, "  export KUBECONFIG=%s PATH=%s:$PATH\n  Prometheus: %s\n",
		u.state.Kubeconfig, strings.Join(u.programs(), string(filepath.ListSeparator)), u.state.Prometheus)
}

// programs returns the folders of the programs that users of the cluster run: those of its images,
// kubectl, and the programs beside this one.
func (u *up) programs() []string {
	var out []string
	for _, image := range u.Images {
		_, program, _ := strings.Cut(image, "=")
		out = append(out, filepath.Dir(program))
	}
	out = append(out, filepath.Dir(u.state.Kubectl), filepath.Dir(u.Executable))
	slices.Sort(out)
	return slices.Compact(out)
}

// missing returns the names of the components that do not run.
func (u *up) missing() []string {
	var names []string
	for _, s := range u.specs {
		if p, recorded := u.state.process(s.name); !recorded || !p.alive() {
			names = append(names, s.name)
		}
	}
	return names
}

// start starts a component and records it at once, so that "down" finds it in any case.
func (u *up) start(name string) error {
	fmt.Fprintln(u.Out, "starting", name)
	p, err := launch(u.program(name), u.spec(name), u.log(name))
	if err != nil {
		return err
	}
	u.state.record(p)
	return u.state.save(u.layout)
}

// program returns the path of the program of a component: the one of another release of Kubernetes
// where there is one, else this one.
func (o UpOptions) program(component string) string {
	if o.Kubernetes != "" && slices.Contains(kubernetesParts, component) {
		return o.Kubernetes
	}
	return o.Executable
}

func (u *up) spec(name string) spec {
	return u.specs[slices.IndexFunc(u.specs, func(s spec) bool { return s.name == name })]
}

// configure writes the files that the components read at their start.
func (u *up) configure() error {
	u.state.APIServer = "https://" + address(u.state.Ports.APIServer)
	u.state.Prometheus = "http://" + address(u.state.Ports.Prometheus)
	if err := u.state.save(u.layout); err != nil {
		return err
	}
	if err := writeKubeconfig(u.layout, u.state.APIServer); err != nil {
		return err
	}
	configuration := fmt.Sprintf("global:\n  scrape_interval: 5s\n  scrape_timeout: 4s\nscrape_config_files:\n- %q\n",
		u.path("prometheus", "scrape.d", "*.yml"))
	for path, content := range map[string][]byte{
		u.path("data", "stages.yaml"):          stages,
		u.path("data", "audit.yaml"):           auditPolicy,
		u.path("prometheus", "prometheus.yml"): []byte(configuration),
	} {
		if err := replace(path, content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// settlePorts keeps the recorded ports if they are free for the components that do not run.
// Otherwise it ends the other components and chooses new ports for all.
func (u *up) settlePorts(ctx context.Context) error {
	if u.state.Ports != (ports{}) {
		p := u.state.Ports
		wanted := map[string][]int{
			etcd: {p.Etcd, p.EtcdPeer}, apiServer: {p.APIServer}, controllerManager: {p.ControllerManager},
			scheduler: {p.Scheduler}, prometheus: {p.Prometheus}, kubelet: {p.Kubelet},
		}
		available := true
		for name, ports := range wanted {
			if process, recorded := u.state.process(name); recorded && process.alive() {
				continue
			}
			available = available && !slices.ContainsFunc(ports, func(port int) bool { return !free(port) })
		}
		if available {
			return nil
		}
		fmt.Fprintln(u.Out, "another program has a port of the cluster; starting everything with other ports")
		if err := u.forgetPorts(ctx); err != nil {
			return err
		}
	}
	chosen, err := choosePorts()
	if err != nil {
		return err
	}
	u.state.Ports = chosen
	return u.state.save(u.layout)
}

// forgetPorts ends all components, whose ports depend on each other. The next start chooses new
// ports.
func (u *up) forgetPorts(ctx context.Context) error {
	if err := stop(ctx, u.state.Processes, u.Out); err != nil {
		return err
	}
	u.state.Ports = ports{}
	return nil
}
