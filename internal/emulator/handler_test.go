package emulator

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// fastProfile takes 50 us for each step.
func fastProfile() serving.Profile {
	p := slowProfile()
	p.Name, p.AlphaMS, p.GammaMS, p.MaxBatchSize, p.MaxQueue = "fast", 0.05, 0.05, 64, 0
	return p
}

func fastPod(name string) Pod {
	pod := readyPod(name)
	pod.Profile = "fast"
	return pod
}

// serve starts an emulator behind HTTP and ends both with the test.
func serve(t testing.TB, o Options) (*Emulator, *httptest.Server) {
	t.Helper()
	if o.Profiles == nil {
		o.Profiles = testProfiles(slowProfile(), fastProfile())
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { e.Run(t.Context()) })
	server := httptest.NewServer(e.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		running.Wait()
	})
	return e, server
}

const modelPath = "/demo/meta/llama-3.1-8b"

func post(t testing.TB, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// until polls a condition of the emulator that other goroutines bring about.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("never came to be: %s", what)
		case <-poll.C:
		}
	}
}

// locked reads from the fleet of a running emulator.
func locked[T any](e *Emulator, read func(*fleet) T) T {
	e.mu.Lock()
	defer e.mu.Unlock()
	return read(e.fleet)
}

type completion struct {
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Text         string            `json:"text"`
		Message      map[string]string `json:"message"`
		Delta        map[string]string `json:"delta"`
		FinishReason *string           `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	} `json:"usage"`
}

// events splits a stream into its chunks, and checks that it ends as it should.
func events(t *testing.T, body string) []completion {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	if last := parts[len(parts)-1]; last != "data: [DONE]" {
		t.Fatalf("got last event %q, want data: [DONE]", last)
	}
	var chunks []completion
	for _, part := range parts[:len(parts)-1] {
		data, ok := strings.CutPrefix(part, "data: ")
		var c completion
		if err := json.Unmarshal([]byte(data), &c); !ok || err != nil {
			t.Fatalf("event %q: %v", part, err)
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func TestCompletionAtOnce(t *testing.T) {
	e, server := serve(t, Options{})
	e.SetPod(fastPod("a"))
	for _, c := range []struct {
		name, path, body string
		header           []string
		object           string
		input, output    int
	}{
		{"text", "/v1/completions", `{"model":"meta/llama-3.1-8b","prompt":" one two\nthree ","max_tokens":7}`, nil, "text_completion", 3, 7},
		{"no model in the body", "/v1/completions", `{"prompt":["one two"],"max_tokens":7}`, nil, "text_completion", 2, 7},
		{"token IDs, default length", "/v1/completions", `{"prompt":[5,6,7,8]}`, nil, "text_completion", 4, 16},
		{"header before words", "/v1/completions", `{"prompt":"one","input_tokens":5,"max_tokens":1}`, []string{"X-Input-Tokens", "9"}, "text_completion", 9, 1},
		{"field before words", "/v1/completions", `{"input_tokens":300,"cached_tokens":100,"max_tokens":2}`, nil, "text_completion", 300, 2},
		{"cut to the model's length", "/v1/completions", `{"input_tokens":1000,"max_tokens":5000}`, nil, "text_completion", 1000, 24},
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"why so"}]}],"max_completion_tokens":4}`, nil, "chat.completion", 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := post(t, server.URL+modelPath+c.path, c.body, c.header...)
			var got completion
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
				t.Fatalf("got %d %s", status, body)
			}
			text := got.Choices[0].Text + got.Choices[0].Message["content"]
			if got.Object != c.object || got.Model != testModel.ID || countWords(text) != c.output || *got.Choices[0].FinishReason != "length" {
				t.Errorf("got %s", body)
			}
			if u := got.Usage; u.Prompt != c.input || u.Completion != c.output || u.Total != c.input+c.output {
				t.Errorf("usage: got %+v, want %d and %d", *u, c.input, c.output)
			}
		})
	}
}

func TestStreamedCompletion(t *testing.T) {
	e, server := serve(t, Options{})
	e.SetPod(fastPod("a"))
	for _, c := range []struct {
		name, path, body string
		chunks           int // beside one per token
		usage            bool
	}{
		{"text", "/v1/completions", `{"prompt":"one two","max_tokens":20,"stream":true}`, 1, false},
		{"text with usage", "/v1/completions", `{"prompt":"one two","max_tokens":20,"stream":true,"stream_options":{"include_usage":true}}`, 2, true},
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"one two"}],"max_tokens":20,"stream":true}`, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := post(t, server.URL+modelPath+c.path, c.body)
			if status != http.StatusOK {
				t.Fatalf("got %d %s", status, body)
			}
			chunks := events(t, body)
			if got, want := len(chunks), 20+c.chunks; got != want {
				t.Errorf("got %d chunks, want %d", got, want)
			}
			text, finished := "", 0
			for _, chunk := range chunks {
				for _, choice := range chunk.Choices {
					text += choice.Text + choice.Delta["content"]
					if choice.FinishReason != nil {
						finished++
					}
				}
			}
			if countWords(text) != 20 || finished != 1 {
				t.Errorf("got %d words and %d finish reasons, want 20 and 1", countWords(text), finished)
			}
			last := chunks[len(chunks)-1]
			if c.usage != (last.Usage != nil) || c.usage && (last.Usage.Total != 22 || len(last.Choices) != 0) {
				t.Errorf("got last chunk %+v", last)
			}
		})
	}
}

func TestSameSeedSameText(t *testing.T) {
	texts := make([]string, 0, 3)
	for _, seed := range []uint64{1, 1, 2} {
		e, server := serve(t, Options{Seed: seed})
		e.SetPod(fastPod("a"))
		_, body := post(t, server.URL+modelPath+"/v1/completions", `{"prompt":"one","max_tokens":30}`)
		var got completion
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, got.Choices[0].Text)
	}
	if texts[0] != texts[1] || texts[0] == texts[2] {
		t.Errorf("got %q, %q and %q, want the first two equal and the third not", texts[0], texts[1], texts[2])
	}
}

func TestBadRequestsSayWhatIsWrong(t *testing.T) {
	e, server := serve(t, Options{})
	e.SetPod(fastPod("a"))
	other := fastPod("b")
	other.Namespace = "prod"
	e.SetPod(other)
	for _, c := range []struct {
		name, path, body string
		header           []string
		status           int
		want             string
	}{
		{"unknown model", "/demo/gpt/v1/completions", `{"prompt":"x"}`, nil, 404, `unknown model`},
		{"unknown namespace", "/x/meta/llama-3.1-8b/v1/completions", `{"prompt":"x"}`, nil, 404, `in namespace \"x\"`},
		{"another model", modelPath + "/v1/completions", `{"model":"gpt","prompt":"x"}`, nil, 404, `model is \"gpt\", but this path serves \"meta/llama-3.1-8b\"`},
		{"plain, unknown", "/v1/completions", `{"model":"gpt","prompt":"x"}`, nil, 404, "does not exist"},
		{"plain, twice", "/v1/completions", `{"model":"meta/llama-3.1-8b","prompt":"x"}`, nil, 400, "is in 2 namespaces"},
		{"plain, missing", "/v1/completions", `{"prompt":"x"}`, nil, 400, "model is missing"},
		{"no model in path", "/demo/v1/completions", `{}`, nil, 404, "want /NAMESPACE/MODEL"},
		{"not JSON", modelPath + "/v1/completions", `{"prompt":`, nil, 400, "unexpected end of JSON input"},
		{"wrong type", modelPath + "/v1/completions", `{"prompt":"x","max_tokens":"many"}`, nil, 400, "max_tokens"},
		{"no prompt", modelPath + "/v1/completions", `{}`, nil, 400, "prompt has no words"},
		{"no messages", modelPath + "/v1/chat/completions", `{}`, nil, 400, "messages have no words"},
		{"bad content", modelPath + "/v1/chat/completions", `{"messages":[{"content":5}]}`, nil, 400, "content of message 0"},
		{"several prompts", modelPath + "/v1/completions", `{"prompt":["a","b"]}`, nil, 400, "list of 2 texts"},
		{"odd prompt", modelPath + "/v1/completions", `{"prompt":{"a":1}}`, nil, 400, "neither a text"},
		{"no output", modelPath + "/v1/completions", `{"prompt":"x","max_tokens":0}`, nil, 400, "max_tokens is 0, want at least 1"},
		{"several choices", modelPath + "/v1/completions", `{"prompt":"x","n":2}`, nil, 400, "n is 2, want 1"},
		{"bad header", modelPath + "/v1/completions", `{}`, []string{"X-Input-Tokens", "ten"}, 400, `X-Input-Tokens is \"ten\"`},
		{"all cached", modelPath + "/v1/completions", `{"prompt":"x y","cached_tokens":2}`, nil, 400, "cached_tokens is 2, want 0 to 1"},
		{"too long", modelPath + "/v1/completions", `{"input_tokens":1024}`, nil, 400, "longer than the model"},
		{"no such page", "/x", `{}`, nil, 404, "no POST /x here"},
		{"wrong method", modelPath + "/v1/models", `{}`, nil, 405, "method is POST, want GET"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := post(t, server.URL+c.path, c.body, c.header...)
			var got struct {
				Error apiError `json:"error"`
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("got %s: %v", body, err)
			}
			if status != c.status || got.Error.Status != c.status || got.Error.Type == "" || !strings.Contains(body, c.want) {
				t.Errorf("got %d %s, want %d and %q", status, body, c.status, c.want)
			}
		})
	}
}

func TestFullQueueIsRefusedWith429(t *testing.T) {
	profile := slowProfile()
	profile.MaxBatchSize, profile.MaxQueue = 1, 1
	fake := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	e, server := serve(t, Options{Profiles: testProfiles(profile), Clock: fake})
	e.SetPod(readyPod("a"))
	for range 2 {
		c := &call{request: serving.Request{InputTokens: 10, OutputTokens: 5}, receiver: &witness{}}
		if err := e.submit(testModel, "", c); err != nil {
			t.Fatal(err)
		}
	}
	status, body := post(t, server.URL+modelPath+"/v1/completions", `{"prompt":"x","stream":true}`)
	if status != http.StatusTooManyRequests || !strings.Contains(body, "every replica is full") {
		t.Errorf("got %d %s, want 429", status, body)
	}
}

func TestRequestWaitsAtZeroUntilAReplicaIsReady(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	e, server := serve(t, Options{Clock: fake})
	e.Declare(testModel)
	answered := make(chan string, 1)
	go func() {
		_, body := post(t, server.URL+modelPath+"/v1/completions", `{"prompt":"x","max_tokens":3,"stream":true}`)
		answered <- body
	}()
	queueSize := func() int {
		return locked(e, func(f *fleet) int { return f.pools[testModel].flowOf("").size })
	}
	until(t, "the request is held", func() bool { return queueSize() == 1 })
	e.SetPod(readyPod("a"))
	until(t, "the request is released", func() bool { return queueSize() == 0 })
	for {
		select {
		case body := <-answered:
			if got := len(events(t, body)); got != 4 {
				t.Errorf("got %d chunks, want 3 and the last", got)
			}
			return
		default:
			fake.Step(10 * time.Millisecond)
		}
	}
}

func TestClientThatGoesAwayAbortsItsRequest(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	e, server := serve(t, Options{Clock: fake})
	e.SetPod(readyPod("a"))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+modelPath+"/v1/completions",
		strings.NewReader(`{"prompt":"x","max_tokens":500,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	stats := func() serving.Stats {
		return locked(e, func(f *fleet) serving.Stats { return f.pods[podKey{"demo", "a"}].replica.machine.Stats() })
	}
	first := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			defer resp.Body.Close()
			_, err = bufio.NewReader(resp.Body).ReadString('\n')
		}
		cancel()
		first <- err
	}()
	until(t, "the first token is out", func() bool {
		fake.Step(10 * time.Millisecond)
		return stats().GenerationTokens > 0
	})
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	until(t, "the request is aborted", func() bool { return stats().Aborted == 1 })
	if s := stats(); s.Running != 0 || s.UsedBlocks != 0 {
		t.Errorf("got %d running and %d blocks, want 0 and 0", s.Running, s.UsedBlocks)
	}
}

func TestStreamEndsWithAnErrorWhenItsReplicaGoes(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	e, server := serve(t, Options{Clock: fake})
	e.SetPod(readyPod("a"))
	resp, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(`{"model":"none","prompt":"x"}`))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Fatalf("got %v %v, want 404", resp, err)
	}
	resp.Body.Close()
	answered := make(chan string, 1)
	go func() {
		_, body := post(t, server.URL+"/v1/completions", `{"model":"meta/llama-3.1-8b","prompt":"x","max_tokens":500,"stream":true}`)
		answered <- body
	}()
	until(t, "the first token is out", func() bool {
		fake.Step(10 * time.Millisecond)
		return locked(e, func(f *fleet) uint64 { return f.pods[podKey{"demo", "a"}].replica.machine.Stats().GenerationTokens }) > 0
	})
	e.DeletePod("demo", "a")
	body := <-answered
	if !strings.Contains(body, `"message":"the replica is gone"`) || strings.Contains(body, "[DONE]") {
		t.Errorf("got %q, want an error and no [DONE]", body)
	}
}

func fetch(t testing.TB, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func TestPagesAndDiscovery(t *testing.T) {
	e, server := serve(t, Options{})
	e.SetPod(fastPod("a"))
	loading := fastPod("b")
	loading.Ready = false
	e.SetPod(loading)
	pending := fastPod("c")
	pending.Ready, pending.Started = false, false
	e.SetPod(pending)
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/healthz", 200, "ok\n"},
		{"/pods/demo/a/metrics", 200, "vllm:num_requests_running"},
		{"/pods/demo/b/metrics", 503, "the model is loading"},
		{"/pods/demo/x/metrics", 404, "no emulated pod demo/x"},
		{"/gateway/demo/metrics", 200, `inference_pool_ready_pods{name="meta-llama-3-1-8b"} 1.0`},
		{"/gateway/x/metrics", 404, "no emulated model"},
		{"/v1/models", 200, `"id":"meta/llama-3.1-8b"`},
		{modelPath + "/v1/models", 200, `"id":"meta/llama-3.1-8b"`},
		{"/demo/gpt/v1/models", 404, "does not exist"},
	} {
		if status, body := fetch(t, server.URL+c.path); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s, want %d and %q", c.path, status, body, c.status, c.want)
		}
	}
	_, body := fetch(t, server.URL+"/sd")
	var got []targetGroup
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	address := []string{strings.TrimPrefix(server.URL, "http://")}
	want := []targetGroup{
		{address, map[string]string{"__metrics_path__": "/pods/demo/a/metrics", "namespace": "demo", "pod": "a", "job": "vllm"}},
		{address, map[string]string{"__metrics_path__": "/pods/demo/b/metrics", "namespace": "demo", "pod": "b", "job": "vllm"}},
		{address, map[string]string{"__metrics_path__": "/gateway/demo/metrics", "namespace": "demo", "pod": "epp-0", "job": "epp"}},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("targets (-got +want):\n%s", d)
	}
}
