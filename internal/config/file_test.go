package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFileHoldsSettingsByTheNamesOfTheirVariables(t *testing.T) {
	known := []string{"LOG_LEVEL", "V", "LEADER_ELECT", "GLOBAL_OPT_INTERVAL", "WATCH_NAMESPACE"}
	got, err := ParseFile([]byte("# a comment\nLOG_LEVEL: debug\nV: 2\nLEADER_ELECT: true\nGLOBAL_OPT_INTERVAL: \" 30s \"\nWATCH_NAMESPACE:\n"), known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(File{"LOG_LEVEL": "debug", "V": "2", "LEADER_ELECT": "true", "GLOBAL_OPT_INTERVAL": "30s"}, got); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if value, ok := got.Lookup("WATCH_NAMESPACE"); ok {
		t.Errorf("got %q for a name without a value", value)
	}
	for _, content := range []string{"", "# comments alone\n"} {
		if got, err := ParseFile([]byte(content), known); err != nil || len(got) > 0 {
			t.Errorf("%q: got %v, %v; want nothing set", content, got, err)
		}
	}
}

func TestFileNamesEveryFault(t *testing.T) {
	_, err := ParseFile([]byte("LOG_LEVL: debug\nV: [1]\nwhatever: 1\n"), []string{"LOG_LEVEL", "V"})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{`"LOG_LEVL" is not a known setting; did you mean LOG_LEVEL?`, `"whatever" is not a known setting`, `V: "a list" is not accepted: want text, a number, true or false`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	if e := (&FieldError{}); !errors.As(err, &e) || e.Key != "V" {
		t.Errorf("got %v, want a FieldError of V", err)
	}
}

func TestFileThatIsNoMappingIsRefused(t *testing.T) {
	for _, content := range []string{"- a", "text", "{", "a: 1\na: 2", strings.Repeat("x", largestFile+1)} {
		if _, err := ParseFile([]byte(content), []string{"a"}); err == nil {
			t.Errorf("%.20q: got no error", content)
		}
	}
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "KEY_%d: x\n", i)
	}
	if _, err := ParseFile([]byte(many.String()), []string{"LOG_LEVEL"}); err == nil || len(err.Error()) > 8192 {
		t.Errorf("got an error of %d bytes, want a short one", len(fmt.Sprint(err)))
	}
}
