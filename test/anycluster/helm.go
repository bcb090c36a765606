package anycluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Helm is the program helm for one cluster.
type Helm struct {
	Program    string
	Kubeconfig string
	Chart      string // folder
}

// FindHelm returns the path of helm: $HELM, else on PATH, else .local/bin below root.
func FindHelm(root string) (string, error) {
	local := filepath.Join(root, ".local", "bin", "helm")
	for _, name := range []string{cmp.Or(os.Getenv("HELM"), "helm"), local} {
		path, err := exec.LookPath(name)
		if err == nil {
			return path, nil
		}
		if os.Getenv("HELM") != "" {
			return "", fmt.Errorf("looking for HELM=%s: %w", name, err)
		}
	}
	return "", fmt.Errorf("helm is neither on PATH nor at %s: install it, name it by HELM, or make helm", local)
}

// Install installs the chart and does not wait for its objects.
func (h Helm) Install(ctx context.Context, release, namespace string, files []string, values map[string]any) error {
	data, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("writing the values of %s: %w", release, err)
	}
	args := []string{"install", release, h.Chart, "--namespace", namespace}
	for _, f := range files {
		args = append(args, "--values", f)
	}
	return h.run(ctx, data, append(args, "--values", "-")...)
}

// Uninstall removes a release.
func (h Helm) Uninstall(ctx context.Context, release, namespace string) error {
	return h.run(ctx, nil, "uninstall", release, "--namespace", namespace)
}

func (h Helm) run(ctx context.Context, stdin []byte, args ...string) error {
	cmd := exec.CommandContext(ctx, h.Program, append(args, "--kubeconfig", h.Kubeconfig)...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %s %s: %w: %s", args[0], args[1], err, strings.TrimSpace(string(out)))
	}
	return nil
}
