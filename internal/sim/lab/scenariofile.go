package lab

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Defaults of a scenario where its file, or the command line, gives no value.
const (
	// DefaultTarget is the wanted attainment.
	DefaultTarget = 0.95
	// DefaultTTFT and DefaultITL are the objectives of a request, in ms.
	DefaultTTFT = 1000
	DefaultITL  = 50
	// DefaultHold is how long a gateway keeps a request while no replica is ready.
	DefaultHold = 10 * time.Minute
	// DefaultGrace is Kubernetes' terminationGracePeriodSeconds.
	DefaultGrace = 30 * time.Second
	// DefaultStartUp is the measured mean of a 32B model on an H100, from creation to Ready: 91 to
	// 139 s, mean 108 s.
	DefaultStartUp          = 108 * time.Second
	DefaultStartUpDeviation = 15 * time.Second
)

// DefaultModel returns a model with the defaults and no variants.
func DefaultModel() Model {
	return Model{Share: 1, Sized: true, Percentile: true, Spec: sim.Model{
		Key:     scaling.ModelKey{Namespace: "default", ID: "model"},
		SLO:     sim.SLO{TTFT: DefaultTTFT, ITL: DefaultITL, Attainment: DefaultTarget},
		Routing: sim.KVAware, Hold: DefaultHold,
	}}
}

// DefaultVariant returns a variant with the defaults and a profile.
func DefaultVariant(namespace string, p serving.Profile) sim.Variant {
	return sim.Variant{
		Spec: scaling.Variant{
			Key: scaling.VariantKey{Namespace: namespace, Name: p.Name}, Accelerator: p.Accelerator,
			GPUsPerReplica: 1, Cost: 1, Bounds: scaling.Bounds{Min: 1, Max: math.MaxInt},
		},
		Profile: p, StartUp: sim.StartUp{Mean: DefaultStartUp, Deviation: DefaultStartUpDeviation}, Grace: DefaultGrace,
	}
}

// ReadScenario reads a scenario, YAML or JSON; see docs/user-guide/simulate.md. Variants may name
// the given profiles. Paths of workload files are relative to the scenario. An error in the content
// is a *FileError, or several joined.
func ReadScenario(file string, profiles []serving.Profile) (Scenario, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Scenario{}, fmt.Errorf("reading the scenario: %w", err)
	}
	beside := func(name string) (Record, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return ReadRecord(name)
	}
	return ParseScenario(content, ScenarioOptions{File: file, Profiles: profiles, Open: beside})
}

// ScenarioOptions say how a scenario is read.
type ScenarioOptions struct {
	File     string                            // for errors, and the name of a scenario without one
	Profiles []serving.Profile                 // that variants may name
	Open     func(name string) (Record, error) // reads a file that the workload names
}

// ParseScenario reads the content of a scenario file; see ReadScenario. Its Workload is empty if
// the content has none.
func ParseScenario(content []byte, o ScenarioOptions) (Scenario, error) {
	v, err := parse(o.File, content)
	if err != nil {
		return Scenario{}, err
	}
	r := scenarioReader{profiles: map[string]serving.Profile{}, open: o.Open}
	for _, p := range o.Profiles {
		r.profiles[p.Name] = p
	}
	var parts []Source
	file := o.File
	s := Scenario{Name: file, Target: DefaultTarget}
	err = v.mapping(map[string]reader{
		"name": text(&s.Name), "description": text(&s.Description), "attainment": number(&s.Target, 0.001, 1),
		"scrapeInterval": span(&s.Fleet.ScrapeInterval, time.Second), "missedScrapes": number(&s.Fleet.MissedScrapes, 0, 0.99),
		"duration": span(&s.Fleet.Duration, time.Second), "tail": span(&s.Fleet.Tail, time.Second), "tolerance": number(&s.Fleet.Tolerance, 0, 0.99),
		"nodes":    func(v value) error { return v.list(func(v value) error { return r.node(v, &s) }) },
		"quotas":   func(v value) error { return v.list(func(v value) error { return r.quota(v, &s) }) },
		"schedule": func(v value) error { return v.list(func(v value) error { return r.window(v, &s) }) },
		"models":   func(v value) error { return v.list(func(v value) error { return r.model(v, &s) }) },
		"faults":   func(v value) error { return v.list(func(v value) error { return r.fault(v, &s) }) },
		"workload": func(v value) error { return v.list(func(v value) error { return r.workload(v, &parts) }) },
	})
	if err != nil {
		return Scenario{}, err
	}
	if len(s.Models) == 0 {
		return Scenario{}, v.wrong("the field models, a list of one or more")
	}
	for i := range s.Models {
		s.Models[i].Spec.SLO.Attainment = s.Target
	}
	if len(parts) > 0 {
		s.Workload = Mix(s.Name, parts...).Remembered()
	}
	if wrong, ok := errors.AsType[*sim.FieldError](s.validate()); ok {
		return Scenario{}, &FileError{File: file, Field: wrong.Field, Found: wrong.Value, Want: wrong.Want}
	}
	return s, nil
}

// scenarioReader reads the parts of a scenario.
type scenarioReader struct {
	profiles map[string]serving.Profile
	open     func(name string) (Record, error)
}

func (scenarioReader) node(v value, s *Scenario) error {
	n := sim.Nodes{GPUs: 8}
	err := v.mapping(map[string]reader{
		"accelerator": text(&n.Accelerator), "count": whole(&n.Count, 0, 100_000), "gpus": whole(&n.GPUs, 1, 1024),
	})
	if err == nil && n.Accelerator == "" {
		err = v.wrong("the field accelerator")
	}
	s.Fleet.Nodes = append(s.Fleet.Nodes, n)
	return err
}

func (scenarioReader) quota(v value, s *Scenario) error {
	q := scaling.Quota{Namespace: DefaultModel().Spec.Key.Namespace, GPUs: -1}
	err := v.mapping(map[string]reader{
		"namespace": text(&q.Namespace), "accelerator": text(&q.Accelerator), "gpus": whole(&q.GPUs, 0, 1_000_000),
	})
	switch {
	case err != nil:
		return err
	case q.Accelerator == "" || q.GPUs < 0:
		return v.wrong("the fields accelerator and gpus")
	}
	s.Quotas = append(s.Quotas, q)
	return nil
}

// window reads a freeze window, with the fields of the ConfigMap.
func (scenarioReader) window(v value, s *Scenario) error {
	var w schedule.Window
	var allow string
	err := v.mapping(map[string]reader{
		"name": text(&w.Name), "allow": text(&allow), "from": text(&w.From), "to": text(&w.To), "timeZone": text(&w.TimeZone),
		"namespace": text(&w.Namespace), "model": text(&w.Model), "variant": text(&w.Variant),
		"days": func(v value) error {
			return v.list(func(v value) error {
				w.Days = append(w.Days, "")
				return text(&w.Days[len(w.Days)-1])(v)
			})
		},
	})
	if err != nil {
		return err
	}
	w.Allow = scaling.Allow(allow)
	rule, err := schedule.Parse(w)
	if wrong, ok := errors.AsType[*schedule.Error](err); ok {
		return v.wrong(wrong.Field + " to be " + wrong.Want)
	}
	s.Schedule = append(s.Schedule, rule)
	return err
}

func (r scenarioReader) model(v value, s *Scenario) error {
	m := DefaultModel()
	m.Spec.Key.ID = ""
	var variants value
	m.Spec.Transfer = sim.DefaultTransfer()
	err := v.mapping(map[string]reader{
		"id": text(&m.Spec.Key.ID), "namespace": text(&m.Spec.Key.Namespace), "share": number(&m.Share, 1e-6, 1e6), "priority": whole(&m.Priority, 1, 100),
		"ttft": milliseconds(&m.Spec.SLO.TTFT), "itl": milliseconds(&m.Spec.SLO.ITL), "hold": span(&m.Spec.Hold, 0),
		"percentile": truth(&m.Percentile),
		"patience":   r.patience(&m.Spec.Patience), "prefix": r.prefix(&m.Spec.Prefix), "transfer": r.transfer(&m.Spec.Transfer),
		"routing": func(v value) error {
			var err error
			if m.Spec.Routing, err = sim.ParseRouting(v.node.Value); err != nil {
				return v.wrong(sim.Routings)
			}
			return nil
		},
		"variants": func(v value) error { variants = v; return nil },
	})
	switch {
	case err != nil:
		return err
	case m.Spec.Key.ID == "":
		return v.wrong("the field id, the model's ID")
	case variants.node == nil:
		return v.wrong("the field variants, a list of one or more")
	}
	err = variants.list(func(v value) error { return r.variant(v, &m) })
	s.Models = append(s.Models, m)
	return err
}

// patience reads how long clients wait.
func (scenarioReader) patience(p *sim.Patience) reader {
	return func(v value) error {
		err := v.mapping(map[string]reader{
			"mean": span(&p.Mean, time.Millisecond), "deviation": span(&p.Deviation, 0), "retry": number(&p.Retry, 0, 0.99), "after": span(&p.After, 0),
		})
		if err == nil && p.Mean == 0 {
			err = v.wrong("the field mean, for how long clients wait")
		}
		return err
	}
}

// prefix reads how much prompts share.
func (scenarioReader) prefix(x *sim.Prefix) reader {
	return func(v value) error {
		return v.mapping(map[string]reader{"share": number(&x.Share, 0, 1), "part": number(&x.Part, 0, 0.999), "warm": number(&x.Warm, 0, 1e9)})
	}
}

// transfer reads the time that a KV cache takes from prefill to decode.
func (scenarioReader) transfer(t *sim.Transfer) reader {
	return func(v value) error {
		return v.mapping(map[string]reader{"base": span(&t.Base, 0), "perToken": span(&t.PerToken, 0)})
	}
}

func (r scenarioReader) variant(v value, m *Model) error {
	var p serving.Profile
	readProfileField := func(v value) error {
		var err error
		p, err = r.profile(v)
		return err
	}
	x := DefaultVariant(m.Spec.Key.Namespace, p)
	replicas, most := scaling.Replicas(-1), scaling.Replicas(math.MaxInt)
	err := v.mapping(map[string]reader{
		"name": text(&x.Spec.Key.Name), "profile": readProfileField, "cost": number(&x.Spec.Cost, 0, math.MaxFloat64),
		"loads": text(&x.Spec.Loaded.Model), "gpus": whole(&x.Spec.GPUsPerReplica, 1, 1024), "min": whole(&x.Spec.Bounds.Min, 0, 100_000), "max": whole(&most, 0, 100_000),
		"replicas": whole(&replicas, 0, 100_000), "weight": number(&x.Weight, 0.001, 1e6),
		"startUp": span(&x.StartUp.Mean, 0), "startUpDeviation": span(&x.StartUp.Deviation, 0), "grace": span(&x.Grace, 0),
		"role": func(v value) error {
			x.Spec.Role = scaling.Role(v.node.Value)
			if x.Spec.Role != scaling.RolePrefill && x.Spec.Role != scaling.RoleDecode {
				return v.wrong("prefill or decode, or no field role for whole requests")
			}
			return nil
		},
		"approve": func(v value) error {
			var err error
			if x.Spec.Approval, err = scaling.ParseApproval(v.node.Value); err != nil {
				return v.wrong(scaling.ApprovalWanted)
			}
			return nil
		},
	})
	x.Profile, x.Spec.Accelerator, x.Spec.Bounds.Max = p, p.Accelerator, most
	if x.Spec.Key.Name == "" {
		x.Spec.Key.Name = p.Name
	}
	switch {
	case err != nil:
		return err
	case p.Name == "":
		return v.wrong("the field profile: a name, or a profile of its own")
	case x.Spec.Bounds.Max < x.Spec.Bounds.Min:
		return v.wrong(fmt.Sprintf("max, %d, to be no less than min, %d", x.Spec.Bounds.Max, x.Spec.Bounds.Min))
	}
	x.Replicas = x.Spec.Bounds.Min
	if replicas >= 0 {
		m.Sized, x.Replicas = false, replicas
	}
	m.Spec.Variants = append(m.Spec.Variants, x)
	return nil
}

// profile reads the name of a known profile, or a profile.
func (r scenarioReader) profile(v value) (serving.Profile, error) {
	if v.node.Kind == yaml.MappingNode {
		return readProfile(v)
	}
	p, ok := r.profiles[v.node.Value]
	if !ok {
		return p, v.wrong("a profile, or the name of one: " + strings.Join(slices.Sorted(maps.Keys(r.profiles)), ", "))
	}
	return p, nil
}

// ReadChoices reads a list of policies with ParseChoice, and joins the errors.
func ReadChoices(texts []string) ([]Choice, error) {
	var errs []error
	choices := make([]Choice, len(texts))
	for i, text := range texts {
		var err error
		choices[i], err = ParseChoice(text)
		errs = append(errs, err)
	}
	return choices, errors.Join(errs...)
}
