package promql

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/scrape"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/prometheus/prometheus/model/labels"
	"k8s.io/utils/clock"
)

// ramp is in how many scrapes the counters of a page grow from 0 to their figures.
const (
	ramp         = 20
	rampInterval = 15 * time.Second
	rampSeconds  = 300 // ramp x rampInterval
)

// version is a page of an engine and what the catalogue reads from it: the figures of the page.
// What has no entry has no row, which is Absent and not 0.
type version struct {
	file, model, witness string
	pod                  map[query.Quantity]float64             // gauges
	counted              map[query.Quantity]float64             // counters, whose rate is the figure in rampSeconds
	mean                 map[query.Quantity]float64             // of models
	buckets              map[query.Quantity]map[float64]float64 // figures by bound [ms]
}

func versions() []version {
	const (
		vllm, sglang = "vllm:num_requests_running", "sglang:num_running_reqs"
		usage, peak  = query.KVCacheUsage, query.KVCacheUsagePeak
		queue, full  = query.QueueLength, query.QueueLengthPeak
	)
	inf := math.Inf(1)
	zeros := func(bounds ...float64) map[float64]float64 {
		all := map[float64]float64{inf: 0}
		for _, b := range bounds {
			all[b*1000] = 0
		}
		return all
	}
	ttft := []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itl := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	return []version{
		{
			file: "vllm-0.5-idle.txt", model: "m", witness: vllm,
			pod:     map[query.Quantity]float64{query.Running: 0, queue: 0, full: 0, usage: 0, peak: 0, query.KVCapacity: 7000 * 16},
			counted: map[query.Quantity]float64{query.InFlightGrowth: 0},
		},
		{
			file: "vllm-0.6.txt", model: "mymodelname", witness: vllm,
			pod: map[query.Quantity]float64{query.Running: 3, queue: 2, full: 2, usage: 0, peak: 0, query.KVCapacity: 11560 * 16, query.Generating: 1},
			counted: map[query.Quantity]float64{
				query.Completions: 6193 + 28 + 5, query.InFlightGrowth: 0,
				query.Decoding: 6772.65311050415, query.Generated: 147223, query.Starting: 5686.670262336731, query.Started: 8499,
			},
			mean: map[query.Quantity]float64{
				query.InputTokens: 3928691.0 / 6226, query.OutputTokens: 124321.0 / 6226, query.TTFT: 5686670.262336731 / 8499, query.ITL: 6772653.11050415 / 147223,
			},
			buckets: map[query.Quantity]map[float64]float64{
				query.TTFTBuckets: {
					1: 0, 5: 0, 10: 0, 20: 0, 40: 19, 60: 83, 80: 133, 100: 247, 250: 1006, 500: 3566, 750: 6812, 1000: 7511, 2500: 8297, 5000: 8432,
					7500: 8482, 10000: 8494, inf: 8499,
				},
				query.ITLBuckets: {
					10: 36, 25: 99, 50: 138458, 75: 139802, 100: 140057, 150: 140759, 200: 141246, 300: 142037, 400: 147174, 500: 147219, 750: 147223,
					1000: 147223, 2500: 147223, inf: 147223,
				},
			},
		},
		{
			file: "vllm-0.11.txt", model: "Qwen/Qwen1.5-0.5B-Chat", witness: vllm,
			pod: map[query.Quantity]float64{query.Running: 0, queue: 0, full: 0, usage: 0, peak: 0, query.KVCapacity: 2452 * 16},
			counted: map[query.Quantity]float64{
				query.Completions: 0, query.InFlightGrowth: 0, query.Decoding: 0, query.Generated: 0, query.Starting: 0, query.Started: 0,
			},
			buckets: map[query.Quantity]map[float64]float64{
				query.TTFTBuckets: zeros(ttft...), query.ITLBuckets: zeros(itl...), query.RequestITLBuckets: zeros(itl...),
			},
		},
		{
			file: "vllm-0.12.txt", model: "org/m", witness: vllm,
			pod: map[query.Quantity]float64{query.Running: 17, queue: 4, full: 4, usage: 0.875, peak: 0.875, query.KVCapacity: 5000 * 16, query.Generating: 1},
			counted: map[query.Quantity]float64{
				query.Completions: 48, query.InFlightGrowth: 0, query.Decoding: 25.2, query.Generated: 1152, query.Starting: 18.6, query.Started: 48,
			},
			mean: map[query.Quantity]float64{
				query.InputTokens: 150, query.OutputTokens: 20, query.TTFT: 18600.0 / 48, query.ITL: 25200.0 / 1152, query.PrefixHits: 0.25,
			},
			buckets: map[query.Quantity]map[float64]float64{
				query.TTFTBuckets: {100: 30, 1000: 48, inf: 48}, query.ITLBuckets: {25: 888, inf: 1152}, query.RequestITLBuckets: {25: 30, inf: 36},
			},
		},
		{
			file: "sglang-0.3.txt", model: "m", witness: sglang,
			pod: map[query.Quantity]float64{query.Running: 16, queue: 28, full: 28, usage: 0.28, peak: 0.28, query.Generating: 1},
			counted: map[query.Quantity]float64{
				query.Completions: 80, query.InFlightGrowth: 0, query.Decoding: 800, query.Generated: 39920, query.Starting: 120, query.Started: 80,
			},
			mean: map[query.Quantity]float64{
				query.InputTokens: 1000, query.OutputTokens: 500, query.TTFT: 1500, query.ITL: 800000.0 / 39920,
			},
			buckets: map[query.Quantity]map[float64]float64{query.TTFTBuckets: {250: 20, 1000: 60, inf: 80}, query.ITLBuckets: {20: 30000, inf: 39920}},
		},
		{
			file: "sglang-0.5.10.txt", model: "facebook/opt-125m", witness: sglang,
			pod: map[query.Quantity]float64{query.Running: 0, queue: 0, full: 0, usage: 0.25, peak: 0.25, query.KVCapacity: 430839, query.Generating: 1},
			counted: map[query.Quantity]float64{
				query.Completions: 1, query.InFlightGrowth: 0, query.Decoding: 0.05, query.Generated: 31, query.Starting: 0.02, query.Started: 1,
			},
			mean: map[query.Quantity]float64{
				query.InputTokens: 5, query.OutputTokens: 32, query.TTFT: 20, query.ITL: 50.0 / 31, query.PrefixHits: 0.2,
			},
			buckets: map[query.Quantity]map[float64]float64{query.TTFTBuckets: {100: 1, inf: 1}, query.ITLBuckets: {10: 31, inf: 31}},
		},
	}
}

// rows returns what an answer to a question about the version must be, but for page times.
func (v version) rows(ask query.Question) (rows []query.Row) {
	for _, q := range ask.Quantities() {
		row := query.Row{Quantity: q, Namespace: "a", Model: v.model}
		if q.Scope() == query.PerPod {
			row.Pod = "p"
		}
		if q == query.KVCapacity && v.witness == query.VLLM.Witness() {
			row.Model = "" // cache_config_info has none
		}
		for _, of := range []struct {
			figures map[query.Quantity]float64
			per     float64
		}{{v.pod, 1}, {v.counted, rampSeconds}, {v.mean, 1}} {
			if figure, ok := of.figures[q]; ok {
				row.Value = figure / of.per
				rows = append(rows, row)
			}
		}
		for bound, figure := range v.buckets[q] {
			row.Bound, row.Value = bound, figure/rampSeconds
			rows = append(rows, row)
		}
	}
	return rows
}

// versionQuestions are those whose rows are figures of a page.
func versionQuestions() []query.Question {
	return []query.Question{
		query.AskKVCacheUsagePeak, query.AskKVCacheUsage, query.AskQueueLengthPeak, query.AskQueueLength, query.AskRunning, query.AskKVCapacity,
		query.AskPace, query.AskGenerating, query.AskStuck, query.AskFlow, query.AskMeans, query.AskObjective,
	}
}

// pageAfter returns the page of a file after n scrapes: of counters the n-th part of the ramp, and
// of the speed of generation, which never repeats itself, another figure each time.
func pageAfter(t *testing.T, file string, n int) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "query", "testdata", "pages", file))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, "{")
		grows := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") ||
			strings.HasSuffix(name, "_count") || name == "sglang:gen_throughput"
		if sample, exemplar, _ := strings.Cut(line, " # "); grows && !strings.HasPrefix(line, "#") {
			at := strings.LastIndex(sample, " ")
			figure, err := strconv.ParseFloat(sample[at+1:], 64)
			if err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			line = sample[:at+1] + strconv.FormatFloat(figure*float64(n)/ramp, 'g', -1, 64)
			if exemplar != "" {
				line += " # " + exemplar
			}
		}
		page.WriteString(line + "\n")
	}
	if page := page.Bytes(); strings.Contains(file, "0.12") {
		_, types, _ := bytes.Cut(page, []byte("# TYPE")) // OpenMetrics has no comments
		return append([]byte("# TYPE"), types...)
	}
	return page.Bytes()
}

// TestEveryVersionIsReadFigureByFigure stores pages of versions of the engines, recorded ones among
// them, and asks for every quantity of the catalogue.
func TestEveryVersionIsReadFigureByFigure(t *testing.T) {
	s := newShared(t)
	for _, v := range versions() {
		t.Run(v.file, func(t *testing.T) {
			begin := s.next()
			target := s.Target(labels.FromStrings("namespace", "a", "pod", "p", "job", "engines"))
			last := begin
			for n := range ramp + 1 {
				last = begin.Add(time.Duration(n) * rampInterval)
				if err := target.Scrape(t.Context(), last, pageAfter(t, v.file, n)); err != nil {
					t.Fatal(err)
				}
			}
			ask := func(q query.Question) []query.Row {
				return rows(t, s.Store, query.Request{Ask: q, At: last, Window: time.Minute}, begin)
			}
			for _, q := range versionQuestions() {
				if d := diff(v.rows(q), ask(q)); d != "" {
					t.Errorf("%s (-figures +read):\n%s", q, d)
				}
			}
			want := []query.Row{{Quantity: query.PageTime, Namespace: "a", Pod: "p", Model: v.model, Job: "engines", Witness: v.witness, Value: last.Sub(begin).Seconds()}}
			if d := diff(want, ask(query.AskPages)); d != "" {
				t.Errorf("pages (-want +got):\n%s", d)
			}
		})
	}
}

// rampOf answers scrapes of a pod with the pages of a version.
type rampOf struct {
	t    *testing.T
	file string
	mu   sync.Mutex
	n    int
}

func (r *rampOf) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body := pageAfter(r.t, r.file, r.n)
	r.n++
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: request, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

// TestEveryVersionIsScrapedFigureByFigure does the same with the backend that scrapes pods.
func TestEveryVersionIsScrapedFigureByFigure(t *testing.T) {
	for _, v := range versions() {
		t.Run(v.file, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := scrape.New(clock.RealClock{}, scrape.Options{
					Name: "pods", Interval: rampInterval, Client: &http.Client{Transport: &rampOf{t: t, file: v.file}},
					Pods: func(context.Context) ([]scrape.Target, error) {
						return []scrape.Target{{Namespace: "a", Pod: "p", Model: v.model, URL: "http://p/metrics"}}, nil
					},
				})
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					if err := source.Run(ctx); err != nil {
						t.Error(err)
					}
				})
				time.Sleep((ramp + 1) * rampInterval)
				synctest.Wait()
				for _, q := range versionQuestions() {
					got, err := source.Ask(ctx, query.Request{Ask: q, Window: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					if d := diff(v.rows(q), got.Rows); d != "" {
						t.Errorf("%s (-figures +read):\n%s", q, d)
					}
				}
				cancel()
				running.Wait()
			})
		})
	}
}
