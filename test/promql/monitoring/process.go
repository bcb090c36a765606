package monitoring

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// process is what the manager's libraries export of its process, as far as the dashboards show it.
// The values are invented: the real ones would be those of the test.
type process struct {
	memory     prometheus.Gauge
	cpu        prometheus.Counter
	reconciles *prometheus.CounterVec
	passes     int
}

func newProcess(registry *prometheus.Registry, started time.Time) process {
	gauge := func(name string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "As of client_golang."})
	}
	p := process{
		memory: gauge("process_resident_memory_bytes"),
		cpu:    prometheus.NewCounter(prometheus.CounterOpts{Name: "process_cpu_seconds_total", Help: "As of client_golang."}),
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "controller_runtime_reconcile_total", Help: "As of controller-runtime.",
		}, []string{"controller", "result"}),
	}
	start := gauge("process_start_time_seconds")
	start.Set(float64(started.Unix()))
	registry.MustRegister(p.memory, p.cpu, p.reconciles, start)
	return p
}

// pass adds the usage of the time d, with a number of objects.
func (p *process) pass(d time.Duration, objects int) {
	p.passes++
	p.memory.Set(62e6 + 6e6*math.Abs(math.Sin(float64(p.passes)/9)))
	p.cpu.Add(d.Seconds() * (0.006 + 0.002*math.Abs(math.Sin(float64(p.passes)/23))))
	p.reconciles.WithLabelValues("variantstatus", "success").Add(float64(objects))
}
