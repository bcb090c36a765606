package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// Source answers questions over the Prometheus HTTP API. It is safe for
// concurrent use.
type Source struct {
	client    *client
	prefixes  query.Prefixes
	retry     *retry
	strings   interner
	large     chan struct{} // holds one while a large answer is read
	onWarning func(query.Question, []string)

	rows    [query.QuestionCount]atomic.Int64 // of the last answer, to allocate for the next
	tooLong atomic.Int64                      // least length of an expression that was refused for its names [bytes]; 0 for none
}

var _ collector.Source = (*Source)(nil)

// New returns a Source, or what is wrong with the configuration. It does not contact the store,
// which may start later.
func New(config Config) (*Source, error) {
	base, err := config.validate()
	if err != nil {
		return nil, err
	}
	config = config.withDefaults()
	c, err := newClient(base, config)
	if err != nil {
		return nil, err
	}
	return &Source{
		client:    c,
		prefixes:  config.Prefixes,
		retry:     &retry{clock: config.Clock, rand: config.Rand, most: *config.Retries},
		onWarning: config.OnWarning,
		large:     make(chan struct{}, 1),
	}, nil
}

// Ask implements collector.Source. Errors are of type *Error. Names of models and pods in a
// question save a store work. When a store refuses an expression with names, Ask leaves them out,
// then and for every later expression of at least that length: VictoriaMetrics takes 16 KiB unless
// its -search.maxQueryLen says otherwise.
func (s *Source) Ask(ctx context.Context, request query.Request) (query.Answer, error) {
	request.Prefixes = s.prefixes
	ctx, cancel := context.WithTimeout(ctx, s.client.config.Timeout)
	defer cancel()
	if len(request.Models)+len(request.Pods) == 0 {
		return s.ask(ctx, request)
	}
	all, length := request, int64(len(request.PromQL()))
	all.Models, all.Pods = nil, nil
	if most := s.tooLong.Load(); most > 0 && length >= most {
		return s.ask(ctx, all)
	}
	answer, err := s.ask(ctx, request)
	if !hasStatus(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge) {
		return answer, err
	}
	answer, unnamed := s.ask(ctx, all)
	if unnamed != nil {
		return query.Answer{}, err // the names were not the cause
	}
	s.refusedFrom(length)
	return answer, nil
}

// refusedFrom records the length of an expression that was refused for its names; the least counts.
func (s *Source) refusedFrom(length int64) {
	for {
		least := s.tooLong.Load()
		if least > 0 && least <= length || s.tooLong.CompareAndSwap(least, length) {
			return
		}
	}
}

// ask repeats a question until there is an answer, or a failure that does not pass.
func (s *Source) ask(ctx context.Context, request query.Request) (query.Answer, error) {
	form := url.Values{"query": {request.PromQL()}}
	if !request.At.IsZero() {
		form.Set("time", unixSeconds(request.At))
	}
	for attempts := 1; ; attempts++ {
		answer, err := s.attempt(ctx, request.Ask, form)
		if err == nil {
			return answer, nil
		}
		failure, ok := errors.AsType[*Error](err)
		if end := ctx.Err(); end != nil && ok && failure.Status == 0 {
			// The transport may report instead how it ended the connection.
			return query.Answer{}, unreached(s.client.host, end)
		}
		if !ok || !s.retry.wait(ctx, attempts, failure) {
			return query.Answer{}, err
		}
	}
}

// Close closes the connections that no question uses.
func (s *Source) Close() { s.client.http.CloseIdleConnections() }

const (
	// bytesForRow limits the rows of an answer by its bytes: a row takes some 160 with its labels,
	// and as many in memory however short its text is.
	bytesForRow = 256
	// largeAnswer is the number of rows beyond which answers are read one at a time: the list is
	// copied to grow.
	largeAnswer = 1 << 15
)

// attempt asks a question once.
func (s *Source) attempt(ctx context.Context, ask query.Question, form url.Values) (query.Answer, error) {
	text, err := s.client.do(ctx, form)
	if err != nil {
		return query.Answer{}, err
	}
	defer text.Close()
	rows := make([]query.Row, 0, s.rows[ask].Load())
	most, alone := int(s.client.config.MaxBytes/bytesForRow), false
	defer func() {
		if alone {
			<-s.large
		}
	}()
	d := decoder{
		labels: labels{strings: &s.strings},
		row: func(label func(string) string, value float64) error {
			row, ok := query.RowOf(ask, label, value)
			switch {
			case !ok:
				return nil
			case len(rows) >= most:
				return text.found(fmt.Sprintf("more than %d rows", most))
			case len(rows) >= largeAnswer && !alone:
				select {
				case s.large <- struct{}{}:
					alone = true
				case <-ctx.Done():
					return unreached(s.client.host, ctx.Err())
				}
			}
			rows = append(rows, row)
			return nil
		},
	}
	err = d.decode(text)
	if len(d.notes) > 0 {
		s.onWarning(ask, d.notes)
	}
	if err != nil {
		return query.Answer{}, s.undecoded(text, err)
	}
	if found := d.missing(); found != "" {
		return query.Answer{}, text.found(found)
	}
	s.rows[ask].Store(int64(len(rows)))
	return query.Answer{At: d.at, Rows: rows}, nil
}

// undecoded returns the error of a body that is no answer.
func (s *Source) undecoded(text *body, err error) error {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure // reading it failed
	}
	beginning := text.beginning()
	shape, isShape := errors.AsType[shapeError](err)
	syntax, isSyntax := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !text.isObject():
		return text.found("garbage: " + excerpt(beginning))
	case isShape:
		return text.found(shape.Error())
	case isSyntax && !errors.Is(err, io.ErrUnexpectedEOF):
		return text.found("garbage: " + excerpt([]byte(syntax.Err.Error())))
	default:
		return text.failed(err)
	}
}

// unixSeconds renders an instant as the API takes it, to the millisecond.
func unixSeconds(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64)
}
