//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestDashboardsShowALiveFleet has Prometheus scrape the manager as the sample
// ServiceMonitor asks it to, and draws the dashboards of what is there: a model with
// objectives and limited accelerators, whose load calls for three replicas where
// maxReplicas is 2. The pictures stay beside the logs.
func TestDashboardsShowALiveFleet(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(drawer()); err != nil {
		t.Fatalf("draw is built by make draw: %v", err)
	}
	const ns, name, model = "dashboards", "shown", "meta/shown"
	configure(t, ns, "saturation-scaling-config", map[string]string{"default": "engine: queueing\nenableLimiter: true"})
	configure(t, ns, "service-classes-config", map[string]string{"premium": class("Premium", 1, model)})
	v, most := slow(ns, name), int32(2)
	v.ModelID, v.Max = model, &most
	deploy(t, v)
	scrapeManager(t, "workload-variant-autoscaler-metrics")
	load(t, ns, model, "gamma(1.7,600s,cv=0.05)", "--lengths", "constant")
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		held, err := shared.bed.Query(ctx, fmt.Sprintf(`wva_growth_held{exported_namespace=%q,variant_name=%q,reason="AboveMax"}`, ns, name))
		if err != nil {
			return err.Error()
		}
		if held != 1 {
			return fmt.Sprintf("wva_growth_held of AboveMax is %v, want 1", held)
		}
		return ""
	})

	// A fault of the manager, and accelerators that several models want, need not be
	// there.
	optional := map[string]bool{"Errors": true, "Distance from the least cost": true}
	eventually(t, time.Minute, func(context.Context) string {
		//nolint:contextcheck // a busy machine draws for longer than a look may take
		shown, err := drawDashboards(t.Context(), "-choose", "namespace="+ns, "-choose", "model="+model)
		if err != nil {
			return err.Error()
		}
		var empty []string
		for line := range strings.Lines(shown) {
			field := strings.Split(strings.TrimSpace(line), "\t")
			if len(field) != 4 {
				return fmt.Sprintf("not understood: %q", line)
			}
			if board, panel, query, series := field[0], field[1], field[2], field[3]; series == "0" && !optional[panel] {
				empty = append(empty, fmt.Sprintf("%s, %q, query %s", board, panel, query))
			}
		}
		if strings.Count(shown, "\n") < 60 {
			return fmt.Sprintf("too few queries:\n%s", shown)
		}
		if len(empty) > 0 {
			return "nothing is shown by " + strings.Join(empty, "; ")
		}
		return ""
	})
}

// drawDashboards draws every dashboard of what Prometheus has, and returns a line for
// each query: dashboard, panel, query and number of series, with tabs between them.
func drawDashboards(ctx context.Context, flags ...string) (string, error) {
	boards, err := filepath.Glob(filepath.Join(shared.bed.Root, "monitoring", "dashboards", "*.json"))
	if err != nil {
		return "", err
	}
	out := filepath.Join(shared.bed.Dir, "log")
	cmd := exec.CommandContext(ctx, drawer(), append(append([]string{
		"-prometheus", shared.bed.State.Prometheus, "-out", out, "-range", "3m", "-scrape", testbed.ScrapeInterval.String(),
	}, flags...), boards...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("drawing the dashboards: %w: %s", err, &stderr)
	}
	return stdout.String(), nil
}

// drawer is the program that draws dashboards.
func drawer() string { return filepath.Join(shared.bed.Root, ".local", "bin", "draw") }

// scrapeManager has Prometheus scrape the manager under each job until the test ends,
// as the account of the sample ServiceMonitor and under the labels that it would give.
func scrapeManager(t *testing.T, jobs ...string) {
	t.Helper()
	path := scrapeManagerAgain(t, jobs...)
	t.Cleanup(func() {
		if err := errors.Join(os.Remove(path), shared.bed.ReloadPrometheus(context.Background())); err != nil {
			t.Errorf("ending the scrape of the manager: %v", err)
		}
	})
}

// scrapeManagerAgain is for a manager that was restarted, and has other ports.
func scrapeManagerAgain(t *testing.T, jobs ...string) (path string) {
	t.Helper()
	config := fmt.Sprintf(`  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  scheme: https
  authorization: {credentials: %[2]q}
  tls_config: {ca_file: %[3]q}
  static_configs:
  - targets: [%[4]q]
    labels: {namespace: %[5]s}
`, testbed.ScrapeInterval, scrapeToken(t), shared.bed.State.CACert, strings.TrimPrefix(shared.manager.URL, "https://"), testbed.SystemNamespace)
	text := "scrape_configs:\n"
	for _, job := range jobs {
		text += "- job_name: " + job + "\n" + config
	}
	path = filepath.Join(shared.bed.State.PrometheusConfigDir, jobs[0]+".yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared.bed.ReloadPrometheus(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}
