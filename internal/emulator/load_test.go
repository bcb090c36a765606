package emulator

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFleet measures the CPU that an emulator of 200 replicas takes for a
// second of 500 requests/s of 200 tokens in and 200 out; clients are in the same
// process, and are counted too.
func BenchmarkFleet(b *testing.B) {
	for _, stream := range []bool{false, true} {
		b.Run(fmt.Sprintf("stream=%t", stream), func(b *testing.B) { benchmarkFleet(b, stream) })
	}
}

func benchmarkFleet(b *testing.B, stream bool) {
	profiles, err := BuiltInProfiles()
	if err != nil {
		b.Fatal(err)
	}
	e, server := serve(b, Options{Profiles: profiles})
	for i := range 200 {
		pod := readyPod(fmt.Sprintf("pod-%03d", i))
		pod.Profile = "llama-8b-l40s"
		e.SetPod(pod)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}
	body := fmt.Sprintf(`{"input_tokens":200,"max_tokens":200,"stream":%t}`, stream)
	var clients sync.WaitGroup
	var failed atomic.Int64
	request := func() {
		resp, err := client.Post(server.URL+modelPath+"/v1/completions", "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			failed.Add(1)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	second := func() {
		for range 500 {
			<-ticker.C
			clients.Go(request)
		}
	}
	for range 6 { // to the steady state: a request takes about 4 s
		second()
	}
	before := cpuTime(b)
	b.ResetTimer()
	for range b.N {
		second()
	}
	b.StopTimer()
	b.ReportMetric((cpuTime(b)-before).Seconds()/b.Elapsed().Seconds(), "cores")
	b.ReportMetric(float64(locked(e, func(f *fleet) int { return f.pools[testModel].running })), "running")
	clients.Wait()
	b.ReportMetric(float64(failed.Load()), "failed")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
