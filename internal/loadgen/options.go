package loadgen

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	// DefaultMaxInFlight stays well below the usual limit of 1024 open files.
	DefaultMaxInFlight = 900
	// DefaultTimeout is enough for an answer of a few thousand tokens.
	DefaultTimeout = 5 * time.Minute
	// defaultProgressEvery suits a terminal.
	defaultProgressEvery = time.Second
)

// SLO are latency objectives. 0 is no objective.
type SLO struct {
	TTFT time.Duration // of a request
	ITL  time.Duration // mean of a request
}

// Options describe a run. URL and Model are required.
type Options struct {
	// URL is the base to which /v1/completions is appended, such as
	// http://127.0.0.1:8000/ns/meta/llama-3.1-8b.
	URL string
	// Model is the model's ID in the request.
	Model string
	// Duration is the length of the workload, including the time without requests at its
	// end; 0 means until its last request.
	Duration time.Duration
	// SLO holds the objectives for attainment.
	SLO SLO
	// MaxInFlight is the largest number of requests under way; 0 is DefaultMaxInFlight.
	MaxInFlight int
	// Timeout limits the time from the start of a request to the end of its stream; 0 is
	// DefaultTimeout.
	Timeout time.Duration
	// Seed makes prompts and samples repeatable.
	Seed uint64
	// Progress, if not nil, is called every ProgressEvery while the run lasts
	// and once at its end, never concurrently.
	Progress func(Progress)
	// ProgressEvery is defaultProgressEvery when 0.
	ProgressEvery time.Duration
	// Transport sends the requests; nil means the run's own transport.
	Transport http.RoundTripper
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// Validate returns the error that Run would return for o.
func (o Options) Validate() error {
	_, _, err := o.complete()
	return err
}

// complete checks o and fills in defaults; endpoint is the URL to post to.
func (o Options) complete() (completed Options, endpoint string, err error) {
	endpoint, err = completions(o.URL)
	switch {
	case err != nil:
		return o, "", err
	case o.Model == "":
		return o, "", errors.New("the model is empty")
	case o.MaxInFlight < 0:
		return o, "", fmt.Errorf("the number of requests in flight, %d, is negative", o.MaxInFlight)
	case o.Duration < 0 || o.Timeout < 0 || o.ProgressEvery < 0 || o.SLO.TTFT < 0 || o.SLO.ITL < 0:
		return o, "", errors.New("a duration is negative")
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = DefaultMaxInFlight
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.ProgressEvery == 0 {
		o.ProgressEvery = defaultProgressEvery
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, endpoint, nil
}

// completions returns the URL of completions below a base.
func completions(text string) (string, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("the URL: %w", err)
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return "", fmt.Errorf("the URL %q is not of the form http://host:port/path", text)
	case base.RawQuery != "" || base.Fragment != "":
		return "", fmt.Errorf("the URL %q has a query or fragment, want a base to append /v1/completions to", text)
	case strings.HasSuffix(base.Path, "/v1") || strings.HasSuffix(base.Path, "/v1/completions"):
		return "", fmt.Errorf("the URL %q has /v1 already, want the base to append /v1/completions to", text)
	}
	return base.JoinPath("/v1/completions").String(), nil
}
