package sim

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// BenchmarkDay runs a day of servegen_m-large (348,475 requests) from the folder
// of shared traces under the saturation engine; it is skipped without WVA_SHARED.
func BenchmarkDay(b *testing.B) {
	trace := goldentest.Shared(b, "traces", "servegen_m-large_24h.csv")
	for _, routing := range []Routing{RoundRobin, LeastLoaded, KVAware} {
		b.Run(routing.String(), func(b *testing.B) {
			for b.Loop() {
				file, err := os.Open(trace)
				if err != nil {
					b.Fatal(err)
				}
				c := testConfig(workload.ReadTrace(file, workload.TraceOptions{}))
				c.Models[0].Routing = routing
				c.Sync = 15 * time.Second
				v := &c.Models[0].Variants[0]
				v.StartUp = StartUp{Mean: 108 * time.Second, Deviation: 15 * time.Second}
				r, err := Run(context.Background(), c, testEngine(saturation.Default()))
				if err != nil {
					b.Fatal(err)
				}
				file.Close()
				m := r.Models[0]
				b.ReportMetric(m.Attainment, "attainment")
				b.ReportMetric(m.Variants[0].ReplicaHours, "replica-h")
				b.ReportMetric(float64(m.Counts.Finished)/b.Elapsed().Seconds(), "requests/s")
			}
		})
	}
}
