package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgressSaysWhatGoDoes(t *testing.T) {
	const errorLine = "x/x.go:3:6: undefined: y"
	tests := []struct {
		name  string
		lines []string
		want  string // of the line that is shown
	}{
		{"nothing yet", nil, "looking for what is built already, and linking, 1m30s"},
		{"downloads", []string{"go: downloading k8s.io/api v0.36.3"}, "downloading k8s.io/api v0.36.3 module 1, 1m30s"},
		{"compiles", []string{"go: downloading m v1", "errors", "k8s.io/api/core/v1"}, "compiling k8s.io/api/core/v1 2/3 packages, 1m30s"},
		{"passes errors on", []string{"errors", "# x", errorLine}, "compiling errors 1/3 packages, 1m30s"},
		{"links", []string{"errors", "x/main"}, "linking OUT 2/3 packages, 1m30s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			begin := time.Now()
			p := &progress{out: &out, name: "OUT", begin: begin, phase: firstPhase}
			p.plan([]string{"errors", "k8s.io/api/core/v1", "x/main"})
			for _, line := range test.lines {
				p.line(line)
			}
			if passed := strings.Contains(out.String(), errorLine); passed != strings.Contains(test.name, "errors") {
				t.Errorf("passed the error on: %t", passed)
			}
			out.Reset()
			p.show(begin.Add(90 * time.Second))
			if got := strings.TrimSpace(out.String()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
