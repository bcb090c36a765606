package core

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// parts are two accelerators, one model on both, two classes and three servers.
func parts() Parts {
	profile := func(accelerator string, alpha float64) Profile {
		return Profile{
			Accelerator: accelerator, MaxBatch: 32, AtTokens: 128,
			Service: analyzer.FourParameter{Alpha: alpha, Beta: 0.3, Gamma: 5, Delta: 0.1},
		}
	}
	load := Load{ArrivalRate: 5, InputTokens: 128, OutputTokens: 128}
	return Parts{
		Accelerators: []Accelerator{{Name: "A100", Cost: 40}, {Name: "MI300X", Cost: 65}},
		Models:       []Model{{Name: "llama", Profiles: []Profile{profile("A100", 20), profile("MI300X", 8)}}, {Name: "bare"}},
		Classes: []ServiceClass{
			{Name: "Premium", Priority: 1, Targets: []Target{{Model: "llama", ITL: 24, TTFT: 500}}},
			{Name: "Free", Priority: 10, Targets: []Target{{Model: "llama", ITL: 15}, {Model: "bare"}}},
		},
		Servers: []Server{
			{Name: "b", Class: "Premium", Model: "llama", Load: load},
			{Name: "a", Class: "Free", Model: "llama", Load: load},
			{Name: "c", Class: "Premium", Model: "llama", Load: load, KeepAccelerator: true, Current: Allocation{Accelerator: "MI300X"}},
		},
	}
}

func newSystem(t *testing.T, p Parts) System {
	t.Helper()
	s, err := NewSystem(p, Correct)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChoicesAreSortedAndSayWhatIsRefused(t *testing.T) {
	var got []string
	for _, c := range newSystem(t, parts()).Choices() {
		line := c.Server.Name + ":"
		for _, a := range c.Candidates {
			line += " " + a.Accelerator
		}
		for _, r := range c.Refused {
			line += " not " + r.Accelerator
		}
		got = append(got, line)
	}
	want := []string{"a: MI300X not A100", "b: MI300X A100", "c: MI300X"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

func TestServersWithoutAnyCandidateSayWhy(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Server)
		want   string
	}{
		{"no target", func(s *Server) { s.Class, s.Model = "Premium", "bare" }, `class "Premium" has no targets for model "bare"`},
		{"no profile", func(s *Server) { s.Class, s.Model = "Free", "bare" }, `keeps accelerator "MI300X", on which model "bare" has no profile`},
		{"no such accelerator", func(s *Server) { s.Current.Accelerator = "V100" }, `keeps accelerator "V100", on which model "llama" has no profile`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := parts()
			test.change(&p.Servers[2])
			c, ok := newSystem(t, p).Choice("c")
			if !ok || len(c.Candidates) != 0 || len(c.Refused) != 1 {
				t.Fatalf("got %+v, want one reason and no candidate", c)
			}
			if got := c.Refused[0].Err.Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPartsInAnyOrderAreTheSameSystem(t *testing.T) {
	want := newSystem(t, parts()).Choices()
	rng := rand.New(rand.NewPCG(3, 0))
	for range 20 {
		p := parts()
		shuffle(rng, p.Accelerators)
		shuffle(rng, p.Classes)
		shuffle(rng, p.Servers)
		shuffle(rng, p.Models)
		for _, m := range p.Models {
			shuffle(rng, m.Profiles)
		}
		byMessage := cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })
		if diff := cmp.Diff(want, newSystem(t, p).Choices(), cmpopts.IgnoreUnexported(Choice{}), byMessage); diff != "" {
			t.Fatalf("another order gives another system (-want +got):\n%s", diff)
		}
	}
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

func TestPartsThatContradictAreNamed(t *testing.T) {
	p := parts()
	p.Accelerators = append(p.Accelerators, Accelerator{Name: "A100"})
	p.Models = append(p.Models, Model{Name: "llama"}, Model{Name: "m", Profiles: []Profile{{Accelerator: "V100"}, {Accelerator: "V100"}}})
	p.Classes = append(p.Classes, ServiceClass{Name: "Free"})
	p.Servers = append(p.Servers, Server{Name: "a", Class: "Gold"})
	_, err := NewSystem(p, Correct)
	if err == nil {
		t.Fatal("got no error")
	}
	want := []string{
		`two accelerators have the name "A100"`,
		`two models have the name "llama"`,
		`model "m" has a profile on accelerator "V100", which is not among the accelerators`,
		`two profiles of model m have the name "V100"`,
		`model "m" has a profile on accelerator "V100", which is not among the accelerators`,
		`two service classes have the name "Free"`,
		`two servers have the name "a"`,
		`server "a" is of class "Gold", which is not among the service classes`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestChoicePredictsOnCandidatesOnly(t *testing.T) {
	c, _ := newSystem(t, parts()).Choice("a")
	if a, err := c.Predict("MI300X", 3, 5); err != nil || a.Replicas != 3 {
		t.Errorf("got %+v, %v, want 3 replicas", a, err)
	}
	_, err := c.Predict("A100", 3, 5)
	if _, ok := errors.AsType[*InfeasibleError](err); !ok {
		t.Errorf("got %v, want an InfeasibleError: ITL is out of reach there", err)
	}
}

func TestUseByTypeAddsUpCardsAndCost(t *testing.T) {
	got := AllocateByType([]Allocation{
		{Type: "A", Units: 2, Replicas: 3, Cost: 30},
		{Type: "A", Units: 1, Replicas: 1, Cost: 5},
		{Type: "B", Units: 8, Replicas: 0},
		{Type: "C", Units: 1, Replicas: 2, Cost: 1},
	}, map[string]int{"A": 10, "D": 4})
	want := []TypeUse{
		{Type: "A", Count: 7, Limit: 10, Cost: 35},
		{Type: "C", Count: 2, Cost: 1},
		{Type: "D", Limit: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("use by type (-want +got):\n%s", diff)
	}
}

func TestUseByTypeDoesNotOverflow(t *testing.T) {
	huge := Allocation{Type: "A", Units: 1_000_000_000_000, Replicas: 1_000_000}
	got := AllocateByType(slices.Repeat([]Allocation{huge}, 16), nil)
	if want := math.MaxInt; len(got) != 1 || got[0].Count != want {
		t.Errorf("got %+v, want a count of %d", got, want)
	}
}
