package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// advised is how a day went in advisory mode.
type advised struct {
	text     string  // the record
	gpuHours float64 // of what ran
	ticks    int
}

// adviseBeside records six hours in which another autoscaler keeps 8 replicas of 2 accelerators, and the
// manager advises for a load that rises and falls and never needs them all.
func adviseBeside(t *testing.T) advised {
	t.Helper()
	key := scaling.ModelKey{Namespace: "prod", ID: "meta/llama"}
	c := plant.Config{
		Model: key, Tick: time.Minute, Patience: time.Minute, InputTokens: 500, OutputTokens: 200,
		Load:     func(at time.Duration) float64 { return 6 + 4*math.Sin(at.Hours()) },
		Settings: settings.Default(),
		Variants: []plant.Variant{{
			Spec: scaling.Variant{
				Key: scaling.VariantKey{Namespace: "prod", Name: "llama-l40s"}, Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "llama-l40s"},
				Accelerator: "L40S", GPUsPerReplica: 2, Cost: 10, CostSource: scaling.CostVariant, Bounds: scaling.Bounds{Min: 8, Max: 8},
				Profile: scaling.Profile{Source: "test", Alpha: 20, Beta: 0.6, Gamma: 5, Delta: 0.02, MaxBatchSize: 64},
			},
			KVTokens: 100_000, StartUp: time.Minute, Replicas: 8,
		}},
	}
	c.Settings.Engine, c.Settings.Objective = settings.Queueing, scaling.Objective{Class: "gold", TTFT: 2000, ITL: 40}
	var out advised
	var lines strings.Builder
	past := memory.History{}
	plant.Run(c, 6*time.Hour, func(tick plant.Tick) bool {
		setup, from := tick.Setup, tick.Case
		from.History = past
		s := from.Snapshots[0]
		s.Variants = append([]scaling.Variant(nil), s.Variants...)
		for i := range s.Variants {
			s.Variants[i].Advisory, s.Variants[i].Bounds = true, scaling.Unbounded()
			out.gpuHours += float64(s.Variants[i].GPUs(s.Variants[i].Replicas.Current)) / 60
		}
		from.Snapshots = []scaling.Snapshot{s}
		from.Cycle = scaling.CycleID(fmt.Sprintf("p-%d", out.ticks))
		verdict := setup.Decide(from)
		past = verdict.History
		recorded := cycle.Decided{Setup: setup, Case: from, Plan: verdict.Plan}.Recorded()
		lines.Write(recorded.Append(nil))
		lines.WriteByte('\n')
		out.ticks++
		return true
	})
	out.text = lines.String()
	return out
}

// TestReportSaysWhatAdviceWouldHaveSaved goes through a record of advice: what ran is what the other
// autoscaler ran, to the last replica; the advice costs less and is expected to serve as many.
func TestReportSaysWhatAdviceWouldHaveSaved(t *testing.T) {
	day := adviseBeside(t)
	file := filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(file, []byte(day.text+"{\"torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := executed(t, newReportCommand(), "", "--record", file, "-o", "json")
	if err != nil || !strings.Contains(stderr, "cycles.jsonl") {
		t.Fatalf("got %v, %q, want the torn line named", err, stderr)
	}
	var r reported
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	m := r.Models[0]
	if math.Abs(m.Ran.GPUHours-day.gpuHours) > 0.01*day.gpuHours || math.Abs(day.gpuHours-96) > 1e-9 {
		t.Errorf("%g GPU hours ran, want the %g of 8 replicas of 2 accelerators in six hours", m.Ran.GPUHours, day.gpuHours)
	}
	if m.Advisory != m.Hours || math.Abs(m.Hours-6) > 1e-9 {
		t.Errorf("%g of %g hours in advisory mode, want 6 of 6", m.Advisory, m.Hours)
	}
	if !(m.Decided.Cost > 0 && m.Decided.Cost < 0.8*m.Ran.Cost) {
		t.Errorf("decided costs %g, ran %g: want clearly less", m.Decided.Cost, m.Ran.Cost)
	}
	part, known := m.Decided.Expected.Part()
	if !known || part < 0.97 {
		t.Errorf("%g of the requests are expected within the objectives, want nearly all", part)
	}
	if m.Hindsight.Cost <= 0 || m.Hindsight.Cost > m.Decided.Cost || m.Decided.Regret.Value > m.Ran.Regret.Value || m.Decided.Regret.Value < 0 {
		t.Errorf("hindsight costs %g; regret %+v of what ran, %+v of what was decided", m.Hindsight.Cost, m.Ran.Regret, m.Decided.Regret)
	}
	if len(m.Differ) == 0 || m.Differ[0].Cost >= 0 || m.Differ[0].Detail == "" || m.Differ[0].Ran != 8 {
		t.Errorf("differences %+v, want fewer than the 8 that ran, with the reason", m.Differ)
	}
	if len(r.Assumes) < 5 {
		t.Errorf("it assumes %q", r.Assumes)
	}

	t.Run("as a table", func(t *testing.T) {
		stdout, _, err := executed(t, newReportCommand(), day.text, "--record", "-", "--miss-price", "0.5")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"prod/meta/llama", "advice", "hindsight", "% fewer GPU hours and", "% less cost", "8 replicas ran", "Assumed:", "costs 0.5 (--miss-price)"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("the table lacks %q:\n%s", want, stdout)
			}
		}
	})
	t.Run("as a page", func(t *testing.T) {
		stdout, _, err := executed(t, newReportCommand(), day.text, "--record", "-", "-o", "html")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<h2 id=\"name-0\">prod/meta/llama</h2>", "differs", "assumed", "In hindsight"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		for _, never := range []string{"seed", "https://", "http://"} {
			if shown := regexp.MustCompile("(?s)<script.*?</script>").ReplaceAllString(stdout, ""); strings.Contains(shown, never) {
				t.Errorf("the page says %q", never)
			}
		}
	})
	t.Run("of a part of the time", func(t *testing.T) {
		stdout, _, err := executed(t, newReportCommand(), day.text, "--record", "-", "-o", "json", "--from", "2026-01-01T01:00:00Z", "--to", "2026-01-01T02:30:00Z")
		if err != nil {
			t.Fatal(err)
		}
		var part reported
		if err := json.Unmarshal([]byte(stdout), &part); err != nil {
			t.Fatal(err)
		}
		if got := part.Models[0].Hours; math.Abs(got-1.5) > 1e-9 || math.Abs(part.Models[0].Ran.GPUHours-24) > 1e-9 {
			t.Errorf("%g hours and %g GPU hours, want 1.5 and 24", got, part.Models[0].Ran.GPUHours)
		}
	})
	t.Run("of another namespace", func(t *testing.T) {
		_, _, err := executed(t, newReportCommand(), day.text, "--record", "-", "-n", "other")
		if err == nil || !strings.Contains(err.Error(), "no decision in what was read, in namespace other") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of files in the wrong order", func(t *testing.T) {
		_, _, err := executed(t, newReportCommand(), "", "--record", file, file)
		if err == nil || !strings.Contains(err.Error(), "name the older file first") {
			t.Errorf("got %v", err)
		}
	})
}

func TestReportRefusesBadUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no source":                {[]string{"-o", "json"}, "--record FILE"},
		"two sources":              {[]string{"--record", "f", "--prometheus", "https://p"}, "want one of them"},
		"arguments alone":          {[]string{"f"}, "without --record"},
		"another output":           {[]string{"--record", "f", "-o", "yaml"}, "want table, json or html"},
		"a price below 0":          {[]string{"--record", "f", "--miss-price", "-1"}, "want a number of 0 or more"},
		"a price that is none":     {[]string{"--record", "f", "--miss-price", "NaN"}, "want a number of 0 or more"},
		"a time that is none":      {[]string{"--record", "f", "--from", "yesterday"}, "--from: found \"yesterday\""},
		"an end before its start":  {[]string{"--prometheus", "https://p", "--from", "1h", "--to", "2h"}, "is not before --to 2h"},
		"access without its store": {[]string{"--record", "f", "--prometheus-username", "u"}, "has no meaning without --prometheus"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := executed(t, newReportCommand(), "", tt.args...)
			if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestReportReadsMetrics answers as a Prometheus that scraped a manager for an hour: 4 replicas of 2
// accelerators ran, at a cost of 5, and 3 were advised; of another variant 1, which was scaled.
func TestReportReadsMetrics(t *testing.T) {
	end := time.Now().Truncate(time.Second)
	values := map[string]map[string]float64{
		"wva_variant_info": {"a": 1, "b": 1}, "wva_current_replicas": {"a": 4, "b": 1}, "wva_advised_replicas": {"a": 3}, "wva_desired_replicas": {"b": 1},
		"wva_replicas": {"a": 4, "b": 1}, "wva_replica_cost": {"a": 5, "b": 7}, "wva_replica_gpus": {"a": 2, "b": 1}, "wva_current_load": {"a": 2},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		name := regexp.MustCompile(`label_replace\((?:timestamp\()?(wva_\w+)`).FindStringSubmatch(r.Form.Get("query"))[1]
		var series []string
		for variant, value := range values[name] {
			var points []string
			for at := end.Add(-59 * time.Minute); !at.After(end); at = at.Add(time.Minute) {
				if strings.Contains(r.Form.Get("query"), "timestamp(") {
					value = float64(at.Unix())
				}
				points = append(points, fmt.Sprintf(`[%d,"%f"]`, at.Unix(), value))
			}
			series = append(series, fmt.Sprintf(`{"metric":{"namespace":"prod","variant_name":%q,"model_name":"m-%s"},"values":[%s]}`, variant, variant, strings.Join(points, ",")))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`, strings.Join(series, ","))
	}))
	t.Cleanup(server.Close)
	stdout, stderr, err := executed(t, newReportCommand(), "", "--prometheus", strings.Replace(server.URL, "://", "://reader:secret@", 1), "--allow-insecure-prometheus", "--from", "1h", "-o", "json")
	if strings.Contains(stdout, "secret") {
		t.Errorf("the report has the password of the URL:\n%.200s", stdout)
	}
	if err != nil || stderr != "" {
		t.Fatalf("got %v, %q", err, stderr)
	}
	var r reported
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Models) != 2 {
		t.Fatalf("got %d models, want m-a and m-b", len(r.Models))
	}
	a, b := r.Models[0], r.Models[1]
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.02*want+1e-9 {
			t.Errorf("%s: got %g, want %g", what, got, want)
		}
	}
	near("GPU hours that ran", a.Ran.GPUHours, 8)
	near("GPU hours advised", a.Decided.GPUHours, 6)
	near("cost that ran", a.Ran.Cost, 20)
	near("cost advised", a.Decided.Cost, 15)
	near("requests", a.Requests, 7200)
	near("advisory", a.Advisory, 1)
	near("cost of what is scaled", b.Decided.Cost, 7)
	near("advisory, of what is scaled", b.Advisory, 0)
	if a.Ran.Regret.Known || len(a.Differ) != 1 || a.Differ[0].Decided != 3 {
		t.Errorf("got %+v, want no regret and one difference", a)
	}
	values["wva_variant_info"] = nil
	if _, _, err := executed(t, newReportCommand(), "", "--prometheus", server.URL, "--allow-insecure-prometheus"); err == nil || !strings.Contains(err.Error(), "is its metrics port scraped?") {
		t.Errorf("of a Prometheus without a manager: %v", err)
	}
}
