package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var (
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	llama = scaling.ModelKey{Namespace: "llm-inference", ID: "meta/llama-3.1-8b"}
)

// startUps are those of pods of variant v that took so long.
func startUps(took ...time.Duration) scaling.VariantStartUps {
	var out scaling.StartUps
	for i, t := range took {
		out = append(out, scaling.StartUp{Pod: fmt.Sprintf("pod-%04d", i), Created: noon.Add(time.Duration(i) * time.Minute), Took: t})
	}
	return scaling.VariantStartUps{"v": out}
}

// entryOf returns the entry of a model whose pods took so long.
func entryOf(t testing.TB, model scaling.ModelKey, took ...time.Duration) entry[scaling.VariantStartUps] {
	t.Helper()
	e, err := StartUps().format(model, noon.Add(400*time.Millisecond), startUps(took...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	e := entryOf(t, llama, time.Minute)
	const want = `{"version":1,"namespace":"llm-inference","model":"meta/llama-3.1-8b","at":"2026-11-20T12:00:00Z","data":{"v":["pod-0000 2026-11-20T12:00:00Z 1m0s"]},"sum":"`
	if !strings.HasPrefix(e.text, want) {
		t.Errorf("got %s, want %s...", e.text, want)
	}
	got, err := StartUps().parse(keyOf(llama), e.text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, e, cmp.AllowUnexported(entry[scaling.VariantStartUps]{})); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestAnEntryThatIsNotAsAManagerWroteItIsRefused(t *testing.T) {
	key, text := keyOf(llama), entryOf(t, llama, time.Minute).text
	newer, err := Kind[scaling.VariantStartUps]{Version: 2}.format(llama, noon, startUps(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := envelope{Version: 1, Namespace: llama.Namespace, Model: llama.ID, At: noon, Data: []byte(`{"v":["p 2026-11-20T12:00:00Z 99h"]}`)}.sealed()
	if err != nil {
		t.Fatal(err)
	}
	long := text + strings.Repeat(" ", 8<<10)
	tests := map[string]struct{ key, text, want string }{
		"nothing":                 {key, "", "it is no JSON of an entry: unexpected end of JSON input"},
		"words":                   {key, "startUp: 2m", "it is no JSON of an entry: invalid character 's' looking for beginning of value"},
		"cut off":                 {key, text[:len(text)-9], "it is no JSON of an entry: unexpected end of JSON input"},
		"of a later version":      {key, newer.text, "its version is 2, this manager reads 1"},
		"without a version":       {key, `{"data":{}}`, "its version is 0, this manager reads 1"},
		"edited":                  {key, strings.Replace(text, "1m0s", "9m0s", 1), "its checksum is not that of its text, which was changed by hand or cut off"},
		"with one more field":     {key, strings.Replace(text, `"data"`, `"note":1,"data"`, 1), `it is no JSON of an entry: json: unknown field "note"`},
		"with more behind it":     {key, text + "{}", "it is no JSON of an entry: invalid character '{' after top-level value"},
		"of another model":        {"x", text, "it is of model llm-inference/meta/llama-3.1-8b, whose key is " + key},
		"too long":                {key, long, fmt.Sprintf("it has %d bytes, want at most 8192", len(key)+len(long))},
		"sealed, of no start-ups": {key, wrong, "its data cannot be read: a start-up took 99h0m0s: want more than 0 and at most 1h0m0s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := StartUps().parse(tt.key, tt.text); err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestWhiteSpaceIsNoChange(t *testing.T) {
	text := strings.ReplaceAll(entryOf(t, llama, time.Minute).text, `,"`, ",\n  \"")
	if _, err := StartUps().parse(keyOf(llama), text); err != nil {
		t.Error(err)
	}
}

func TestKeysAreOfOneModelAndAccepted(t *testing.T) {
	models := []scaling.ModelKey{
		llama,
		{Namespace: "llm-inference", ID: "meta-llama-3.1-8b"},
		{Namespace: "llm", ID: "inference.meta/llama-3.1-8b"},
		{Namespace: strings.Repeat("n", 63), ID: strings.Repeat("模型/", 500)},
		{Namespace: "a", ID: ""},
	}
	seen := map[string]scaling.ModelKey{}
	for _, m := range models {
		key := keyOf(m)
		if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
			t.Errorf("key %q: %v", key, problems)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s have one key", m, other)
		}
		seen[key] = m
	}
	if got, want := keyOf(llama), "llm-inference.meta-llama-3.1-8b."; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s and a hash", got, want)
	}
}

func TestAModelWithManyVariantsTakesTheRoomOfOne(t *testing.T) {
	many := scaling.VariantStartUps{}
	for i := range 30 {
		for name, ups := range startUps(make([]time.Duration, 20)...) {
			for j := range ups {
				ups[j].Took = time.Minute
			}
			many[fmt.Sprintf("%s-%02d", name, i)] = ups
		}
	}
	kind := StartUps()
	e, err := kind.fit(llama, noon, many)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(keyOf(llama)) + len(e.text); size > kind.EntryBytes || len(e.value) != 30 {
		t.Errorf("got %d variants in %d bytes, want all 30 in at most %d", len(e.value), size, kind.EntryBytes)
	}
	kind.EntryBytes = 200
	if e, err := kind.fit(llama, noon, many); err == nil || err.Error() != "the entry of model llm-inference/meta/llama-3.1-8b has 225 bytes, want at most 200" {
		t.Errorf("got %v, %d variants", err, len(e.value))
	}
}

// FuzzParse: whatever a ConfigMap holds, it is refused, or is what a manager wrote.
func FuzzParse(f *testing.F) {
	for _, e := range []entry[scaling.VariantStartUps]{
		entryOf(f, llama), entryOf(f, llama, time.Minute, 90*time.Second), entryOf(f, scaling.ModelKey{Namespace: "a", ID: "<&>\u2028"}, time.Second),
	} {
		f.Add(keyOf(e.model), e.text)
		f.Add(keyOf(e.model), strings.Replace(e.text, "1", "2", 1))
	}
	f.Add("", "")
	f.Add("k", `{"version":1}`)
	f.Add("k", `{"version":1,"version":2,"data":null}`)
	f.Fuzz(func(t *testing.T, key, text string) {
		kind := StartUps()
		e, err := kind.parse(key, text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if key != keyOf(e.model) {
			t.Errorf("key %q is accepted for model %s", key, e.model)
		}
		again, err := kind.format(e.model, e.at, e.value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := kind.parse(key, again.text)
		if err != nil {
			t.Fatalf("%s, written again, is refused: %v", text, err)
		}
		if diff := cmp.Diff(back.value, e.value); diff != "" {
			t.Errorf("written again, it says something else:\n%s", diff)
		}
		for _, ups := range e.value {
			for _, one := range ups {
				if one.Took <= 0 || one.Took > scaling.LongestStartUp {
					t.Errorf("a start-up of %s is accepted", one.Took)
				}
			}
		}
	})
}
