package container

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The test binary is the program of the image, and does what programVariable says.
const programVariable = "CONTAINER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "run-as" {
		fmt.Fprintln(os.Stderr, RunAs(os.Args[2:]))
		os.Exit(126)
	}
	program, args := os.Getenv(programVariable), os.Args[1:]
	switch program {
	case "":
		os.Exit(m.Run())
	case "say":
		fmt.Println(strings.Join(args, " "))
		fmt.Fprintln(os.Stderr, os.Getenv("KUBECONFIG") != "")
	case "hostname":
		fmt.Println(os.Hostname())
	case "fail":
		os.Exit(3)
	case "serve": // until it is asked to end; the address comes as a flag
		listener, err := net.Listen("tcp", strings.TrimPrefix(args[0], "--listen="))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("listening")
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(c, c); c.Close() }()
			}
		}()
		<-asked
		fmt.Println("asked to end")
	case "parent": // leaves a child, and its streams with it
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), programVariable+"=stubborn")
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(child.Process.Pid)
	case "grow": // to 200 MiB, which are given back at once; then until it is asked to end
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		much, err := syscall.Mmap(-1, 0, 200<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for i := 0; i < len(much); i += os.Getpagesize() {
			much[i] = 1
		}
		if err := syscall.Munmap(much); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("grown")
		<-asked
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		fmt.Println("here")
		<-never
	}
}

// bench is a Runtime under test, with one pod.
type bench struct {
	*Runtime
	t   *testing.T
	dir string
	pod string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir()}
	b.Runtime, err = New(Options{
		Dir: filepath.Join(b.dir, "containers"), Images: Images{"tested": program},
		Addresses: netip.MustParsePrefix("127.77.0.0/30"), APIServer: "https://127.0.0.1:1", RunAs: []string{program, "run-as"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(expired(t)); err != nil {
			t.Error(err)
		}
	})
	b.pod = b.runPod("a")
	return b
}

// expired is a context that has ended: who waits with it kills at once.
func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cancel()
	return ctx
}

func (b *bench) runPod(name string) string {
	b.t.Helper()
	pod, err := b.RunPodSandbox(b.t.Context(), b.podConfig(name), "")
	if err != nil {
		b.t.Fatal(err)
	}
	return pod
}

func (b *bench) podConfig(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name},
		LogDirectory: filepath.Join(b.dir, name), Hostname: "host-" + name,
	}
}

// start creates and starts a container of the pod.
func (b *bench) start(program string, args ...string) (id string) {
	b.t.Helper()
	return b.startWithin(0, program, args...)
}

// startWithin is start with a limit of memory [bytes].
func (b *bench) startWithin(limit int64, program string, args ...string) (id string) {
	b.t.Helper()
	id, err := b.CreateContainer(b.t.Context(), b.pod, &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: program}, Image: &runtimeapi.ImageSpec{Image: "registry.example/x/tested:v1"},
		Args: args, LogPath: program + ".log",
		Envs:   []*runtimeapi.KeyValue{{Key: programVariable, Value: []byte(program)}},
		Mounts: []*runtimeapi.Mount{{ContainerPath: accountPath, HostPath: b.dir}},
		Linux:  &runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: limit}},
	}, b.podConfig("a"))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.StartContainer(b.t.Context(), id); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// exited waits for the end of a container and returns its status.
func (b *bench) exited(id string) *runtimeapi.ContainerStatus {
	b.t.Helper()
	var got *runtimeapi.ContainerStatus
	b.eventually(func() error {
		response, err := b.ContainerStatus(b.t.Context(), id, false)
		if err != nil {
			return err
		}
		if got = response.Status; got.State != runtimeapi.ContainerState_CONTAINER_EXITED {
			return fmt.Errorf("container %s is %s", id, got.State)
		}
		return nil
	})
	return got
}

// eventually polls a condition until it holds.
func (b *bench) eventually(condition func() error) {
	b.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			b.t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// says waits until the log of a program has a line.
func (b *bench) says(program, line string) {
	b.t.Helper()
	b.eventually(func() error {
		raw, err := os.ReadFile(filepath.Join(b.dir, "a", program+".log"))
		if err == nil && !strings.Contains(string(raw), line+"\n") {
			err = fmt.Errorf("the log of %s is %q, want %q in it", program, raw, line)
		}
		return err
	})
}

func TestContainerIsAProcessWithALog(t *testing.T) {
	b := newBench(t)
	id := b.start("say", "one", "--flag=:80", accountPath+"/token")
	if got := b.exited(id); got.ExitCode != 0 || got.Reason != "Completed" || got.FinishedAt < got.StartedAt {
		t.Errorf("got %v, want it to have completed", got)
	}
	b.says("say", " stdout F one --flag=127.77.0.1:80 "+b.dir+"/token")
	b.says("say", " stderr F true")
	if got := b.exited(b.start("fail")); got.ExitCode != 3 || got.Reason != "Error" {
		t.Errorf("got exit code %d and reason %s, want 3 and Error", got.ExitCode, got.Reason)
	}
}

func TestPodHasAHostnameWhereTheMachineAllowsIt(t *testing.T) {
	b := newBench(t)
	b.exited(b.start("hostname"))
	want := "host-a"
	if len(b.starter.runAs) == 0 {
		t.Log("this machine does not let processes have hostnames of their own")
		var err error
		if want, err = os.Hostname(); err != nil {
			t.Fatal(err)
		}
	}
	b.says("hostname", " stdout F "+want+" <nil>")
}

func TestStopAsksAndThenKills(t *testing.T) {
	b := newBench(t)
	asked := b.start("serve", "--listen=:0")
	b.says("serve", " stdout F listening")
	if err := b.StopContainer(t.Context(), asked, 30); err != nil {
		t.Fatal(err)
	}
	b.says("serve", " stdout F asked to end")
	if got := b.exited(asked); got.ExitCode != 0 {
		t.Errorf("who was asked to end: got exit code %d, want 0", got.ExitCode)
	}
	killed := b.start("stubborn")
	b.says("stubborn", " stdout F here")
	if err := b.StopContainer(t.Context(), killed, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.exited(killed); got.ExitCode != 128+int32(syscall.SIGKILL) {
		t.Errorf("who does not end: got exit code %d, want 137", got.ExitCode)
	}
}

// TestAContainerIsKilledBeyondItsLimitOfMemory: a peak counts that is over before it
// is looked for.
func TestAContainerIsKilledBeyondItsLimitOfMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits of memory are enforced on Linux")
	}
	b := newBench(t)
	if got := b.exited(b.startWithin(150<<20, "grow")); got.Reason != "OOMKilled" || got.ExitCode != 128+int32(syscall.SIGKILL) {
		t.Errorf("200 MiB with a limit of 150: got exit code %d and reason %s, want 137 and OOMKilled", got.ExitCode, got.Reason)
	}
	b = newBench(t)
	within := b.startWithin(400<<20, "grow")
	b.says("grow", " stdout F grown")
	if err := b.StopContainer(t.Context(), within, 30); err != nil {
		t.Fatal(err)
	}
	if got := b.exited(within); got.Reason != "Completed" {
		t.Errorf("200 MiB with a limit of 400: got exit code %d and reason %s, want it to end when it is asked to", got.ExitCode, got.Reason)
	}
}

func TestPodsHaveAddressesOfTheirOwn(t *testing.T) {
	b := newBench(t)
	b.runPod("b")
	b.runPod("c") // the last that there is
	if _, err := b.RunPodSandbox(t.Context(), b.podConfig("d"), ""); err == nil {
		t.Error("a fourth pod got one of three addresses")
	}
	if err := b.RemovePodSandbox(t.Context(), b.pod); err != nil {
		t.Fatal(err)
	}
	again, err := b.PodSandboxStatus(t.Context(), b.runPod("d"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Status.Network.Ip; got != "127.77.0.1" {
		t.Errorf("got %s, want the address that was given up", got)
	}
}

func TestRemovedPodTakesItsProcessesAlong(t *testing.T) {
	b := newBench(t)
	b.start("stubborn")
	b.says("stubborn", " stdout F here")
	if err := b.RemovePodSandbox(t.Context(), b.pod); err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]func() (int, error){
		"containers": func() (int, error) { l, err := b.ListContainers(t.Context(), nil); return len(l), err },
		"pods":       func() (int, error) { l, err := b.ListPodSandbox(t.Context(), nil); return len(l), err },
	} {
		if n, err := list(); n != 0 || err != nil {
			t.Errorf("got %d %s and error %v, want none", n, what, err)
		}
	}
	if left, err := os.ReadDir(b.Dir); len(left) != 0 || err != nil {
		t.Errorf("got files %v and error %v, want none", left, err)
	}
}

func TestExecRunsWithWhatTheContainerHas(t *testing.T) {
	b := newBench(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	same := "/" + filepath.Base(program)
	says := b.start("say")
	out, problem, err := b.ExecSync(t.Context(), says, []string{same, "--flag=:80"}, 0)
	if string(out) != "--flag=127.77.0.1:80\n" || string(problem) != "true\n" || err != nil {
		t.Errorf("got %q, %q and error %v, want the address and the kubeconfig of the pod", out, problem, err)
	}
	if _, _, err := b.ExecSync(t.Context(), says, []string{"/absent"}, 0); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("got error %v, want it to name the absent program", err)
	}
	// This one does not end by itself.
	if _, _, err := b.ExecSync(t.Context(), b.start("stubborn"), []string{same}, 50*time.Millisecond); err == nil {
		t.Error("a program that was killed has no error")
	}
}

func TestWhatAContainerStartedEndsWithIt(t *testing.T) {
	b := newBench(t)
	id := b.start("parent")
	b.exited(id)
	var child int
	b.eventually(func() error {
		raw, err := os.ReadFile(filepath.Join(b.dir, "a", "parent.log"))
		if err != nil {
			return err
		}
		_, text, _ := strings.Cut(string(raw), " stdout F ")
		_, err = fmt.Sscan(text, &child)
		return err
	})
	b.eventually(func() error {
		// No waiter may be left to fetch its end: what is left then holds no file.
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", child)); err == nil && runtime.GOOS == "linux" {
			return fmt.Errorf("process %d, which the container started, still runs", child)
		}
		return nil
	})
}

func TestWhatAnEarlierRuntimeLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "containers", "container-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Dir: filepath.Join(dir, "containers")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "containers")); len(left) > 0 {
		t.Errorf("got files %v and error %v, want none", left, err)
	}
}

func TestImagesThatCannotRunSaySo(t *testing.T) {
	images := Images{"known": "/no/such/program"}
	for image, want := range map[string]string{
		"vllm/vllm-openai:v1":      "images named known have a program",
		"registry:5000/x/known:v1": "/no/such/program: no such file",
	} {
		status, err := images.ImageStatus(t.Context(), &runtimeapi.ImageSpec{Image: image}, false)
		if err != nil || status.Image != nil {
			t.Errorf("%s: got %v and error %v, want that it is not there", image, status.Image, err)
		}
		if _, err := images.PullImage(t.Context(), &runtimeapi.ImageSpec{Image: image}, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", image, err, want)
		}
	}
}

func TestRepositoryIsWithoutRegistryTagAndDigest(t *testing.T) {
	for _, image := range []string{"x", "x:v1", "r/x", "r:5000/o/x:v1", "r/o/x@sha256:0a", "x:v1@sha256:0a"} {
		if got := repository(image); got != "x" {
			t.Errorf("%s: got %s, want x", image, got)
		}
	}
}
