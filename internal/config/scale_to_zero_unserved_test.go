package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestEntriesForModelsWithoutAVariantAreFound(t *testing.T) {
	served := []scaling.ModelKey{{Namespace: "team", ID: "meta/llama"}, {Namespace: "team", ID: "gemma"}, {Namespace: "other", ID: "qwen"}}
	s := applied(t,
		system(zeroMap,
			"__defaults__", "enableScaleToZero: true",
			"model.everywhere", "modelID: meta/llama",
			"model.here", "modelID: gemma\nnamespace: team",
			"model.misspelt", "modelID: meta/lama",
			"model.not-here", "modelID: qwen\nnamespace: team",
			"model.nowhere", "modelID: deepseek/r1",
		),
		in("team", zeroMap, "k", "model_id: gemma", "l", "model_id: qwen"),
	)
	var got []string
	for _, f := range s.Unserved(served) {
		got = append(got, string(f.Severity)+" "+f.String())
	}
	at := "doubtful ConfigMap wva-system/" + zeroMap + ", "
	want := []string{
		"doubtful ConfigMap team/" + zeroMap + `, l, modelID: "qwen" is served by no VariantAutoscaling of namespace team; in force: nothing of it until one does`,
		at + `model.misspelt, modelID: "meta/lama" is served by no VariantAutoscaling; did you mean meta/llama?; in force: nothing of it until one does`,
		at + `model.not-here, modelID: "qwen" is served by no VariantAutoscaling of namespace team; in force: nothing of it until one does`,
		at + `model.nowhere, modelID: "deepseek/r1" is served by no VariantAutoscaling; in force: nothing of it until one does`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestARetentionThatIsNoneIsRefusedAndTheNextLevelHolds: each level with a wrong
// value is passed over, with a finding, and the rest of its entry holds.
func TestARetentionThatIsNoneIsRefusedAndTheNextLevelHolds(t *testing.T) {
	tests := map[string]struct {
		value    string
		severity string
		says     string
		want     time.Duration
	}{
		"empty":          {`""`, "refused", "retentionPeriod", 15 * time.Minute},
		"zero":           {"0s", "refused", `"0s"`, 15 * time.Minute},
		"negative":       {"-5m", "refused", `"-5m"`, 15 * time.Minute},
		"unparsable":     {"soon", "refused", `"soon"`, 15 * time.Minute},
		"without unit":   {"300", "refused", `"300"`, 15 * time.Minute},
		"a list":         {"[5m]", "refused", "retentionPeriod", 15 * time.Minute},
		"beyond a year":  {"9000h", "refused", `"9000h"`, 15 * time.Minute},
		"beyond a day":   {"25h", "doubtful", "is longer than 24h", 25 * time.Hour},
		"exactly a day":  {"24h", "", "", 24 * time.Hour},
		"a nanosecond":   {"1ns", "", "", 1},
		"of mixed units": {"1h30m", "", "", 90 * time.Minute},
	}
	for name, tt := range tests {
		for _, spelling := range []string{"modelID: meta/llama\nenableScaleToZero: true\nretentionPeriod: ", "model_id: meta/llama\nenable_scale_to_zero: true\nretention_period: "} {
			t.Run(name, func(t *testing.T) {
				s := newStore(t)
				r := s.Apply([]Source{system(zeroMap, "__defaults__", "retentionPeriod: 15m", "model.x", spelling+tt.value)})
				if tt.severity == "" && len(r.Findings) > 0 {
					t.Errorf("got %s, want no finding", lines(r.Findings))
				}
				if tt.severity != "" {
					wantFinding(t, r.Findings, tt.severity, "model.x", tt.says)
				}
				if got := s.Snapshot().Policy(llama).ScaleToZero; got != (ScaleToZero{true, tt.want}) {
					t.Errorf("got %+v, want zero enabled after %s", got, tt.want)
				}
			})
		}
	}
}

func TestTheScaleToZeroSampleIsAcceptedWhole(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "model-scale-to-zero-config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct{ Name, Namespace string }
		Data     map[string]string
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, func(o *StoreOptions) { o.SystemNamespace = m.Metadata.Namespace })
	if r := s.Apply([]Source{{m.Metadata.Namespace, m.Metadata.Name, m.Data}}); len(r.Findings) > 0 {
		t.Errorf("the sample has findings:\n%s", lines(r.Findings))
	}
	const large = "meta-llama/Llama-3.1-70B-Instruct"
	for _, tt := range []struct {
		namespace, id string
		want          ScaleToZero
	}{
		{"x", "any", ScaleToZero{true, 15 * time.Minute}},
		{"x", large, ScaleToZero{true, time.Hour}},
		{"production", large, ScaleToZero{false, time.Hour}},
		{"experiments", "google/gemma-3-4b-it", ScaleToZero{true, 2 * time.Minute}},
	} {
		if got := s.Snapshot().Policy(scaling.ModelKey{Namespace: tt.namespace, ID: tt.id}).ScaleToZero; got != tt.want {
			t.Errorf("%s/%s: got %+v, want %+v", tt.namespace, tt.id, got, tt.want)
		}
	}
}

// TestUnservedEntriesAreLookedForInBoundedTime: 33 seconds where each entry is
// compared with each model, minutes where the names are long.
func TestUnservedEntriesAreLookedForInBoundedTime(t *testing.T) {
	many, long := []string{}, []string{}
	var served []scaling.ModelKey
	for i := range 2_500 { // as many as are read
		many = append(many, fmt.Sprintf("e%04d", i), fmt.Sprintf("modelID: org/model-with-an-ordinary-name-%05d", i))
		if i < 1_000 {
			served = append(served, scaling.ModelKey{Namespace: "team", ID: fmt.Sprintf("org/madel-with-an-ordinary-name-%05d-x", i)})
		}
	}
	long = append(long, "e", "modelID: "+strings.Repeat("a", 250_000))
	served = append(served, scaling.ModelKey{Namespace: "team", ID: strings.Repeat("b", 250_000)})
	for _, tt := range []struct {
		what string
		data []string
		want []string // the first and the last finding, in part
		n    int
	}{
		{"many entries", many, []string{"e0000, modelID:", "2490 more entries are for models that no VariantAutoscaling serves"}, 11},
		{"long names", long, []string{"e, modelID:", "e, modelID:"}, 1},
	} {
		s := applied(t, in("team", zeroMap, tt.data...))
		start := time.Now()
		got := s.Unserved(served)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: took %s", tt.what, took)
		}
		if len(got) != tt.n || !strings.Contains(got[0].String(), tt.want[0]) || !strings.Contains(got[len(got)-1].String(), tt.want[1]) {
			t.Errorf("%s: got %d findings:\n%s", tt.what, len(got), lines(got))
		}
	}
}
