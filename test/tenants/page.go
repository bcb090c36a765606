package tenants

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page is the metrics page of a pod.
type page struct {
	status int  // 0 for 200
	hangs  bool // no answer comes
	// lines returns the nth line with its end, "" after the last, at a time.
	lines func(n int, at time.Time) string
}

// pages is a network with the pages of a cluster. It holds no whole page, so that the memory of
// pages is the manager's alone.
type pages struct{ cluster *cluster }

// RoundTrip implements http.RoundTripper.
func (p pages) RoundTrip(req *http.Request) (*http.Response, error) {
	served, ok := p.cluster.pages[req.URL.Hostname()]
	if !ok {
		return nil, errors.New("connection refused")
	}
	if served.hangs {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	status := served.status
	if status == 0 {
		status = http.StatusOK
	}
	now := time.Now()
	body := &lineReader{next: func(n int) string { return served.lines(n, now) }}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(body), Request: req, ContentLength: -1,
	}, nil
}

// lineReader reads lines as they are made.
type lineReader struct {
	next func(n int) string
	n    int
	rest string
}

// Read implements io.Reader.
func (r *lineReader) Read(into []byte) (int, error) {
	if r.rest == "" {
		if r.rest = r.next(r.n); r.rest == "" {
			return 0, io.EOF
		}
		r.n++
	}
	n := copy(into, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// load is the state of a serving pod, with a constant arrival rate.
type load struct {
	running, waiting int
	usage            float64 // ratio of the KV cache
	rate             float64 // requests/s
	unknownCache     bool    // the page does not say how many tokens the KV cache holds
}

// vllm returns the nth part of a vLLM page, "" after the last: gauges and counters, then each
// histogram. For a model with a long name the whole page is as large as the manager may hold.
// Counters grow with time, so that rates do not depend on when two pages are read.
func (l load) vllm(model string, n int, at time.Time) string {
	const epoch = 946684800 // 2000-01-01, when synctest begins
	done := l.rate * float64(at.UnixMilli()-epoch*1000+3_600_000) / 1000
	of := fmt.Sprintf(`{model_name=%q,engine="0"}`, model)
	with := func(label, value string) string { return of[:len(of)-1] + fmt.Sprintf(",%s=%q}", label, value) }
	var b strings.Builder
	gauge := func(name, labels string, value float64) { fmt.Fprintf(&b, "%s%s %g\n", name, labels, value) }
	if all := histograms(); n > len(all) {
		return ""
	} else if n > 0 {
		h := all[n-1]
		for _, bound := range h.bounds {
			below := 0.0
			if h.mean < bound {
				below = h.each * done
			}
			gauge(h.name+"_bucket", with("le", strconv.FormatFloat(bound, 'g', -1, 64)), below)
		}
		gauge(h.name+"_bucket", with("le", "+Inf"), h.each*done)
		gauge(h.name+"_sum", of, h.mean*h.each*done)
		gauge(h.name+"_count", of, h.each*done)
		return b.String()
	}
	gauge("vllm:num_requests_running", of, float64(l.running))
	gauge("vllm:num_requests_waiting", of, float64(l.waiting))
	gauge("vllm:kv_cache_usage_perc", of, l.usage)
	if !l.unknownCache {
		b.WriteString("vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"2000\"} 1\n")
	}
	gauge("vllm:request_success_total", with("finished_reason", "stop"), done)
	gauge("vllm:generation_tokens_total", of, 200*done)
	gauge("vllm:prompt_tokens_total", of, 500*done)
	gauge("vllm:prefix_cache_queries_total", of, 500*done)
	gauge("vllm:prefix_cache_hits_total", of, 100*done)
	gauge("vllm:request_prompt_tokens_sum", of, 500*done)
	gauge("vllm:request_prompt_tokens_count", of, done)
	gauge("vllm:request_generation_tokens_sum", of, 200*done)
	gauge("vllm:request_generation_tokens_count", of, done)
	return b.String()
}

// whole returns all parts of the page.
func (l load) whole(model string, at time.Time) string {
	var b strings.Builder
	for n := range 1 + len(histograms()) {
		b.WriteString(l.vllm(model, n, at))
	}
	return b.String()
}

// histogram is a latency in seconds on a page.
type histogram struct {
	name   string
	mean   float64 // s
	each   float64 // observations for each request
	bounds []float64
}

// histograms returns those of vLLM 0.11 that the manager reads, with their buckets: most of what it
// reads of a page.
func histograms() []histogram {
	token := []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	first := []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	return []histogram{
		{"vllm:time_to_first_token_seconds", 0.24, 1, first},
		{"vllm:inter_token_latency_seconds", 0.02, 200, token},
		{"vllm:request_time_per_output_token_seconds", 0.02, 1, token},
	}
}

// page returns the page of a pod with this load.
func (l load) page(model string) page {
	return page{lines: func(n int, at time.Time) string { return l.vllm(model, n, at) }}
}
