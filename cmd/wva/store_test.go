package main

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

func TestStoreListsEntries(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	applies := store.Description{
		ConfigMap: "wva-store-start-ups", Key: "demo.meta-llama.0a", Bytes: 321,
		Model: &scaling.ModelKey{Namespace: "demo", ID: "meta/llama"}, At: now.Add(-90 * time.Minute),
		Says: "l40s 1m37s (9 of 10 within 2m10s, 14 pods)",
	}
	edited := store.Description{ConfigMap: "wva-store-start-ups", Key: "demo.qwen.0b", Bytes: 45, Ignored: "its version is 2, this manager reads 1"}
	tests := map[string]struct {
		entries []store.Description
		output  string
		want    string
		finding bool
	}{
		"nothing": {
			nil, "table",
			"nothing is stored in namespace wva: the manager has learned nothing yet, runs with WVA_STORE=false, or is in another namespace (--system-namespace)\n",
			false,
		},
		"nothing, for a program": {nil, "json", "[]\n", false},
		"one that is ignored": {
			[]store.Description{applies, edited},
			"table",
			`CONFIGMAP            NAMESPACE  MODEL         BYTES      CHANGED  SAYS
wva-store-start-ups  demo       meta/llama      321  1h30m0s ago  l40s 1m37s (9 of 10 within 2m10s, 14 pods)
wva-store-start-ups             demo.qwen.0b     45               ignored: its version is 2, this manager reads 1
`, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := storeFlags{namespace: "wva", output: tt.output}.print(&out, tt.entries, now)
			if got := out.String(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if errors.Is(err, errFinding) != tt.finding {
				t.Errorf("got %v, want a finding: %t", err, tt.finding)
			}
		})
	}
}
