package container

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// accountPath is the folder in which a pod finds the files of its service account.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// loopback is the address on which a pod in the host's network listens.
const loopback = "127.0.0.1"

// command is the program, arguments, variables and folder of a process.
type command struct {
	path string
	args []string // without the path
	env  []string
	dir  string
	// hostname is the process's own; "" for the machine's.
	hostname string
	// rewrite turns a text for the container into one for the process.
	rewrite func(string) string
}

// command returns the command of a container whose image is a program.
func (r *Runtime) command(c *container, program string) (command, error) {
	address := loopback
	if c.sandbox.address.IsValid() {
		address = c.sandbox.address.String()
	}
	rewrite := func(text string) string {
		return listenOn(replacePaths(text, c.config.Mounts), address)
	}
	cmd := command{path: program, dir: r.dir(c.id), hostname: c.sandbox.config.Hostname, rewrite: rewrite}
	if entrypoint := c.config.Command; len(entrypoint) > 0 {
		cmd.path = beside(program, entrypoint[0])
		cmd.args = slices.Clone(entrypoint[1:])
	}
	cmd.args = append(cmd.args, c.config.Args...)
	for i, arg := range cmd.args {
		cmd.args[i] = rewrite(arg)
	}
	env, err := r.environ(c, rewrite)
	cmd.env = env
	return cmd, err
}

// beside returns the program that a command of a container names: the file of that name in the
// folder of the image's program.
func beside(program, command string) string {
	return filepath.Join(filepath.Dir(program), filepath.Base(command))
}

// environ returns the variables of a container's process. The container's own take precedence over
// ours, except for those of the API server's address.
func (r *Runtime) environ(c *container, rewrite func(string) string) ([]string, error) {
	kubeconfig, err := r.writeKubeconfig(c)
	if err != nil {
		return nil, err
	}
	dir := r.dir(c.id)
	env := []string{"HOME=" + dir, "TMPDIR=" + dir}
	if kubeconfig != "" {
		env = append(env, "KUBECONFIG="+kubeconfig)
	}
	for _, v := range c.config.Envs {
		env = append(env, v.Key+"="+rewrite(string(v.Value)))
	}
	server, err := url.Parse(r.APIServer)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	return append(env, "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port()), nil
}

// writeKubeconfig writes a kubeconfig for the container's service account and returns its path, ""
// for a pod without a service account.
func (r *Runtime) writeKubeconfig(c *container) (string, error) {
	at := slices.IndexFunc(c.config.Mounts, func(m *runtimeapi.Mount) bool { return m.ContainerPath == accountPath })
	if at < 0 {
		return "", nil
	}
	files := c.config.Mounts[at].HostPath
	type object = map[string]any
	const name = "pod"
	content, err := json.MarshalIndent(object{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": r.APIServer, "certificate-authority": filepath.Join(files, "ca.crt")}}},
		"users":    []object{{"name": name, "user": object{"tokenFile": filepath.Join(files, "token")}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name, "namespace": c.sandbox.config.GetMetadata().GetNamespace()}}},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding a kubeconfig: %w", err)
	}
	path := filepath.Join(r.dir(c.id), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing a pod's kubeconfig: %w", err)
	}
	return path, nil
}

// anyHost matches a listen address of any host, alone or as the value of a flag: ":8443",
// "0.0.0.0:8443", "--flag=:8443".
var anyHost = regexp.MustCompile(`^(--?[A-Za-z][-._A-Za-z0-9]*=)?(?:0\.0\.0\.0|\[::\])?:([0-9]+)$`)

// listenOn adds host to a listen address of any host, and returns any other text unchanged.
func listenOn(text, host string) string {
	parts := anyHost.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	return parts[1] + net.JoinHostPort(host, parts[2])
}

// replacePaths replaces the mount paths of volumes by the folders that hold their files.
func replacePaths(text string, mounts []*runtimeapi.Mount) string {
	// The longest mount path goes first, since a mount may be within another one.
	byLength := slices.SortedFunc(slices.Values(mounts), func(a, b *runtimeapi.Mount) int { return len(b.ContainerPath) - len(a.ContainerPath) })
	for begin := 0; begin < len(text); begin++ {
		if begin > 0 && inName(text[begin-1]) {
			continue // in the middle of another path
		}
		for _, m := range byLength {
			rest, found := strings.CutPrefix(text[begin:], m.ContainerPath)
			if !found || rest != "" && rest[0] != '/' && inName(rest[0]) {
				continue
			}
			text = text[:begin] + m.HostPath + rest
			begin += len(m.HostPath)
			break
		}
	}
	return text
}

// inName reports whether c may be a character of a path.
func inName(c byte) bool {
	return c == '/' || c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
