package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// laughs returns a text in which each of so many values lists the one before it twice.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}

func TestAliasesThatMultiplyAreRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"many of a long text": {
			"a: &a \"" + strings.Repeat("x", 60_000) + "\"\nb: [" + strings.Repeat("*a,", 10_000) + "]\n",
			"it holds 10000 aliases: want at most 100",
		},
		"few of a long text": {
			"a: &a \"" + strings.Repeat("x", 600_000) + "\"\nb: [" + strings.Repeat("*a,", 100) + "]\n",
			"its aliases add 60000800 bytes: want at most 16384",
		},
		"each of the ones before": {laughs(50), "its aliases add 2147483647 or more bytes: want at most 16384"},
		"within its own value":    {"a: &a [*a]\n", "it holds an alias within the value that it names: want none"},
		"no anchor":               {"a: *b\nc: &d 1\n", "yaml: unknown anchor 'b' referenced"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decodeMapping(tt.text)
			runtime.ReadMemStats(&after)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(32<<20); got > most {
				t.Errorf("allocated %d bytes, want at most %d", got, most)
			}
		})
	}
}

func TestAFindingNamesTheKeyOfTheAliases(t *testing.T) {
	store, err := NewStore(StoreOptions{SystemNamespace: "sys"})
	if err != nil {
		t.Fatal(err)
	}
	body := "model_id: m\na: &a x\nb: [" + strings.Repeat("*a,", 101) + "]\n"
	got := store.Apply([]Source{{Namespace: "ns", Name: "saturation-scaling-config", Data: map[string]string{"e": body}}}).Findings
	const want = "ConfigMap ns/saturation-scaling-config, e: is not read: it holds 101 aliases: want at most 100: want YAML fields; in force: what it inherits"
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestAFewAliasesAreRead(t *testing.T) {
	got, err := decodeMapping("a: &a {x: 1}\nb: *a\nc: {<<: *a, z: 2}\n# a * & in a comment\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "map[a:map[x:1] b:map[x:1] c:map[x:1 z:2]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
