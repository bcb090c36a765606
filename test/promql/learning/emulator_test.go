package learning

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/emulator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

const (
	model  = "org/model"
	scrape = 15 * time.Second
	prompt = 200.0 // tokens, in the mean
	answer = 100.0
)

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestWhatIsLearnedOfAnEmulatorIsWhatItDoes: half an hour of varying load on one replica of each
// profile of the demonstration, through pages, the store and the collector.
func TestWhatIsLearnedOfAnEmulatorIsWhatItDoes(t *testing.T) {
	profiles, err := emulator.BuiltInProfiles()
	if err != nil {
		t.Fatal(err)
	}
	var itl, ttft []float64
	for name, p := range profiles {
		full := carries(p, 0.7*float64(p.KVCacheTokens)/(prompt+answer))
		varying := pages(t, name, fmt.Sprintf("sine(%.4g->%.4g,900s,1800s)", 0.02*full, full))
		shown := learn(t, varying)
		for _, part := range []float64{0.1, 0.5, 0.8} {
			constant := pages(t, name, fmt.Sprintf("constant(%.4g,1200s)", part*full))
			is := does(t, constant)
			if is.together > shown.Highest() {
				continue
			}
			together := is.together + (1+math.Exp(-is.together))/2 // see package profile
			off := func(got, want float64) float64 { return math.Abs(got/want - 1) }
			itl, ttft = append(itl, off(shown.ITL(together).Mean, is.itl)), append(ttft, off(shown.TTFT(together).Mean, is.ttft))
			t.Logf("%s with %.1f together: ITL %.2f ms is %.2f, TTFT %.1f ms is %.1f", name, is.together,
				shown.ITL(together).Mean, is.itl, shown.TTFT(together).Mean, is.ttft)
		}
	}
	for _, of := range []struct {
		what          string
		off           []float64
		median, worst float64 // that are accepted
	}{{"ITL", itl, 0.05, 0.15}, {"TTFT", ttft, 0.10, 0.25}} {
		slices.Sort(of.off)
		if len(of.off) < 6 {
			t.Fatalf("%s was compared %d times, want 6 or more", of.what, len(of.off))
		}
		median, worst := of.off[len(of.off)/2], of.off[len(of.off)-1]
		t.Logf("%s: off by %.1f %% in the median, %.1f %% at worst", of.what, 100*median, 100*worst)
		if median > of.median || worst > of.worst {
			t.Errorf("%s: off by %.3f in the median and %.3f at worst, want at most %.2f and %.2f", of.what, median, worst, of.median, of.worst)
		}
	}
}

// carries is about how many requests/s a replica of p has to serve for so many to be decoded together.
func carries(p serving.Profile, together float64) float64 {
	return 1000 * together / (answer * (p.AlphaMS + p.BetaMS*together + p.DeltaMS*prompt*together/answer))
}

// pages runs one replica of a profile under a load, and returns its page of every scrape.
func pages(t *testing.T, profile, rates string) (all [][]byte) {
	t.Helper()
	curve, err := workload.ParseProfile(rates)
	if err != nil {
		t.Fatal(err)
	}
	lengths, err := workload.ChatLengths(prompt, answer)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		replica, err := emulator.NewReplica(emulator.Options{}, model, profile)
		if err != nil {
			t.Fatal(err)
		}
		go replica.Run(ctx)
		handler, start := replica.Handler(), time.Now()
		show := func() []byte {
			page := httptest.NewRecorder()
			handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return page.Body.Bytes()
		}
		var clients sync.WaitGroup
		for r := range workload.Generate(curve, lengths, rand.New(rand.NewPCG(1, 2))) {
			for due := time.Duration(len(all)+1) * scrape; due <= r.At; due += scrape {
				time.Sleep(due - time.Since(start))
				all = append(all, show())
			}
			time.Sleep(r.At - time.Since(start))
			body := fmt.Sprintf(`{"model":%q,"input_tokens":%d,"max_tokens":%d}`, model, r.InputTokens, r.OutputTokens)
			clients.Go(func() {
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(body)))
				if answer.Code != http.StatusOK {
					t.Errorf("%s: %d %s", body, answer.Code, answer.Body)
				}
			})
		}
		clients.Wait()
	})
	return all
}

// learn puts pages into a store, looks at it after every scrape, and returns what is learned.
func learn(t *testing.T, pages [][]byte) profile.Shown {
	t.Helper()
	now := testingclock.NewFakePassiveClock(began)
	s, err := store.Open(t.TempDir(), now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	source, err := prometheus.New(prometheus.Config{URL: server.URL, AllowInsecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	collect := collector.New(source, now, collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }})
	target := s.Target(labels.FromStrings("namespace", "serving", "pod", "replica", "job", "engines", "instance", "replica:8000"))
	key := scaling.VariantKey{Namespace: "serving", Name: "variant"}
	fleet := scaling.Fleet{
		Variants: []scaling.Variant{{
			Key: key, Model: scaling.ModelKey{Namespace: key.Namespace, ID: model},
			Target: scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: key.Name}, GPUsPerReplica: 1, Cost: 10, Bounds: scaling.Unbounded(),
			Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Ready: 1, NewestReady: began},
		}},
		Pods: []scaling.Pod{{Namespace: key.Namespace, Name: "replica", Variant: key, Ready: true}},
	}
	var fit memory.Fit
	var last scaling.Snapshot
	for _, page := range pages {
		now.SetTime(now.Now().Add(scrape))
		if err := target.Scrape(t.Context(), now.Now(), page); err != nil {
			t.Fatal(err)
		}
		fleet.At = now.Now()
		look := collect.Collect(t.Context(), fleet)[0]
		if look.Fault != "" {
			t.Fatal(look.Fault)
		}
		if fit = profile.Learn(fit, look, look.Variants[0]); look.Load.InputTokens.Known() {
			last = look
		}
	}
	if _, why, numbers := profile.Refuted(fit); why != "" {
		t.Fatalf("%s: %s", why, numbers)
	}
	return profile.Show(last.Variants, map[scaling.VariantKey]memory.Fit{key: fit}, prompt, answer)[0]
}

// done is what a replica does: requests decoded together, and means in ms.
type done struct{ together, itl, ttft float64 }

// does reads what a replica did from its pages but the first ones, under a load that does not change.
func does(t *testing.T, pages [][]byte) done {
	t.Helper()
	const warm = 12
	first, last := pages[warm], pages[len(pages)-1]
	of := func(name string) (sum, count float64) {
		sum = number(t, last, name+"_sum") - number(t, first, name+"_sum")
		return sum, number(t, last, name+"_count") - number(t, first, name+"_count")
	}
	tokens, n := of("vllm:inter_token_latency_seconds")
	firsts, requests := of("vllm:time_to_first_token_seconds")
	over := float64(len(pages)-1-warm) * scrape.Seconds()
	return done{together: tokens / over, itl: 1000 * tokens / n, ttft: 1000 * firsts / requests}
}

// number reads a value of a page.
func number(t *testing.T, page []byte, name string) float64 {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `\{[^}]*\} (\S+)$`).FindSubmatch(page)
	if line == nil {
		t.Fatalf("no %s in\n%s", name, bytes.TrimSpace(page[:min(len(page), 2000)]))
	}
	v, err := strconv.ParseFloat(string(line[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
