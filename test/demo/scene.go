package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// Settings with which the demonstration takes minutes. It prints them at its start, because none is
// a default.
const (
	namespace = "demo"
	interval  = 5 * time.Second
	startUp   = 15 * time.Second
	wave      = 6 * time.Minute // period of the load, when it runs until Ctrl-C
	// Objectives by which the summary counts requests as served well. They are not used for sizing:
	// a burst that is faster than the start of a replica shows.
	loadTTFT, loadITL = 2 * time.Second, 75 * time.Millisecond
)

const (
	chatModel   = "meta/llama-3.1-8b"
	expertModel = "meta/llama-3.1-70b"
)

// variants returns the fleet: a small model on a cheap and on an expensive accelerator, and a large
// one.
func variants() []testbed.Variant {
	three := int32(3)
	return []testbed.Variant{
		{
			Namespace: namespace, Name: "llama-8b-l40s", ModelID: chatModel, Profile: "llama-8b-l40s",
			GPU: "NVIDIA-L40S", Accelerator: "L40S", Cost: "12", Replicas: 1, Min: 1, Max: &three, StartUp: startUp,
		},
		{
			Namespace: namespace, Name: "llama-8b-h100", ModelID: chatModel, Profile: "llama-8b-h100",
			GPU: "NVIDIA-H100-80GB-HBM3", Accelerator: "H100", Cost: "40", Replicas: 1, Min: 1, StartUp: startUp,
		},
		{
			Namespace: namespace, Name: "llama-70b-a100", ModelID: expertModel, Profile: "llama-70b-a100",
			GPU: "NVIDIA-A100-PCIE-80GB", Accelerator: "A100", Cost: "25", Replicas: 1, Min: 1, StartUp: startUp,
		},
	}
}

// loader is the load of one model.
type loader struct {
	name, model string
	idle, peak  float64 // requests/s
	process     *testbed.Process
}

func loaders() []*loader {
	return []*loader{
		{name: "load-8b", model: chatModel, idle: 1, peak: 20},
		{name: "load-70b", model: expertModel, idle: 0.3, peak: 3.6},
	}
}

// profile returns a load that rises, stays, falls and then leaves the fleet more than half of the
// time to shrink, a window (1m) for each replica.
func (c *loader) profile(length time.Duration) string {
	part := func(share float64) time.Duration {
		return time.Duration(share * float64(length)).Round(time.Second)
	}
	return fmt.Sprintf("constant(%[1]g,%[3]s),ramp(%[1]g->%[2]g,%[4]s),constant(%[2]g,%[5]s),ramp(%[2]g->%[1]g,%[6]s),constant(%[1]g,%[7]s)",
		c.idle, c.peak, part(.05), part(.22), part(.10), part(.06), part(.57))
}

// scene is the running demonstration.
type scene struct {
	bed      *testbed.Bed
	emulator *testbed.Emulator
	manager  *testbed.Manager
	loaders  []*loader
	variants []testbed.Variant
	length   time.Duration // of the load; 0 repeats it
	started  time.Time
	seen     map[string]*replicas
	film     film
}

// begin starts the fleet, the manager and the load, and prints where each runs.
func begin(ctx context.Context, bed *testbed.Bed, duration time.Duration) (*scene, error) {
	s := &scene{bed: bed, loaders: loaders(), variants: variants(), length: duration, seen: map[string]*replicas{}}
	var err error
	fmt.Println("starting the emulated fleet and the manager")
	if s.emulator, err = bed.StartEmulator(ctx); err != nil {
		return nil, err
	}
	if err := bed.Deploy(ctx, s.variants...); err != nil {
		return nil, err
	}
	if s.manager, err = bed.StartManager(ctx, testbed.ManagerOptions{
		// The default of two minutes is too long for a demonstration of minutes.
		Interval: interval, Thresholds: "scaleDownStabilization: 15s",
	}); err != nil {
		return nil, err
	}
	s.introduce()
	s.started = time.Now()
	return s, s.load()
}

// load starts the loaders that do not run.
func (s *scene) load() error {
	length := s.length
	if length == 0 {
		length = wave
	}
	for _, c := range s.loaders {
		if c.process != nil {
			select {
			case <-c.process.Done():
			default:
				continue
			}
		}
		var err error
		c.process, err = s.bed.StartLoad(c.name, "--url", s.emulator.Endpoint(namespace, c.model), "--model", c.model,
			"--profile", c.profile(length), "--input-tokens", "200", "--output-tokens", "200",
			"--slo-ttft", loadTTFT.String(), "--slo-itl", loadITL.String(), "-o", "json", "--quiet")
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) introduce() {
	local := func(name string) string { return filepath.Join(s.bed.Dir, name) }
	fmt.Printf(`
A Kubernetes control plane runs on this machine, with GPU nodes that do not exist
and serving pods that are emulated. The rest is real.

  kubectl      export KUBECONFIG=%s
               %s get va,hpa,deploy,events -n %s
               %[2]s get va -n %[3]s -w
  explain      %[9]s explain llama-8b-l40s -n %[3]s --manager %[10]s
  doctor       %[9]s doctor -n %[3]s --manager %[10]s
  dashboard    %[9]s dashboard --manager %[10]s
  Prometheus   %[5]s
  endpoints    %[6]s/v1/completions
               %[8]s/v1/completions
               curl -N %[6]s/v1/completions -d '{"model":"%[7]s","prompt":"hello","max_tokens":20,"stream":true}'

Set for the demonstration: GLOBAL_OPT_INTERVAL %[11]s (default 60s), HPA sync period
5s (15s) and scale-down window 0 (5m), replicas start in %[12]s, scrapes every %[13]s.

`, s.bed.State.Kubeconfig, s.bed.State.Kubectl, namespace, s.bed.State.Kubectl, s.bed.State.Prometheus,
		s.emulator.Endpoint(namespace, chatModel), chatModel, s.emulator.Endpoint(namespace, expertModel),
		filepath.Clean(local("../bin/wva")), s.manager.URL, interval, startUp, testbed.ScrapeInterval)
}
