package prometheus_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
)

// BenchmarkAsk asks for one gauge of 10,000 pods, over a connection to this
// process; the server's part is to write 1.5 MB.
func BenchmarkAsk(b *testing.B) {
	const count = 10_000
	rows := make([]sample, count)
	for i := range rows {
		rows[i] = sample{map[string]string{
			"namespace": fmt.Sprintf("llm-inference-%d", i/1000), "pod": fmt.Sprintf("llama-%d-decode-7d9f8b6c5d-%05d", i/10, i),
			"model_name": fmt.Sprintf("meta-llama/Llama-3.1-%d", i/10),
		}, float64(i%7) / 7}
	}
	text := []byte(vector(rows...))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	b.Cleanup(server.Close)
	source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(source.Close)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if got, err := source.Ask(b.Context(), running); err != nil || len(got.Rows) != count {
			b.Fatalf("got %d rows, %v", len(got.Rows), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/row")
}
