package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// eachGolden runs check for the cases of some areas.
func eachGolden(t *testing.T, areas []string, check func(t *testing.T, c goldentest.Raw)) {
	t.Helper()
	for _, c := range goldentest.Read[json.RawMessage, json.RawMessage](t, areas...) {
		t.Run(c.String(), func(t *testing.T) { check(t, c) })
	}
}

// TestGoldenSaturationConfig: 0 stands for a field that is not set, which the
// published version could not tell apart.
func TestGoldenSaturationConfig(t *testing.T) {
	eachGolden(t, []string{"saturation-config"}, func(t *testing.T, c goldentest.Raw) {
		in := map[string]any{}
		var want struct {
			Valid                               bool
			Message                             string
			ScaleUpThreshold, ScaleDownBoundary float64
		}
		goldentest.Decode(t, c, &in, &want)
		names := map[string]string{"ModelID": "model_id", "Namespace": "namespace"}
		for _, f := range policyFields() {
			names[strings.ToUpper(f.Name[:1])+f.Name[1:]] = f.Name
		}
		var content strings.Builder
		fmt.Fprintln(&content, "engine: saturation")
		for name, value := range in {
			field, ok := names[name]
			if !ok {
				t.Fatalf("the case has a field %s", name)
			}
			if value != 0.0 && value != "" && value != false {
				fmt.Fprintf(&content, "%s: %v\n", field, value)
			}
		}
		s := newStore(t)
		r := s.Apply([]Source{system(saturationMap, "default", content.String())})
		refused := slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Severity != Refused })
		if (len(refused) == 0) != want.Valid {
			t.Fatalf("got %q, want valid %t", lines(refused), want.Valid)
		}
		if want.Message != "" { // the same field, and why
			field, _, _ := strings.Cut(want.Message, " ")
			if !strings.Contains(lines(refused), field) {
				t.Errorf("got %s, want it to name %s", lines(refused), field)
			}
		}
		p := s.Snapshot().Policy(llama)
		if want.ScaleUpThreshold != 0 && want.Valid && (p.ScaleUpThreshold != want.ScaleUpThreshold || p.ScaleDownBoundary != want.ScaleDownBoundary) {
			t.Errorf("got %v and %v, want %v and %v", p.ScaleUpThreshold, p.ScaleDownBoundary, want.ScaleUpThreshold, want.ScaleDownBoundary)
		}
	})
}

// TestGoldenScaleToZero covers both published formats. In the cases the entries
// were parsed already; here they are written as their users wrote them.
func TestGoldenScaleToZero(t *testing.T) {
	type answer struct {
		Enabled          bool
		RetentionSeconds float64
	}
	eachGolden(t, []string{"s2z-config", "s2z-config-feb"}, func(t *testing.T, c goldentest.Raw) {
		var in struct {
			Config             map[string]map[string]any
			Data               map[string]string
			Env                string `json:"env_WVA_SCALE_TO_ZERO"`
			ModelID, Namespace string
		}
		var want answer
		goldentest.Decode(t, c, &in, &want)
		m := system(zeroMap)
		maps.Copy(m.Data, in.Data)
		for key, fields := range in.Config {
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			m.Data[strings.ReplaceAll(key, "/", "-")] = string(text)
		}
		s := newStore(t, func(o *StoreOptions) {
			o.Explicit = Places{{"the environment", File{"WVA_SCALE_TO_ZERO": in.Env}.Lookup}}
		})
		s.Apply([]Source{m})
		z := s.Snapshot().Policy(scaling.ModelKey{Namespace: in.Namespace, ID: in.ModelID}).ScaleToZero
		if got := (answer{z.Enabled, z.Retention.Seconds()}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestGoldenServiceClassLookup(t *testing.T) {
	eachGolden(t, []string{"slo-lookup"}, func(t *testing.T, c goldentest.Raw) {
		var in struct {
			ConfigMap          map[string]string
			ModelID, Namespace string
		}
		var want struct {
			Class string
			Error bool
			ITL   float64 `json:"sloTPOT_ms"`
			TTFT  float64 `json:"sloTTFT_ms"`
		}
		goldentest.Decode(t, c, &in, &want)
		model := scaling.ModelKey{Namespace: in.Namespace, ID: in.ModelID}
		// Some answers are of a class, Premium, that is not in the recorded ConfigMap: without it
		// there is no objective.
		if !want.Error && !strings.Contains(fmt.Sprint(in.ConfigMap), "name: "+want.Class) {
			if got, err := applied(t, Source{systemNamespace, classesMap, in.ConfigMap}).Objective(model, ClassRef{}); err == nil {
				t.Errorf("got %+v from a ConfigMap that does not say so", got)
			}
			// With the class that was there, the answer is the recorded one.
			in.ConfigMap["premium.yaml"] = fmt.Sprintf("name: %s\ndata:\n- {model: default/default, slo-tpot: %v, slo-ttft: %v}", want.Class, want.ITL, want.TTFT)
		}
		got, err := applied(t, Source{systemNamespace, classesMap, in.ConfigMap}).Objective(model, ClassRef{})
		if (err != nil) != want.Error {
			t.Fatalf("got error %v, want one: %t", err, want.Error)
		}
		if err == nil && (got.Class != want.Class || got.ITL != want.ITL || got.TTFT != want.TTFT) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestPublishedSamplesAreAcceptedWhole(t *testing.T) {
	s := applied(t,
		// Up to v0.4 and the versions after it: cents per hour, JSON.
		system(costsMap,
			"A100", `{"device": "NVIDIA-A100-PCIE-80GB", "cost": "40.00"}`,
			"MI300X", `{"device": "AMD-MI300X-192GB", "cost": "65.00"}`,
			"G2", `{"device": "Intel-Gaudi-2-96GB", "cost": "23.00"}`,
		),
		system(classesMap, "premium.yaml", "name: Premium\npriority: 1\ndata:\n  - model: default/default\n    slo-tpot: 24\n    slo-ttft: 500\n  - model: meta/llama0-70b\n    slo-tpot: 80\n    slo-ttft: 500\n"),
		system(settingsMap,
			"GLOBAL_OPT_INTERVAL", "60s", "PROMETHEUS_BASE_URL", "https://prometheus.monitoring:9090",
			"PROMETHEUS_TLS_INSECURE_SKIP_VERIFY", "true", "PROMETHEUS_CA_CERT_PATH", "", "WVA_SCALE_TO_ZERO", "false",
		),
		system(saturationMap, "default", "kvCacheThreshold: 0.80\nqueueLengthThreshold: 5\nkvSpareTrigger: 0.1\nqueueSpareTrigger: 3\nenableLimiter: false\n"),
		system(zeroMap, "__defaults__", "enableScaleToZero: true\nretentionPeriod: \"15m\"\n"),
	)
	if got := s.Policy(llama).ScaleToZero; got != (ScaleToZero{true, 15 * time.Minute}) {
		t.Errorf("got %+v", got)
	}
	if got := s.Settings().Prometheus; got.BaseURL == "" || !got.InsecureSkipVerify || got.CACertPath != "" {
		t.Errorf("got %+v", got)
	}
}
