//go:build e2e && soak

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEachPublishedValueIsUpgradedAlone upgrades a release of the published chart for each of its values, which is the
// one that differs from its defaults. None loses a replica or its scaler.
func TestEachPublishedValueIsUpgradedAlone(t *testing.T) {
	u := startUpgrades(t)
	var rows []struct{ Path, Value, Unfollowed string }
	decodeFile(t, filepath.Join(u.bed.Root, "test", "chart", "testdata", "published", "changed.yaml"), &rows)
	// The nodes have 16 GPUs of the type that the targets ask for. More targets at once would wait for each
	// other, each with some of its replicas.
	places := make(chan struct{}, 16/upgradeReplicas)
	for i, row := range rows {
		if row.Unfollowed != "" {
			t.Logf("not %s=%s: %s", row.Path, row.Value, row.Unfollowed)
			continue
		}
		t.Run(row.Path+"="+row.Value, func(t *testing.T) {
			if row.Path != "wva.namespaceScoped" { // whose managers serve the others' models too
				t.Parallel()
			}
			places <- struct{}{}
			t.Cleanup(func() { <-places }) // after those that follow
			name := fmt.Sprintf("v%02d", i)
			// Its own model and port of the nodes: the others have theirs at the same time.
			values := map[string]any{"llmd": map[string]any{"namespace": name}, "vllmService": map[string]any{"nodePort": 30100 + i}}
			set(t, values, row.Path, row.Value)
			text, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			u.upgrade(t, publishedRelease{name: name, namespace: name, values: string(text)})
		})
	}
}

// set sets the value of a path, which is YAML.
func set(t *testing.T, values map[string]any, path, value string) {
	t.Helper()
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := values[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			values[key] = inner
		}
		values = inner
	}
	var of any
	if err := yaml.Unmarshal([]byte(value), &of); err != nil {
		t.Fatal(err)
	}
	values[keys[len(keys)-1]] = of
}
