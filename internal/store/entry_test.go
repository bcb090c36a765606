package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var (
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	llama = scaling.ModelKey{Namespace: "llm-inference", ID: "meta/llama-3.1-8b"}
)

// startUps are those of pods of variant v that took so long.
func startUps(took ...time.Duration) memory.VariantStartUps {
	var out memory.StartUps
	for i, t := range took {
		out = append(out, memory.StartUp{Pod: fmt.Sprintf("pod-%04d", i), Created: noon.Add(time.Duration(i) * time.Minute), Took: t})
	}
	return memory.VariantStartUps{"v": out}
}

// entryOf returns the entry of a model whose pods took so long.
func entryOf(t testing.TB, model scaling.ModelKey, took ...time.Duration) entry[memory.VariantStartUps] {
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
	if diff := cmp.Diff(got, e, cmp.AllowUnexported(entry[memory.VariantStartUps]{})); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestAnEntryThatIsNotAsAManagerWroteItIsRefused(t *testing.T) {
	key, text := keyOf(llama), entryOf(t, llama, time.Minute).text
	newer, err := Kind[memory.VariantStartUps]{Version: 2}.format(llama, noon, startUps(time.Minute))
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
	many := memory.VariantStartUps{}
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

// fits are those of so many variants, each seen at 1 to 2^bands requests.
func fits(variants, bands int) memory.VariantFits {
	out := memory.VariantFits{}
	for i := range variants {
		f := memory.Fit{At: noon.Add(time.Duration(i) * time.Minute), Of: memory.Subject{Accelerator: "NVIDIA-H100-80GB-HBM3", GPUs: 8, Template: "0123456789abcdef"}}
		for of := range bands {
			var s memory.Sums
			f.Bands = append(f.Bands, memory.Band{Of: of, ITL: s.Plus([3]float64{1, 3, 7}, 11.3, 9, 10), TTFT: s.Plus([3]float64{1, 11.3, 500}, 77, 9, 10)})
		}
		out[fmt.Sprintf("llama-3-1-8b-instruct-on-nvidia-h100-%03d", i)] = f
	}
	return out
}

// TestFitsTakeLittleRoom: of a model with one variant, and of one with very many, which
// are those that were seen last.
func TestFitsTakeLittleRoom(t *testing.T) {
	kind := Fits()
	for name, tt := range map[string]struct{ variants, bands, kept, most int }{
		"one variant, up to 64 requests":   {1, 6, 1, 1200},
		"one variant, up to 1024 requests": {1, 10, 1, 1700},
		"eight variants":                   {8, 6, 8, 8 << 10},
		"a hundred variants":               {100, 6, 18, kind.EntryBytes},
	} {
		e, err := kind.fit(llama, noon, fits(tt.variants, tt.bands))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if size := len(keyOf(llama)) + len(e.text); size > tt.most || len(e.value) != tt.kept {
			t.Errorf("%s: %d kept in %d bytes, want %d in at most %d", name, len(e.value), size, tt.kept, tt.most)
		}
		last := fmt.Sprintf("llama-3-1-8b-instruct-on-nvidia-h100-%03d", tt.variants-1)
		if _, in := e.value[last]; !in {
			t.Errorf("%s: the one that was seen last is left out", name)
		}
	}
}

// TestAnEntryOfFitsThatIsNoneIsRefused, and the other entries are read.
func TestAnEntryOfFitsThatIsNoneIsRefused(t *testing.T) {
	kind := Fits()
	good, err := kind.format(llama, noon, fits(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	older, err := Kind[memory.VariantFits]{Version: 0}.format(llama, noon, fits(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := envelope{Version: 1, Namespace: llama.Namespace, Model: llama.ID, At: noon, Data: []byte(`{"v":{"at":"2026-11-20T12:00:00Z","bands":"AAAA"}}`)}.sealed()
	if err != nil {
		t.Fatal(err)
	}
	other := scaling.ModelKey{Namespace: "a", ID: "b"}
	entry, err := kind.format(other, noon, fits(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"edited":                {strings.Replace(good.text, "H100", "L40S", 1), "it is ignored: its checksum is not that of its text, which was changed by hand or cut off"},
		"of an older manager":   {older.text, "it is ignored: its version is 0, this manager reads 1"},
		"sealed, of no sums":    {wrong, "it is ignored: its data cannot be read: variant v: its sums have 3 and 0 bytes: want some, 89 for each band and 44 beside them"},
		"as a manager wrote it": {good.text, ""},
	} {
		k := newKnown(kind)
		ignored := k.takeOver(&corev1.ConfigMap{Data: map[string]string{keyOf(llama): tt.text, keyOf(other): entry.text}})
		got := ""
		for _, i := range ignored {
			got += "it is ignored: " + i.why
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if _, in := k.values()[other]; !in {
			t.Errorf("%s: the other entry does not apply", name)
		}
	}
}

// FuzzParseFits: whatever an entry says, it is refused, or says the same written again.
func FuzzParseFits(f *testing.F) {
	for _, data := range []string{`null`, `{}`, `{"v":{"at":"2026-11-20T12:00:00Z","bands":"AAAA"}}`} {
		f.Add(data)
	}
	for _, v := range []memory.VariantFits{fits(1, 1), fits(2, 3)} {
		text, err := v.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, data string) {
		kind := Fits()
		text, err := envelope{Version: kind.Version, Namespace: llama.Namespace, Model: llama.ID, At: noon, Data: []byte(data)}.sealed()
		if err != nil {
			return // no JSON
		}
		e, err := kind.parse(keyOf(llama), text)
		if err != nil {
			return
		}
		again, err := kind.format(e.model, e.at, e.value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := kind.parse(keyOf(llama), again.text)
		if err != nil {
			t.Fatalf("%s, written again, is refused: %v", text, err)
		}
		if diff := cmp.Diff(back.value, e.value); diff != "" {
			t.Errorf("written again, it says something else:\n%s", diff)
		}
		for name, f := range e.value {
			if !f.Seen() || e.value.String() == "" {
				t.Errorf("variant %s is accepted, of which nothing was seen", name)
			}
		}
	})
}

// FuzzParse: any entry is either refused, or equals one that a manager wrote.
func FuzzParse(f *testing.F) {
	for _, e := range []entry[memory.VariantStartUps]{
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
				if one.Took <= 0 || one.Took > memory.LongestStartUp {
					t.Errorf("a start-up of %s is accepted", one.Took)
				}
			}
		}
	})
}
