package policy

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

func TestCatalogueIsComplete(t *testing.T) {
	var names []string
	for _, d := range Catalogue() {
		names = append(names, d.Name)
		if d.Source == "" || d.Reads == "" || d.Interval <= 0 || len(d.Params) == 0 {
			t.Errorf("%s: the definition has a gap: %+v", d.Name, d)
		}
		defaults := map[string]string{}
		for _, p := range d.Params {
			if p.Doc == "" {
				t.Errorf("%s: parameter %s is not explained", d.Name, p.Name)
			}
			if _, twice := defaults[p.Name]; twice {
				t.Errorf("%s: parameter %s exists twice", d.Name, p.Name)
			}
			defaults[p.Name] = p.Default
		}
		if _, err := ByName(d.Name, defaults); err != nil {
			t.Errorf("%s: its own defaults are refused: %v", d.Name, err)
		}
	}
	if !slices.Equal(names, Names()) {
		t.Errorf("got the order %v, want that of Names %v", names, Names())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Names()) {
		t.Error("a name exists twice")
	}
}

func TestGridsAreSmallValidAndHoldTheDefaults(t *testing.T) {
	for _, d := range Catalogue() {
		if d.Name == "static" {
			continue // every count may matter
		}
		if len(d.Grid) < 2 || len(d.Grid) > 10 {
			t.Errorf("%s: got %d grid points, want 2 to 10", d.Name, len(d.Grid))
		}
		standard := map[string]string{}
		for _, p := range d.Params {
			if _, tuned := d.Grid[0][p.Name]; tuned {
				standard[p.Name] = p.Default
			}
		}
		if len(standard) < 1 || len(standard) > 2 {
			t.Errorf("%s: got %d tuned parameters, want 1 or 2", d.Name, len(standard))
		}
		for _, point := range d.Grid {
			if _, err := ByName(d.Name, point); err != nil {
				t.Errorf("%s: grid point %v: %v", d.Name, point, err)
			}
		}
		if !slices.ContainsFunc(d.Grid, func(point map[string]string) bool { return sameSetting(point, standard) }) {
			t.Errorf("%s: the defaults %v are not in the grid %v", d.Name, standard, d.Grid)
		}
	}
}

// sameSetting compares two settings; durations may be spelt in two ways.
func sameSetting(a, b map[string]string) bool {
	for name, v := range a {
		x, errX := time.ParseDuration(v)
		y, errY := time.ParseDuration(b[name])
		if v != b[name] && (errX != nil || errY != nil || x != y) {
			return false
		}
	}
	return true
}

func TestByNameRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		params map[string]string
		want   []string // parts of the message
	}{
		"an unknown policy":             {"hpa-magic", nil, []string{`"hpa-magic"`, "hpa-kv", "spare-capacity"}},
		"an unknown parameter":          {"kpa", map[string]string{"speed": "1"}, []string{`no parameter "speed"`, "utilization", "grace-period"}},
		"a number that is none":         {"hpa-kv", map[string]string{"target": "much"}, []string{"hpa-kv", "target", `"much"`, "a number from 0.001"}},
		"not a number":                  {"hpa-kv", map[string]string{"target": "NaN"}, []string{"target", "NaN"}},
		"an infinite number":            {"hpa-kv", map[string]string{"target": "Inf"}, []string{"target", "+Inf"}},
		"a number out of range":         {"kpa", map[string]string{"utilization": "1.5"}, []string{"utilization", "1.5", "0.01 to 1"}},
		"a duration without its unit":   {"keda", map[string]string{"cooldown": "300"}, []string{"cooldown", `"300"`, "such as 30s"}},
		"a negative duration":           {"keda", map[string]string{"cooldown": "-1s"}, []string{"cooldown", "-1s", "0s upwards"}},
		"a count that is not whole":     {"static", map[string]string{"replicas": "1.5"}, []string{"replicas", `"1.5"`, "whole number"}},
		"a negative count":              {"static", map[string]string{"replicas": "-1"}, []string{"replicas", "-1", "0 upwards"}},
		"a word that is none of them":   {"dynamo-sla", map[string]string{"predictor": "oracle"}, []string{"predictor", `"oracle"`, "constant, kalman"}},
		"a tick longer than the period": {"dynamo-sla", map[string]string{"interval": "5s"}, []string{"tick", "15s", "5s"}},
		"thresholds that cross":         {"keda-slo", map[string]string{"down": "0.9"}, []string{"down", "0.9", "0.55"}},
		"equal thresholds":              {"dynamo-load", map[string]string{"down": "1"}, []string{"down", "less than up"}},
		"utilizations that cross":       {"spare-tokens", map[string]string{"up": "0.5"}, []string{"down", "0.7", "0.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ByName(c.policy, c.params)
			if err == nil || p != nil {
				t.Fatalf("got %v, %v, want an error alone", p, err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, want it to contain %q", err, part)
				}
			}
		})
	}
	_, err := ByName("unknown", nil)
	if unknown := new(UnknownPolicyError); !errors.As(err, &unknown) || !slices.Equal(unknown.Known, Names()) {
		t.Errorf("got %v, want an UnknownPolicyError with all names", err)
	}
	_, err = ByName("static", map[string]string{"k": "1"})
	if unknown := new(UnknownParamError); !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"replicas"}) {
		t.Errorf("got %v, want an UnknownParamError with the names", err)
	}
}

func TestConstructorsRefuseWhatByNameRefuses(t *testing.T) {
	if _, err := NewStatic(StaticParams{Replicas: -1}); err == nil {
		t.Error("NewStatic took -1 replicas")
	}
	if _, err := NewKPA(KPAParams{}); err == nil {
		t.Error("NewKPA took windows of 0")
	}
	if _, err := NewHPAKV(HPAParams{}); err == nil {
		t.Error("NewHPAKV took a target of 0")
	}
}

func TestDocumentationListsEveryPolicyWithItsDefaults(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	want := table(Catalogue())
	_, rest, _ := strings.Cut(string(text), "// # Policies\n//\n")
	got, _, _ := strings.Cut(rest, "//\n// # ")
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the table in doc.go (-got +want):\n%s\nwant in full:\n%s", diff, want)
	}
}

// table writes policies as doc.go lists them.
func table(all []Definition) string {
	var table strings.Builder
	for _, d := range all {
		var defaults []string
		for _, p := range d.Params {
			defaults = append(defaults, p.Name+"="+p.Default)
		}
		fmt.Fprintf(&table, "//	%s\n//	    source    %s\n//	    reads     %s\n//	    defaults  every %s: %s\n",
			d.Name, d.Source, d.Reads, spelling.Duration(d.Interval), strings.Join(defaults, " "))
	}
	return table.String()
}

// TestGridsHaveNoHoles names points that were best somewhere and that grids did not have.
func TestGridsHaveNoHoles(t *testing.T) {
	for _, tt := range []struct {
		policy string
		point  map[string]string
	}{
		{"hpa-rate", map[string]string{"share": "1.15", "stabilize-down": "300s"}},
		{"hpa-rate", map[string]string{"share": "1.3", "stabilize-down": "300s"}},
		{"hpa-inflight", map[string]string{"share": "1.15", "stabilize-down": "300s"}},
		{"keda-queue-guard", map[string]string{"running": "40", "stabilize-down": "300s"}},
		{"keda-epp", map[string]string{"running": "24", "stabilize-down": "60s"}},
		{"ray-serve", map[string]string{"target": "24", "downscale-delay": "300s"}},
	} {
		all := Catalogue()
		d := all[slices.IndexFunc(all, func(d Definition) bool { return d.Name == tt.policy })]
		if !slices.ContainsFunc(d.Grid, func(p map[string]string) bool { return sameSetting(p, tt.point) }) {
			t.Errorf("%s: %v is not in the grid %v", tt.policy, tt.point, d.Grid)
		}
	}
}
