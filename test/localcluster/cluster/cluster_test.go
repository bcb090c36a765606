package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// binaryVariable names the binary under test; without it, the one that make
	// builds is taken.
	binaryVariable = "LOCALCLUSTER"
	builtBinary    = "../../../.local/bin/localcluster"
	// startupDelay is long enough to be seen between two polls of a busy machine.
	startupDelay = 6 * time.Second
	patience     = 90 * time.Second
)

// TestCluster brings one cluster up and shows what it is for. Its parts run in
// order, on the same cluster.
func TestCluster(t *testing.T) {
	c := bringUp(t)
	t.Run("PodsAreReadyAfterTheirStartupDelay", c.startup)
	t.Run("AutoscalerFollowsAnExternalMetric", c.autoscale)
	t.Run("PrometheusScrapesWhatAReloadAdds", c.scrape)
	t.Run("TheAuditLogHasWhatServiceAccountsDo", c.audit)
	t.Run("PodsOfThisMachineRun", c.local)
	t.Run("OtherImagesSayThatTheyDoNotRun", c.foreign)
	t.Run("UpChangesNothingThatRuns", c.upAgain)
	t.Run("UpRestartsWhatDied", c.restart)
	t.Run("DownEndsEverything", c.down)
}

// running is a cluster under test.
type running struct {
	binary string
	dir    string
	images []string // flags of up
	state  *State
}

func bringUp(t *testing.T) *running {
	t.Helper()
	binary := os.Getenv(binaryVariable)
	if binary == "" {
		binary = builtBinary
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("no built binary: set %s or build %s", binaryVariable, builtBinary)
	}
	c := &running{binary: binary, dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			for _, log := range glob(t, filepath.Join(c.dir, "log", "*.log")) {
				t.Log(tail(log))
			}
		}
		c.run(t, "down")
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.images = []string{"--image", "tested=" + program}
	c.run(t, "up", c.images...)
	c.load(t)
	return c
}

func (c *running) startup(t *testing.T) {
	c.apply(t, "testdata/deployment.yaml", "NAME", "slow", "REPLICAS", "3", "DELAY", startupDelay.String())
	c.eventually(t, func() error { return c.want(t, "deployment/slow", "{.status.readyReplicas}", "3") })
	var pods struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				StartTime  time.Time
				PodIP      string
				Conditions []struct {
					Type               string
					LastTransitionTime time.Time
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(c.kubectl(t, "", "get", "pods", "-l", "app=slow", "-o", "json")), &pods); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 3 {
		t.Errorf("got %d pods, want 3", len(pods.Items))
	}
	for _, pod := range pods.Items {
		if pod.Status.PodIP == "" {
			t.Errorf("pod %s has no address", pod.Metadata.Name)
		}
		for _, condition := range pod.Status.Conditions {
			// Both times are whole seconds, so their difference may be one short.
			took := condition.LastTransitionTime.Sub(pod.Status.StartTime)
			if condition.Type == "Ready" && took < startupDelay-time.Second {
				t.Errorf("pod %s was ready after %s, want %s", pod.Metadata.Name, took, startupDelay)
			}
		}
	}
	c.kubectl(t, "", "delete", "deployment", "slow")
	c.eventually(t, func() error { return c.want(t, "pods", "{.items[*].metadata.name}", "") })
}

func (c *running) autoscale(t *testing.T) {
	metric := serveExternal(t, c.state)
	metric.wanted.Store(1)
	ca := base64.StdEncoding.EncodeToString([]byte(readFile(t, c.state.CACert)))
	c.apply(t, "testdata/deployment.yaml", "NAME", "scaled", "REPLICAS", "1", "DELAY", "0s")
	c.apply(t, "testdata/hpa.yaml", "PORT", fmt.Sprint(metric.port), "CA", ca)
	active := `{.status.conditions[?(@.type=="ScalingActive")].status}`
	c.eventually(t, func() error { return c.want(t, "hpa/scaled", active, "True") })
	for _, replicas := range []int64{3, 1} {
		metric.wanted.Store(replicas)
		c.eventually(t, func() error {
			return c.want(t, "deployment/scaled", "{.spec.replicas} {.status.readyReplicas}", fmt.Sprintf("%d %d", replicas, replicas))
		})
	}
	c.kubectl(t, "", "delete", "hpa/scaled", "deployment/scaled", "apiservice/v1beta1.external.metrics.k8s.io")
}

func (c *running) scrape(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "answer 42") }))
	t.Cleanup(target.Close)
	job := fmt.Sprintf("scrape_configs:\n- job_name: test\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  static_configs:\n  - targets: [%q]\n",
		strings.TrimPrefix(target.URL, "http://"))
	if err := os.WriteFile(filepath.Join(c.state.PrometheusConfigDir, "test.yml"), []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(c.state.Prometheus+"/-/reload", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal("reloading:", response.Status)
	}
	c.eventually(t, func() error {
		response, err := http.Get(c.state.Prometheus + "/api/v1/query?query=answer")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(body), `"42"`) {
			return fmt.Errorf("got %s, %w, want 42", body, err)
		}
		return nil
	})
}

func (c *running) audit(t *testing.T) {
	c.kubectl(t, "", "create", "configmap", "by-the-administrator")
	c.kubectl(t, "", "create", "role", "writer", "--verb=create,get", "--resource=configmaps")
	c.kubectl(t, "", "create", "rolebinding", "writer", "--role=writer", "--serviceaccount=default:default")
	token := strings.TrimSpace(c.kubectl(t, "", "create", "token", "default"))
	as := []string{"--server", c.state.APIServer, "--certificate-authority", c.state.CACert, "--token", token, "--kubeconfig", os.DevNull}
	for _, args := range [][]string{{"create", "configmap", "by-an-account"}, {"get", "configmap", "by-an-account"}} {
		if out, err := exec.Command(c.state.Kubectl, append(as, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	var got []string
	for line := range strings.Lines(readFile(t, c.state.AuditLog)) {
		var e struct {
			Verb      string
			ObjectRef struct{ Resource, Name string }
			User      struct{ Username string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		got = append(got, fmt.Sprint(e.User.Username, " ", e.Verb, " ", e.ObjectRef.Resource, " ", e.ObjectRef.Name))
	}
	for _, verb := range []string{"create", "get"} {
		if want := "system:serviceaccount:default:default " + verb + " configmaps by-an-account"; !slices.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if slices.ContainsFunc(got, func(line string) bool { return !strings.HasPrefix(line, "system:serviceaccount:default:default ") }) {
		t.Errorf("got %q, want nothing of others", got)
	}
}

func (c *running) upAgain(t *testing.T) {
	before := readFile(t, filepath.Join(c.dir, stateFile))
	if out := c.run(t, "up", c.images...); !strings.Contains(out, "running already") {
		t.Errorf("got %q, want it to say that all runs", out)
	}
	if after := readFile(t, filepath.Join(c.dir, stateFile)); after != before {
		t.Errorf("got state %s, want %s", after, before)
	}
}

func (c *running) restart(t *testing.T) {
	died := []string{etcd, apiServer, scheduler, services, kubelet}
	old := slices.Clone(c.state.Processes)
	c.kubectl(t, "", "create", "configmap", "kept")
	afterwards := c.localThroughRestart(t)
	for _, p := range old {
		if slices.Contains(died, p.Name) {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			c.eventually(t, func() error {
				if p.alive() {
					return fmt.Errorf("%s still runs", p.Name)
				}
				return nil
			})
		}
	}
	c.run(t, "up", c.images...)
	c.load(t)
	for i, p := range c.state.Processes {
		if restarted := p != old[i]; restarted != slices.Contains(died, p.Name) {
			t.Errorf("%s started again: %t", p.Name, restarted)
		}
	}
	c.kubectl(t, "", "get", "configmap", "kept")
	afterwards()
}

func (c *running) down(t *testing.T) {
	c.run(t, "down")
	for _, p := range c.state.Processes {
		if p.alive() {
			t.Errorf("%s still runs", p.Name)
		}
	}
	for _, name := range []string{stateFile, "kubeconfig", "data", "pki", "log"} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

func (c *running) load(t *testing.T) {
	t.Helper()
	state, err := Load(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	c.state = state
}

// run calls a sub-command of the binary and returns its output.
func (c *running) run(t *testing.T, name string, flags ...string) string {
	t.Helper()
	out, err := exec.Command(c.binary, append([]string{name, "--dir", c.dir}, flags...)...).CombinedOutput()
	t.Logf("localcluster %s: %s", name, out)
	if err != nil {
		t.Fatalf("localcluster %s: %v", name, err)
	}
	return string(out)
}

// kubectl calls kubectl with input and returns its output.
func (c *running) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	command := exec.Command(c.state.Kubectl, append([]string{"--kubeconfig", c.state.Kubeconfig}, args...)...)
	command.Stdin = strings.NewReader(input)
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, problem.String())
	}
	return string(out)
}

// apply applies a file of manifests with words in it replaced.
func (c *running) apply(t *testing.T, file string, replacements ...string) {
	t.Helper()
	manifest := strings.NewReplacer(replacements...).Replace(readFile(t, file))
	c.kubectl(t, manifest, "apply", "-f", "-")
}

// want compares what a JSON path gives for an object.
func (c *running) want(t *testing.T, name, path, want string) error {
	t.Helper()
	if got := c.kubectl(t, "", "get", name, "-o", "jsonpath="+path); got != want {
		return fmt.Errorf("%s of %s: got %q, want %q", path, name, got, want)
	}
	return nil
}

// eventually polls a condition until it holds, and fails the test if it does not
// within patience.
func (c *running) eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatal("after ", patience, ": ", err)
		case <-ticker.C:
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
