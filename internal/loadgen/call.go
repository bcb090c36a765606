package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Kind is the kind of a failure. The zero value is no failure.
type Kind string

// Kinds of failure. An HTTP status other than 200 is a kind such as "http 503".
const (
	Refused     Kind = "refused"       // nothing listens at the address
	Network     Kind = "network"       // any other failure before an answer: DNS, TLS, reset
	Stream      Kind = "broken stream" // ended early, or is not a stream of completions
	Timeout     Kind = "timeout"       // not connected within 10 s or not complete within Options.Timeout
	NotSent     Kind = "not sent"      // Options.MaxInFlight were under way
	Interrupted Kind = "interrupted"   // the run ended while the request was under way
)

// statusKind returns the kind of an HTTP status.
func statusKind(status int) Kind { return Kind("http " + strconv.Itoa(status)) }

// result holds the measurements of one request. Times are those of the run's clock.
type result struct {
	kind   Kind
	err    error
	lag    time.Duration // how late it was sent
	ttft   time.Duration // valid when events > 0
	e2e    time.Duration // until the end, or the failure
	last   time.Duration // of the last event with text
	events int           // with text
	tokens int           // received
	gaps   []float64     // between events, ms
}

// itl returns the mean inter-token latency of the request; ok is false with fewer than two tokens.
func (r *result) itl() (mean time.Duration, ok bool) {
	if r.tokens < 2 || r.events < 1 {
		return 0, false
	}
	return (r.last - r.ttft) / time.Duration(r.tokens-1), true
}

// meets reports whether the request was answered within the objectives.
func (r *result) meets(slo SLO) bool { return r.kind == "" && !r.late(slo) }

// late reports whether the times of the request so far miss an objective.
func (r *result) late(slo SLO) bool {
	ttft := r.ttft
	if r.events == 0 {
		ttft = r.e2e
	}
	itl, ok := r.itl()
	return slo.TTFT > 0 && ttft > slo.TTFT || ok && slo.ITL > 0 && itl > slo.ITL
}

// caller sends single requests.
type caller struct {
	client   *http.Client
	endpoint string
	options  Options
	prompts  prompts
}

// completionRequest is the body of POST /v1/completions. ignore_eos is an extension of vLLM and
// SGLang; without it a model may stop earlier.
type completionRequest struct {
	Model         string        `json:"model"`
	Prompt        string        `json:"prompt"`
	MaxTokens     int           `json:"max_tokens"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	IgnoreEOS     bool          `json:"ignore_eos"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// call sends the request with this number and reads its answer to the end.
func (c *caller) call(ctx context.Context, r workload.Request, number uint64, due time.Time) *result {
	body, err := json.Marshal(completionRequest{
		Model:         c.options.Model,
		Prompt:        c.prompts.text(r.InputTokens, c.options.Seed, number),
		MaxTokens:     r.OutputTokens,
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
		IgnoreEOS:     true,
	})
	if err != nil {
		panic("loadgen: a request of strings and numbers has no JSON: " + err.Error())
	}
	timed, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	start := c.options.Clock.Now()
	out := &result{lag: max(0, start.Sub(due))}
	out.kind, out.err = c.exchange(timed, body, r, start, out)
	out.e2e = c.options.Clock.Since(start)
	switch {
	case out.err == nil:
	case ctx.Err() != nil:
		out.kind = Interrupted
	case timed.Err() != nil:
		out.kind = Timeout
	}
	return out
}

// exchange posts body and reads the answer into out.
func (c *caller) exchange(ctx context.Context, body []byte, r workload.Request, start time.Time, out *result) (Kind, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return Network, fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("X-Input-Tokens", strconv.Itoa(r.InputTokens))
	response, err := c.client.Do(request)
	if err != nil {
		return networkKind(err), err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		// Reading the answer to its end allows the reuse of its connection.
		said, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		return statusKind(response.StatusCode), fmt.Errorf("status %s: %.200s", response.Status, bytes.TrimSpace(said))
	}
	if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != "text/event-stream" {
		return Stream, fmt.Errorf("%w but %q", errNotAStream, response.Header.Get("Content-Type"))
	}
	if err := c.receive(newStream(response.Body), start, out); err != nil {
		return Stream, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10))
	return "", nil
}

// receive reads events until the stream is done.
func (c *caller) receive(events stream, start time.Time, out *result) error {
	for {
		e, err := events.next()
		if err != nil {
			return fmt.Errorf("after %d events: %w", out.events, err)
		}
		if e.done && out.events == 0 {
			return errNoText
		}
		if e.done {
			return nil
		}
		if e.text {
			at := c.options.Clock.Since(start)
			if out.events == 0 {
				out.ttft = at
			} else {
				out.gaps = append(out.gaps, milliseconds(at-out.last))
			}
			out.last = at
			out.events++
		}
		out.tokens = max(out.tokens, out.events, e.tokens)
	}
}

func networkKind(err error) Kind {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return Refused
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Timeout() {
		return Timeout
	}
	return Network
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
