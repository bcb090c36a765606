package config

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
)

func example(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "system.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestYAMLAndJSONLoadAlike(t *testing.T) {
	text := example(t)
	fromYAML, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := Parse(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Errorf("YAML and JSON differ (-yaml +json):\n%s", diff)
	}
	chat := fromYAML.ServerData.Servers[0]
	want := Load{ArrivalRate: 600, InputTokens: 128, OutputTokens: 128}
	if chat.Name != "chat" || chat.CurrentAlloc.Load != want {
		t.Errorf("got server %q with load %+v, want chat with %+v", chat.Name, chat.CurrentAlloc.Load, want)
	}
}

func TestWhatIsWrittenLoadsAgain(t *testing.T) {
	system, err := Parse(example(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Document{System: system})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(system, again); diff != "" {
		t.Errorf("lost on the way (-before +after):\n%s", diff)
	}
}

// TestPublishedDocumentsLoad reads every recorded document as it is.
func TestPublishedDocumentsLoad(t *testing.T) {
	for _, c := range goldentest.Read[json.RawMessage, any](t, "solver") {
		if _, err := Parse(c.Inputs); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
}

func TestFaultsNameFieldValueAndRange(t *testing.T) {
	tests := []struct {
		name         string
		old, changed string // replaced in the example
		want         []string
	}{
		{
			"unknown key", "minNumReplicas: 1", "minReplicas: 1",
			[]string{"system.serverData.servers[0].minReplicas: 1 is not accepted: want no such key here; the keys are name, class, model, keepAccelerator, minNumReplicas, maxBatchSize, currentAlloc, desiredAlloc"},
		},
		{
			"text for a number", "cost: 23", `cost: "23"`,
			[]string{`system.acceleratorData.accelerators[2].cost: "23" is not accepted: want a number`},
		},
		{
			"not a number", "cost: 23", "cost: .nan",
			[]string{`system.acceleratorData.accelerators[2].cost: ".nan" is not accepted: want a number`},
		},
		{
			"infinite numbers", "power: {idle: 50, full: 350,", "power: {idle: .inf, full: -.Inf,",
			[]string{
				`system.acceleratorData.accelerators[0].power.full: "-.Inf" is not accepted: want a number`,
				`system.acceleratorData.accelerators[0].power.idle: ".inf" is not accepted: want a number`,
			},
		},
		{
			"fraction for a count", "numReplicas: 1", "numReplicas: 1.5",
			[]string{"system.serverData.servers[0].currentAlloc.numReplicas: 1.5 is not accepted: want an integer of at most 64 bits, without fraction or exponent"},
		},
		{
			"text for a truth", "unlimited: false", `unlimited: "no"`,
			[]string{`system.optimizerData.optimizer.unlimited: "no" is not accepted: want true or false`},
		},
		{
			"number for a name", "name: chat", "name: 7",
			[]string{"system.serverData.servers[0].name: 7 is not accepted: want text, in quotes"},
		},
		{
			"object for a list", "count: [{type: NVIDIA-A100-PCIE-80GB, count: 8}, {type: Intel-Gaudi-2-96GB, count: 4}]", "count: {G2: 4}",
			[]string{`system.capacityData.count: {"G2":4} is not accepted: want a list`},
		},
		{
			"text for an object", "power: {idle: 50, full: 350, midPower: 150, midUtil: 0.4}", "power: 50W",
			[]string{`system.acceleratorData.accelerators[0].power: "50W" is not accepted: want an object`},
		},
		{
			"number beyond 64 bits", "cost: 23", "cost: 1e400",
			[]string{`system.acceleratorData.accelerators[2].cost: `},
		},
		{
			"negative cost", "cost: 23", "cost: -23",
			[]string{"system.acceleratorData.accelerators[2].cost: -23 is not accepted: want 0 to 1e+12"},
		},
		{
			"absurd cost", "cost: 23", "cost: 1e13",
			[]string{"system.acceleratorData.accelerators[2].cost: 1e+13 is not accepted: want 0 to 1e+12"},
		},
		{
			"utilization above 1", "midUtil: 0.4", "midUtil: 40",
			[]string{"system.acceleratorData.accelerators[0].power.midUtil: 40 is not accepted: want 0 to 1"},
		},
		{
			"negative count", "multiplicity: 2", "multiplicity: -2",
			[]string{"system.acceleratorData.accelerators[1].multiplicity: -2 is not accepted: want 0 to 1000000"},
		},
		{
			"same accelerator twice", "name: G2, type", "name: A100, type",
			[]string{
				`system.acceleratorData.accelerators[2].name: "A100" is not accepted: want a name of its own; it is that of system.acceleratorData.accelerators[0].name`,
				`system.modelData.models[1].acc: "G2" is not accepted: want the name of a declared accelerator`,
			},
		},
		{
			"same profile twice", "acc: G2,", "acc: A100,",
			[]string{`system.modelData.models[1]: "llama-8b" on "A100" is not accepted: want a name of its own; it is that of system.modelData.models[0]`},
		},
		{
			"unknown accelerator of a profile", "acc: G2,", "acc: G3,",
			[]string{`system.modelData.models[1].acc: "G3" is not accepted: want the name of a declared accelerator`},
		},
		{
			"two service models", "serviceParms:", "decodeParms: {alpha: 1, beta: 1}, serviceParms:",
			[]string{"system.modelData.models[2]: both is not accepted: want decodeParms and prefillParms, or serviceParms, with at least one parameter above 0"},
		},
		{
			"no time to serve", "serviceParms: {alpha: 8, beta: 0.02, gamma: 0.00005}", "serviceParms: {}",
			[]string{"system.modelData.models[2]: a service time of 0 is not accepted: want decodeParms and prefillParms, or serviceParms, with at least one parameter above 0"},
		},
		{
			"same class twice", "name: Premium", "name: Free",
			[]string{
				`system.serviceClassData.serviceClasses[1].name: "Free" is not accepted: want a name of its own; it is that of system.serviceClassData.serviceClasses[0].name`,
				`system.serverData.servers[0].class: "Premium" is not accepted: want the name of a declared service class`,
			},
		},
		{
			"priority out of range", "priority: 1", "priority: 101",
			[]string{"system.serviceClassData.serviceClasses[0].priority: 101 is not accepted: want 1 to 100, lower is more important, or 0 for 100"},
		},
		{
			"unknown class", "class: Premium", "class: Gold",
			[]string{`system.serverData.servers[0].class: "Gold" is not accepted: want the name of a declared service class`},
		},
		{
			"default class not declared", "name: Free", "name: Low",
			[]string{`system.serverData.servers[1].class: "" is not accepted: want a declared service class; the default, "Free", is not declared`},
		},
		{
			"same server twice", "name: batch", "name: chat",
			[]string{`system.serverData.servers[1].name: "chat" is not accepted: want a name of its own; it is that of system.serverData.servers[0].name`},
		},
		{
			"unknown current accelerator", "accelerator: A100", "accelerator: V100",
			[]string{`system.serverData.servers[0].currentAlloc.accelerator: "V100" is not accepted: want the name of a declared accelerator`},
		},
		{
			"unknown policy", "saturationPolicy: PriorityExhaustive", "saturationPolicy: roundrobin",
			[]string{`system.optimizerData.optimizer.saturationPolicy: "roundrobin" is not accepted: want one of None, PriorityExhaustive, PriorityRoundRobin, RoundRobin`},
		},
		{
			"limited without capacity", "capacityData:\n    count: [{type: NVIDIA-A100-PCIE-80GB, count: 8}, {type: Intel-Gaudi-2-96GB, count: 4}]", "capacityData: null",
			[]string{"system.capacityData: nothing is not accepted: want the accelerators in stock by type, or system.optimizerData.optimizer.unlimited: true"},
		},
		{
			"same type in stock twice", "{type: Intel-Gaudi-2-96GB, count: 4}", "{type: NVIDIA-A100-PCIE-80GB, count: 4}",
			[]string{`system.capacityData.count[1].type: "NVIDIA-A100-PCIE-80GB" is not accepted: want a name of its own; it is that of system.capacityData.count[0].type`},
		},
		{
			"no system", "system:", "sistem:",
			[]string{"system: nothing is not accepted: want an object; it is the key at the top of the document"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := string(example(t))
			if strings.Count(text, test.old) == 0 {
				t.Fatalf("the example has no %q", test.old)
			}
			_, err := Parse([]byte(strings.Replace(text, test.old, test.changed, 1)))
			if _, ok := errors.AsType[*FieldError](err); !ok {
				t.Fatalf("got %v, want a FieldError", err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(test.want) {
				t.Fatalf("got %d faults, want %d:\n%v", len(got), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got  %s\nwant %s", got[i], want)
				}
			}
		})
	}
}

func TestTextThatIsNoDocumentIsAnError(t *testing.T) {
	for _, text := range []string{"", "null", "[]", "7", "system: 7", "system: {", "system: {}\nsystem: {}", "system: {acceleratorData: {accelerators: .nan}}"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

func TestJSONIsReadAsJSON(t *testing.T) {
	asJSON, err := yaml.YAMLToJSON(example(t))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(asJSON), `"chat"`, `"\ud83d\ude00"`, 1)
	system, err := Parse([]byte("\ufeff\t\r\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	if got := system.ServerData.Servers[0].Name; got != "\U0001F600" {
		t.Errorf("got name %q, want that of the escape", got)
	}
	twice := strings.Replace(string(asJSON), `"system":{`, `"system":{"capacityData":null,`, 1)
	const want = "parsing the system: system.capacityData: {"
	if _, err := Parse([]byte(twice)); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "want one value; it is also null") {
		t.Errorf("a key given twice: got %v, want %s...", err, want)
	}
}

func TestPublishedZerosStayAccepted(t *testing.T) {
	const text = `system:
  acceleratorData: {accelerators: [{name: A100}]}
  modelData: {models: [{name: m, acc: A100, decodeParms: {alpha: 1}}]}
  serviceClassData: {serviceClasses: [{name: Free}]}
  serverData: {servers: [{name: s, model: unknown, currentAlloc: {load: {arrivalRate: -5}}}]}
  optimizerData: {optimizer: {saturationPolicy: ""}}
  capacityData: {count: null}
`
	if _, err := Parse([]byte(text)); err != nil {
		t.Error(err)
	}
}

func TestNumbersThatAreNotFiniteAreNotAccepted(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		system, err := Parse(example(t))
		if err != nil {
			t.Fatal(err)
		}
		system.ServerData.Servers[0].CurrentAlloc.Load.ArrivalRate = x
		err = system.Validate()
		if _, ok := errors.AsType[*FieldError](err); !ok {
			t.Errorf("arrival rate %g: got %v, want a FieldError", x, err)
		}
	}
}

// FuzzParse looks for text that panics, that is accepted and does not survive
// being written and read, or an error that says nothing.
func FuzzParse(f *testing.F) {
	f.Add(string(example(f)))
	f.Add(`{"system":{}}`)
	f.Add(`{"system":{"capacityData":{"count":[{"type":"a","count":1e2}]}}}`)
	f.Add("system: {serverData: {servers: [{name: a, class: b, currentAlloc: {load: {arrivalRate: .inf}}}]}}")
	f.Add(`{"system":{"serverData":{"servers":[{"name":"\ud83d\ude00"}]}},"system":{}}`)
	f.Add("system: &a [*a]")
	f.Add("[")
	f.Fuzz(func(t *testing.T, text string) {
		system, err := Parse([]byte(text))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		written, err := json.Marshal(Document{System: system})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(written); err != nil {
			t.Fatalf("accepted, written as %s, and then not accepted: %v", written, err)
		}
	})
}
