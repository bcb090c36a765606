package logging

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLevelDecidesWhichLinesAreWritten(t *testing.T) {
	tests := map[string][]string{
		"debug": {"detail", "news", "trouble"},
		"info":  {"news", "trouble"},
		"warn":  {"trouble"},
		"error": {"trouble"},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			level, err := NewLevel(name)
			if err != nil {
				t.Fatal(err)
			}
			if level.String() != name {
				t.Errorf("called %s", level)
			}
			if diff := cmp.Diff(want, written(t, level)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// written returns the messages that come through from a logger and its children.
func written(t *testing.T, level *Level) []string {
	t.Helper()
	var out bytes.Buffer
	log := New(&out, level)
	log.V(1).Info("detail")
	log.WithName("child").WithValues("cycle", "k-1").Info("news")
	log.Error(nil, "trouble")
	var messages []string
	for line := range strings.Lines(out.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		messages = append(messages, entry.Msg)
	}
	return messages
}

// TestLinesNameTheLevelsThatCanBeSet: what LOG_LEVEL takes is what a line says.
func TestLinesNameTheLevelsThatCanBeSet(t *testing.T) {
	level, err := NewLevel("debug")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := New(&out, level)
	log.V(1).Info("detail")
	log.V(4).Info("more")
	log.Info("news", "level", "high")
	log.Error(nil, "trouble")
	var said []string
	for line := range strings.Lines(out.String()) {
		said = append(said, line[strings.Index(line, `"level"`):strings.Index(line, `,"msg"`)])
	}
	if diff := cmp.Diff([]string{`"level":"DEBUG"`, `"level":"DEBUG"`, `"level":"INFO"`, `"level":"ERROR"`}, said); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
}

func TestLevelChangesWhileALoggerIsInUse(t *testing.T) {
	var out bytes.Buffer
	level := &Level{}
	child := New(&out, level).WithName("child").WithValues("namespace", "prod")
	lines := func() int {
		out.Reset()
		child.V(1).Info("detail")
		child.Info("news")
		return strings.Count(out.String(), "\n")
	}
	for _, step := range []struct {
		level string
		want  int
	}{{"info", 1}, {"debug", 2}, {"error", 0}, {"info", 1}} {
		if err := level.SetLevel(step.level); err != nil {
			t.Fatal(err)
		}
		if got := lines(); got != step.want {
			t.Errorf("%s: %d lines, want %d", step.level, got, step.want)
		}
	}
}

func TestUnknownLevelIsRefusedAndChangesNothing(t *testing.T) {
	for _, name := range []string{"", "verbose", "DEBUG", "info+2", "4"} {
		if _, err := NewLevel(name); err == nil {
			t.Errorf("%q was accepted", name)
		}
		level := &Level{}
		if err := level.SetLevel("warn"); err != nil {
			t.Fatal(err)
		}
		if err := level.SetLevel(name); err == nil || !strings.Contains(err.Error(), "debug, info, warn or error") {
			t.Errorf("%q: error %v does not say what is accepted", name, err)
		}
		if level.String() != "warn" {
			t.Errorf("%q: the level became %s", name, level)
		}
	}
}

// TestLevelIsSetWhileOthersLog is for the race detector.
func TestLevelIsSetWhileOthersLog(t *testing.T) {
	level := &Level{}
	log := New(io.Discard, level)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			for _, name := range []string{"debug", "error"} {
				if err := level.SetLevel(name); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 100 {
		log.V(1).Info("detail")
	}
	wg.Wait()
}
