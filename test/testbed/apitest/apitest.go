package apitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// Start starts a local cluster, with feature gates of Kubernetes such as HPAScaleToZero=true, and
// ends it with the test. It skips the test where the local cluster has not been built (make
// localcluster).
func Start(t testing.TB, gates ...string) *testbed.Bed {
	t.Helper()
	root := root(t)
	if _, err := os.Stat(filepath.Join(root, ".local", "bin", "localcluster")); err != nil {
		t.Skip("no built local cluster: run make localcluster")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bed, err := testbed.Up(ctx, testbed.Options{Root: root, Dir: t.TempDir(), FeatureGates: strings.Join(gates, ","), Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := bed.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// root returns the folder of the module that the working directory is in.
func root(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("looking for the root of the module: no go.mod above %s", at)
		}
	}
}
