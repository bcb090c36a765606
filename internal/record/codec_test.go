package record

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record/recordtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestNothingIsLost fails for a field that the codec does not carry, whatever
// types it is added to: every field is filled by reflection.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(300) {
		f := recordtest.Filler{Rand: rand.New(rand.NewPCG(seed, 0)), Zeros: []float64{0, 0.3, 0.8}[seed%3]}
		var c Cycle
		f.Fill(&c)
		c.Format = Format
		text := c.Append(nil)
		got, err := decode(text)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text)
		}
		if diff := cmp.Diff(c, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("seed %d: lost (-) or made up (+):\n%s", seed, diff)
		}
		if again := got.Append(nil); !bytes.Equal(text, again) {
			t.Fatalf("seed %d: equal cycles are other bytes:\n%s\n%s", seed, text, again)
		}
		if bytes.ContainsRune(text, '\n') {
			t.Fatalf("seed %d: a record is more than a line:\n%s", seed, text)
		}
	}
}

func TestTheFillerLeavesNothingZero(t *testing.T) {
	var c Cycle
	recordtest.Filler{Rand: rand.New(rand.NewPCG(1, 1))}.Fill(&c)
	var check func(path string, v reflect.Value)
	check = func(path string, v reflect.Value) {
		if v.IsZero() {
			t.Errorf("%s is zero: a field that is lost would not be noticed", path)
		}
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				check(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Pointer:
			check(path, v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				check(path, v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				check(path, v.MapIndex(key))
			}
		default:
		}
	}
	check("Cycle", reflect.ValueOf(c))
}

func TestATypeThatNoRecordCanCarryIsAMistakeOfTheProgram(t *testing.T) {
	for name, v := range map[string]any{
		"a function":           struct{ F func() }{},
		"a field without name": struct{ N int }{},
		"a field left out": struct {
			N int `json:"-"`
		}{},
		"a hidden field": struct{ time.Location }{},
		"another map": struct {
			M map[string]int `json:"m"`
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, "record: ") {
					t.Errorf("panicked with %q, want that no record can carry it", got)
				}
			}()
			newBuilder().of(reflect.TypeOf(v))
		})
	}
}

func TestEveryFreshnessHasAWord(t *testing.T) {
	for f := scaling.Freshness(1); f.String() != scaling.Absent.String(); f++ {
		if int(f) >= len(states) || states[f] == "" {
			t.Errorf("%s has none", f)
		}
	}
	if words := slices.Compact(slices.Sorted(slices.Values(states))); len(words) != len(states) {
		t.Errorf("two states share a word: %q", states)
	}
}

func TestOrderOfMapsAndClocksReachNoByte(t *testing.T) {
	at := time.Now() // with its monotonic clock
	c := Cycle{Now: at, History: memory.History{}}
	d := Cycle{Now: at.Round(0).In(time.FixedZone("east", 3600)), History: memory.History{}}
	for i := range 20 {
		c.History[scaling.VariantKey{Namespace: "ns", Name: string(rune('a' + i))}] = memory.Past{Desired: scaling.Replicas(i)}
		d.History[scaling.VariantKey{Namespace: "ns", Name: string(rune('a' + 19 - i))}] = memory.Past{Desired: scaling.Replicas(19 - i)}
	}
	if a, b := c.Append(nil), d.Append(nil); !bytes.Equal(a, b) {
		t.Errorf("got %s\nand %s", a, b)
	}
}

func TestReadingsAreShort(t *testing.T) {
	tests := map[string]scaling.Reading{
		`{"pod":"p","variant":{"namespace":"","name":""},"ready":false,"kvCacheUsage":0.25}`:                              {Value: 0.25, State: scaling.Fresh},
		`{"pod":"p","variant":{"namespace":"","name":""},"ready":false}`:                                                  {},
		`{"pod":"p","variant":{"namespace":"","name":""},"ready":false,"kvCacheUsage":"notApplicable"}`:                   {State: scaling.NotApplicable},
		`{"pod":"p","variant":{"namespace":"","name":""},"ready":false,"kvCacheUsage":{"value":0.25,"state":"aging"}}`:    {Value: 0.25, State: scaling.Aging},
		`{"pod":"p","variant":{"namespace":"","name":""},"ready":false,"kvCacheUsage":{"value":1000000,"state":"stale"}}`: {Value: 1e6, State: scaling.Stale},
	}
	for want, reading := range tests {
		s := scaling.ReplicaSample{Pod: "p", KVCacheUsage: reading}
		got := forms().of(reflect.TypeFor[scaling.ReplicaSample]()).append(nil, reflect.ValueOf(&s).Elem())
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
