//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/docs"
)

// TestTheCommandsOfThePages runs the sh blocks of every page, as a reader would who
// copies them from the first to the last, in a local cluster that is as new: no
// other scenario's, and without the CRD.
func TestTheCommandsOfThePages(t *testing.T) {
	root := shared.bed.Root
	pages, err := docs.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	cluster := filepath.Join(root, ".local", "e2e-docs")
	local := func(ctx context.Context, args ...string) {
		t.Helper()
		if err := localcluster(ctx, args...); err != nil {
			t.Fatal(err)
		}
	}
	local(t.Context(), "down", "--dir", cluster) // what a run left that was killed
	t.Cleanup(func() { local(context.Background(), "down", "--dir", cluster) })
	shared.bed.OnDown(func(ctx context.Context) error { return localcluster(ctx, "down", "--dir", cluster) }) // of a run that is interrupted
	local(t.Context(), "up", "--dir", cluster, "--image", "workload-variant-autoscaler="+filepath.Join(root, "bin", "manager"))
	ran := 0
	for _, p := range pages {
		script := p.Script()
		if script == "" {
			continue
		}
		ran++
		t.Run(p.Path, func(t *testing.T) { runPage(t, cluster, script) })
	}
	if ran == 0 {
		t.Error("no page has commands that are run")
	}
}

// localcluster runs a command of the local cluster to its end.
func localcluster(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(shared.bed.Root, ".local", "bin", "localcluster"), args...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("localcluster %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// runPage runs the script of a page at the root of the checkout, for a cluster, and
// ends what the script leaves running.
func runPage(t *testing.T, cluster, script string) {
	t.Helper()
	root, dir := shared.bed.Root, t.TempDir()
	file, output := filepath.Join(dir, "page.sh"), filepath.Join(dir, "output")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(output) // no pipe: what runs in the background would hold it
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// No less than the commands of a page allow themselves together.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	page := exec.CommandContext(ctx, "bash", "-euo", "pipefail", file)
	page.Dir, page.Stdout, page.Stderr = root, out, out
	page.Env = append(os.Environ(),
		"KUBECONFIG="+filepath.Join(cluster, "kubeconfig"), "KUBECACHEDIR="+dir,
		"PATH="+strings.Join([]string{filepath.Join(root, "bin"), filepath.Join(root, ".local", "bin"), os.Getenv("PATH")}, ":"))
	page.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	page.Cancel = func() error { return syscall.Kill(-page.Process.Pid, syscall.SIGKILL) }
	begun := time.Now()
	if err := page.Start(); err != nil {
		t.Fatal(err)
	}
	err = page.Wait()
	if left := syscall.Kill(-page.Process.Pid, syscall.SIGTERM); left != nil && !errors.Is(left, syscall.ESRCH) {
		t.Errorf("ending what the page left running: %v", left)
	}
	said, _ := os.ReadFile(output) // what there is of it is shown
	if err != nil {
		t.Fatalf("%v after %s, in the block below the last # path:line\n%s", errors.Join(err, ctx.Err()), time.Since(begun).Round(time.Second), said)
	}
	t.Logf("%s", said)
}
