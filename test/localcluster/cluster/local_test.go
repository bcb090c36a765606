package cluster

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// listenFlag makes this test binary the program of a pod, as testdata/local.yaml
// calls it.
const listenFlag = "--listen="

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], listenFlag) {
		fmt.Fprintln(os.Stderr, serveAsPod(strings.TrimPrefix(os.Args[1], listenFlag)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// serveAsPod answers what a pod knows of itself.
func serveAsPod(address string) error {
	http.HandleFunc("GET /name", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getenv("POD_NAME")) })
	http.HandleFunc("GET /hostname", func(w http.ResponseWriter, _ *http.Request) {
		name, err := os.Hostname()
		fmt.Fprint(w, name, err)
	})
	http.HandleFunc("GET /process", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid()) })
	http.HandleFunc("GET /setting", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := os.ReadFile(os.Getenv("SETTING"))
		fmt.Fprint(w, string(raw), err)
	})
	http.HandleFunc("GET /account", func(w http.ResponseWriter, _ *http.Request) {
		account, err := askWhoami()
		fmt.Fprint(w, account, err)
	})
	http.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) {
		fmt.Println("ending with 7")
		os.Exit(7)
	})
	fmt.Println("serving", os.Getenv("POD_NAME"))
	return http.ListenAndServe(address, nil)
}

// askWhoami asks the API server who asks, with what the kubeconfig has.
func askWhoami() (string, error) {
	raw, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		return "", err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				TokenFile string `json:"tokenFile"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return "", err
	}
	ca, err := os.ReadFile(config.Clusters[0].Cluster.CA)
	if err != nil {
		return "", err
	}
	token, err := os.ReadFile(config.Users[0].User.TokenFile)
	if err != nil {
		return "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	request, err := http.NewRequest(http.MethodPost, config.Clusters[0].Cluster.Server+"/apis/authentication.k8s.io/v1/selfsubjectreviews",
		strings.NewReader(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+string(token))
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var review struct {
		Status struct {
			UserInfo struct{ Username string }
		}
	}
	err = json.NewDecoder(response.Body).Decode(&review)
	return review.Status.UserInfo.Username, err
}

// local shows that pods for this machine are processes of it.
func (c *running) local(t *testing.T) {
	c.apply(t, "testdata/local.yaml", "FIRST", "first")
	c.eventually(t, func() error { return c.want(t, "deployment/local", "{.status.readyReplicas}", "2") })
	service := "http://" + c.kubectl(t, "", "get", "service/local", "-o", "jsonpath={.spec.clusterIP}") + ":8080"
	pods := strings.Fields(c.kubectl(t, "", "get", "pods", "-l", "app=local", "-o", "jsonpath={.items[*].metadata.name}"))
	for _, pod := range pods {
		if log := c.kubectl(t, "", "logs", pod); log != "serving "+pod+"\n" {
			t.Errorf("the log of %s is %q", pod, log)
		}
		// Whose turn it is changes with every connection.
		c.eventually(t, func() error { return answers(service+"/name", pod) })
		if c.hostnames(t) {
			c.eventually(t, func() error { return answers(service+"/hostname", pod+"<nil>") })
		}
	}
	c.eventually(t, func() error { return answers(service+"/setting", "first<nil>") })
	c.eventually(t, func() error { return answers(service+"/account", "system:serviceaccount:default:default<nil>") })
	c.kubectl(t, "", "patch", "configmap", "local", "-p", `{"data": {"setting": "second"}}`)
	c.eventually(t, func() error { return answers(service+"/setting", "second<nil>") })

	first, end := c.forward(t, pods[0])
	defer end()
	processOf(t, first) // there is one
	if response, err := http.Post(first+"/end", "", nil); err == nil {
		response.Body.Close()
	}
	status := "{.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState.terminated.exitCode} {.status.containerStatuses[0].ready}"
	c.eventually(t, func() error { return c.want(t, "pod/"+pods[0], status, "1 7 true") })
	if log := c.kubectl(t, "", "logs", "--previous", pods[0]); !strings.HasSuffix(log, "ending with 7\n") {
		t.Errorf("the log of what ended is %q", log)
	}
	if out := c.kubectl(t, "", "get", "events", "--field-selector", "reason=Started", "-o", "name"); out == "" {
		t.Error("the kubelet sends no events")
	}

	again, end := c.forward(t, pods[1])
	defer end()
	pid := processOf(t, again)
	c.kubectl(t, "", "delete", "pod", pods[1])
	if _, running := identity(pid); running {
		t.Errorf("process %d of a pod that is gone still runs", pid)
	}
}

// localThroughRestart shows that processes end with their kubelet, and that the
// next one starts them again: it is called before, and what it returns after.
func (c *running) localThroughRestart(t *testing.T) (after func()) {
	ready := func() error { return c.want(t, "deployment/local", "{.status.readyReplicas}", "2") }
	c.eventually(t, ready)
	service := "http://" + c.kubectl(t, "", "get", "service/local", "-o", "jsonpath={.spec.clusterIP}") + ":8080"
	pid := processOf(t, service)
	return func() {
		if _, running := identity(pid); running && runtime.GOOS == "linux" {
			t.Errorf("process %d has outlived its kubelet", pid)
		}
		c.eventually(t, func() error { return answers(service+"/setting", "second<nil>") })
		c.eventually(t, ready)
	}
}

// hostnames reports whether pods have hostnames of their own on this machine.
func (c *running) hostnames(t *testing.T) bool {
	return !strings.Contains(readFile(t, c.dir+"/log/kubelet.log"), "hostnames of their own")
}

// processOf returns the id of the process that answers at a URL.
func processOf(t *testing.T, url string) int {
	t.Helper()
	text, err := get(url + "/process")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, running := identity(pid); !running {
		t.Fatalf("there is no process %d", pid)
	}
	return pid
}

// foreign shows what is said of a pod that cannot run.
func (c *running) foreign(t *testing.T) {
	c.kubectl(t, "", "run", "foreign", "--image=docker.io/library/nginx:1")
	waiting := "{.status.containerStatuses[0].state.waiting.message}"
	c.eventually(t, func() error {
		got := c.kubectl(t, "", "get", "pod/foreign", "-o", "jsonpath="+waiting)
		if !strings.Contains(got, "images named tested have a program") {
			return fmt.Errorf("got %q, want it to name what runs", got)
		}
		return nil
	})
	c.kubectl(t, "", "delete", "pod/foreign")
}

// forward forwards a free port to that of a pod, by the API server.
func (c *running) forward(t *testing.T, pod string) (url string, end func()) {
	t.Helper()
	command := exec.CommandContext(t.Context(), c.state.Kubectl, "--kubeconfig", c.state.Kubeconfig, "port-forward", pod, ":8080")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var problem bytes.Buffer
	command.Stderr = &problem
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " -> ")
	if err != nil || !found {
		t.Fatalf("kubectl port-forward: %v: %q: %s", err, line, problem.String())
	}
	return "http://" + address, func() { _ = command.Process.Kill(); _ = command.Wait() }
}

func get(url string) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: requestWithin}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func answers(url, want string) error {
	got, err := get(url)
	if err == nil && got != want {
		err = fmt.Errorf("%s: got %q, want %q", url, got, want)
	}
	return err
}
