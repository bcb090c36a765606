package scrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Target is a page to scrape.
type Target struct {
	Namespace string
	Pod       string // of the page
	Model     string // of the pod, "" for an endpoint picker
	URL       string
	// Starting: the pod is not Ready, so a missing page is no fault yet.
	Starting bool
}

// key returns t without the field that changes while it is the same page.
func (t Target) key() Target {
	t.Starting = false
	return t
}

// Targets returns the pages to scrape now. It reads caches and returns at once.
type Targets func(ctx context.Context) ([]Target, error)

// Options are the settings of a Source.
type Options struct {
	// Name is the job that rows of PageTime and ScrapeInterval name.
	Name string
	// Pods lists the serving pods, Pickers the endpoint pickers. Nil lists none.
	Pods, Pickers Targets
	// PickersOnly leaves out the pages of the serving pods: their pickers report for them.
	PickersOnly bool
	// Interval is the time between two scrapes of a page. 0 means 5s.
	Interval time.Duration
	// Timeout limits one scrape. 0 means the interval, but 10s at most.
	Timeout time.Duration
	// Concurrency is how many scrapes may be under way at once, a quarter of them of one namespace.
	// 0 means 64.
	Concurrency int
	// MaxBytes limits a page, in bytes. 0 means 8 MiB.
	MaxBytes int64
	// Prefixes are the prefixes of vLLM's metric names.
	Prefixes query.Prefixes
	// Limits are the budget of each namespace: PageBytes and Series.
	Limits budget.Limits
	// LeftOut is called in every round with the number of targets whose pages are left out because
	// of Limits, by the exceeded limit and by namespace. Nil ignores it.
	LeftOut func(map[budget.What]map[string]int)
	// Client sends the requests. Nil means http.DefaultClient.
	Client *http.Client
	// Authorize adds credentials to a request to an endpoint picker, whose page may require them.
	// Serving pods never get any: a pod belongs to the user who deployed it. Nil adds none.
	Authorize func(*http.Request) error
	// Observe is called after every scrape. It must be safe for concurrent use. Nil ignores them.
	Observe func(took time.Duration, err error)
}

func (o Options) withDefaults() Options {
	none := func(context.Context) ([]Target, error) { return nil, nil }
	if o.Pods == nil {
		o.Pods = none
	}
	if o.Pickers == nil {
		o.Pickers = none
	}
	if o.Interval <= 0 {
		o.Interval = 5 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = min(o.Interval, 10*time.Second)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 64
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 8 << 20
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Authorize == nil {
		o.Authorize = func(*http.Request) error { return nil }
	}
	if o.Observe == nil {
		o.Observe = func(time.Duration, error) {}
	}
	if o.LeftOut == nil {
		o.LeftOut = func(map[budget.What]map[string]int) {}
	}
	return o
}

// Source answers the catalogue from pages that it scrapes itself. Run scrapes; Ask answers from
// memory and is safe for concurrent use.
type Source struct {
	options Options
	clock   clock.WithTicker
	store   *store
	wanted  map[kind]families
	infos   map[string]query.Series
	slots   chan struct{} // one for each scrape under way
	large   sync.Mutex    // held while a large page is parsed
	// underWay are the goroutines that Run waits for.
	underWay sync.WaitGroup

	mu     sync.Mutex
	shares map[string]chan struct{} // of slots, by namespace
	// first is closed when the first round of scrapes has ended, or has taken twice the timeout.
	first chan struct{}
}

var _ collector.Source = (*Source)(nil)

// New returns a Source without pages; Run scrapes them.
func New(clk clock.WithTicker, options Options) *Source {
	options = options.withDefaults()
	return &Source{
		options: options, clock: clk, store: newStore(options), first: make(chan struct{}),
		slots: make(chan struct{}, options.Concurrency), shares: map[string]chan struct{}{},
		infos:  infos(options.Prefixes),
		wanted: map[kind]families{servingPod: wantedOfPods(options.Prefixes), endpointPicker: wantedOfPickers()},
	}
}

// errNothing is the error of a source whose scrapes all fail.
var errNothing = errors.New("no page could be scraped")

// Ask answers a question from the pages scraped so far. It waits for the first round of scrapes to
// end, but no longer than twice the timeout. It fails when every scrape failed, those of pods that
// are not Ready aside, or when nothing was scraped because the targets could not be listed.
func (s *Source) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	if err := ctx.Err(); err != nil {
		return query.Answer{}, fmt.Errorf("asking the %s backend: %w", s.options.Name, err)
	}
	select {
	case <-s.first:
	case <-ctx.Done():
		return query.Answer{}, fmt.Errorf("waiting for the first round of scrapes by the %s backend: %w", s.options.Name, ctx.Err())
	}
	view, err := s.store.view()
	if err != nil {
		return query.Answer{}, fmt.Errorf("%s backend: %w", s.options.Name, err)
	}
	at := request.At
	if at.IsZero() {
		at = s.clock.Now()
	}
	window := request.Window
	if window <= 0 {
		window = time.Minute
	}
	return query.Answer{At: at, Rows: view.answer(request, moment{at: at, window: window, aged: request.Aged})}, nil
}
