package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handover bounds the time from the new holder of the lease to its first cycle on the page: its caches fill, it
// decides, and the dashboard finds it, which it tries every three seconds at most.
const handover = 8 * time.Second

// TestThePageGoesOnWithTheNextLeader has the shipped installation of two managers in the local cluster, and the
// page open by way of a forwarded port. The process that leads is killed, and then the pod that leads is deleted.
func TestThePageGoesOnWithTheNextLeader(t *testing.T) {
	if !*live {
		t.Skip("the local cluster runs with -live alone")
	}
	c := installed(t)
	dashboard := started(t, []string{"KUBECONFIG=" + c.kubeconfig}, filepath.Join(c.root, "bin", "wva"), "dashboard", "--no-open", "--system-namespace", "wva")
	// The page is open before there is a manager that has decided.
	b := opened(t, dashboard.says(`(http://127\.0\.0\.1:\d+/\?token=\S+)`), look{}, 4*time.Minute)
	b.waitFor("document.querySelector('.rows .level1')", 2*time.Minute)
	const shown = "document.querySelector('#source .where').textContent"
	for _, end := range []struct {
		name string
		of   func(pod string)
	}{
		{"its process is killed", c.kill},
		{"its pod is deleted", func(pod string) { c.kubectl("-n", "wva", "delete", "pod", pod, "--grace-period=0", "--force") }},
	} {
		holder, pod := c.leader()
		b.waitFor(fmt.Sprintf("%s === %q && document.getElementById('banner').hidden", shown, "pod wva/"+pod), 30*time.Second)
		eval[any](b, `window.said = ""; window.saying = setInterval(() => { window.said ||= document.getElementById("banner").innerText; }, 20)`)
		end.of(pod)
		ended := time.Now()
		next, nextPod := holder, pod
		for next == holder || next == "" {
			if time.Since(ended) > time.Minute {
				t.Fatalf("%s: no other manager leads after a minute", end.name)
			}
			time.Sleep(100 * time.Millisecond) // between two looks at the lease
			next, nextPod = c.leader()
		}
		leads := time.Now()
		b.waitFor(fmt.Sprintf("%s === %q && document.getElementById('banner').hidden && document.querySelector('.rows .level1')", shown, "pod wva/"+nextPod), 2*time.Minute)
		took, said := time.Since(leads), eval[string](b, "clearInterval(window.saying), window.said")
		t.Logf("%s: the next leader had the lease after %.1f s, and was on the page %.1f s later; meanwhile it said %q", end.name, leads.Sub(ended).Seconds(), took.Seconds(), said)
		// A leader that is told to end gives up the lease, and the next one may decide before a page asks again.
		if lasts := leads.Sub(ended); lasts > 5*time.Second && !strings.HasPrefix(said, "the manager does not answer since") {
			t.Errorf("%s: there was no leader for %s, and the page said %q", end.name, lasts, said)
		}
		if took > handover {
			t.Errorf("%s: the page shows the next leader %s after it holds the lease, want %s at most", end.name, took, handover)
		}
	}
}

// localCluster is the local cluster with two managers, and a model whose pods never start.
type localCluster struct {
	t                *testing.T
	root, kubeconfig string
}

func installed(t *testing.T) *localCluster {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".local", "browser")
	c := &localCluster{t: t, root: root, kubeconfig: filepath.Join(dir, "kubeconfig")}
	program := filepath.Join(root, ".local", "bin", "localcluster")
	t.Cleanup(func() { c.run("", program, "down", "--dir", dir) })
	c.run("", program, "up", "--dir", dir, "--image", "workload-variant-autoscaler="+filepath.Join(root, "bin", "manager"))
	c.kubectl("create", "namespace", "wva")
	c.kubectl("create", "deployment", "chat", "--image", "localhost/absent", "--replicas", "1")
	c.run(`{
		"fullnameOverride": "wva", "interval": "5s", "collectorBackend": "pods", "prometheus": {"baseURL": ""}, "externalMetrics": {"enabled": false},
		"controller": {"replicas": 2, "extraArgs": ["--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s", "--leader-election-retry-period=2s"], "image": {"repository": "localhost/workload-variant-autoscaler", "tag": "dev"}},
		"models": [{"modelID": "org/chat", "namespace": "default", "variants": [{"name": "chat", "accelerator": "L40S", "cost": "1", "maxReplicas": 2, "actuation": "advisory"}]}]
	}`, filepath.Join(root, ".local", "bin", "helm"), "install", "wva", filepath.Join(root, "charts", "workload-variant-autoscaler"), "--namespace", "wva",
		"--kubeconfig", c.kubeconfig, "--values", "-")
	return c
}

// run runs a program to its end.
func (c *localCluster) run(stdin, program string, args ...string) string {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.t.Context()), 3*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, program, args...)
	command.Stdin = strings.NewReader(stdin)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		c.t.Fatalf("%s %q: %v: %s: run make browser LIVE=1, which builds what it needs", filepath.Base(program), args, err, said.String())
	}
	return string(out)
}

func (c *localCluster) kubectl(args ...string) string {
	c.t.Helper()
	return c.run("", filepath.Join(c.root, ".local", "bin", "kubectl"), append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
}

// leader returns the holder of the lease, and its pod.
func (c *localCluster) leader() (holder, pod string) {
	c.t.Helper()
	holder = c.kubectl("-n", "wva", "get", "lease", "72dd1cf1.llm-d.ai", "-o", "jsonpath={.spec.holderIdentity}")
	pod, _, _ = strings.Cut(holder, "_")
	return holder, pod
}

// kill kills the manager of a pod, as the kernel does where memory runs out. Its process is the one that listens on
// the address of the pod.
func (c *localCluster) kill(pod string) {
	c.t.Helper()
	address := c.kubectl("-n", "wva", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(line, []byte(filepath.Join(c.root, "bin", "manager")+"\x00")) || !bytes.Contains(line, []byte("="+address+":")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err := errors.Join(err, syscall.Kill(pid, syscall.SIGKILL)); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	c.t.Fatalf("no process on this machine is the manager of pod %s at %s", pod, address)
}
