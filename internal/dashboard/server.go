package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Limits of the time of answers, and of the time and size of questions.
const (
	readLimit     = 30 * time.Second // for the source
	whatifLimit   = 30 * time.Second
	whyLimit      = 30 * time.Second
	bodyLimit     = 10 * time.Second // for the body of a question to arrive
	longestBody   = 64 << 10         // bytes
	longestHeader = 16 << 10         // bytes
)

// Options configure a Server. Source and Assets are required.
type Options struct {
	Source Source
	// Assets are the pages: index.html, and the files below assets.
	Assets fs.FS
	// Port tells the cookies of several dashboards apart.
	Port string
	// Clock is for heartbeats and limits; the real one where it is nil.
	Clock clock.WithTicker
	// Warn tells the user something suspicious in one sentence; nil for no warnings.
	Warn func(string)
}

// Server serves the pages and their questions. It is safe for concurrent use.
type Server struct {
	source Source
	clock  clock.WithTicker
	guard  *guard
	token  string
	pages  fs.FS
	stream chan struct{} // one place for each client of /api/events
	why    *answers
	heavy  chan struct{} // one what-if at a time
	parts  *parts
}

// New returns a Server.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &Server{
		source: o.Source, clock: o.Clock, pages: o.Assets, stream: make(chan struct{}, mostStreams),
		why: newAnswers(), heavy: make(chan struct{}, 1), parts: &parts{},
	}
	s.guard, s.token = newGuard(o.Port, o.Warn)
	return s
}

// Token returns the token of the one-time link, the parameter token of /.
func (s *Server) Token() string { return s.token }

// HTTP returns an HTTP server with limits of time and size. The contexts of its requests end with
// ctx.
func (s *Server) HTTP(ctx context.Context) *http.Server {
	return &http.Server{
		Handler: s.Handler(), MaxHeaderBytes: longestHeader,
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		// A ReadTimeout would end the streams of events; bodies have bodyLimit. The streams extend
		// the write deadline.
		WriteTimeout: readLimit + whyLimit + writePatience,
		BaseContext:  baseContext(ctx),
	}
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("index.html"))
	mux.HandleFunc("GET /assets/{file...}", func(w http.ResponseWriter, r *http.Request) {
		s.page("assets/"+r.PathValue("file"))(w, r)
	})
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /api/fleet", within(readLimit, s.fleet))
	mux.HandleFunc("GET /api/model", within(readLimit, s.model))
	mux.HandleFunc("GET /api/replicas", within(readLimit, s.replicas))
	mux.HandleFunc("GET /api/decision", within(readLimit+whyLimit, s.decision))
	mux.HandleFunc("POST /api/whatif", within(whatifLimit, s.whatif))
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path)
	})
	return s.guard.protect(mux)
}

// within limits the time of a handler, and sends its error to the client. That there is no answer
// yet is not sent as a failure, which browsers would log in their console.
func within(limit time.Duration, answer func(ctx context.Context, w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), limit)
		defer stop()
		r.Body = http.MaxBytesReader(w, r.Body, longestBody)
		found, err := answer(ctx, w, r)
		switch status := statusOf(err); {
		case err == nil:
			send(w, http.StatusOK, found)
		case status == http.StatusServiceUnavailable:
			send(w, http.StatusOK, map[string]string{"notYet": err.Error()})
		default:
			fail(w, status, err.Error())
		}
	}
}

// page serves one file of the pages, but no folder.
func (s *Server) page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if info, err := fs.Stat(s.pages, name); err != nil || !info.Mode().IsRegular() {
			refuse(w, r, http.StatusNotFound, "there is no such page")
			return
		}
		body, err := fs.ReadFile(s.pages, name)
		if err != nil {
			refuse(w, r, http.StatusInternalServerError, err.Error())
			return
		}
		w.Header().Set("Content-Type", contentType(name))
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the client may have gone
	}
}

func (s *Server) fleet(ctx context.Context, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return s.source.Fleet(ctx)
}

func (s *Server) model(ctx context.Context, _ http.ResponseWriter, r *http.Request) (any, error) {
	of, from, to, err := asked(r)
	if err != nil {
		return nil, err
	}
	return s.source.Model(ctx, of, from, to)
}

func (s *Server) replicas(ctx context.Context, _ http.ResponseWriter, r *http.Request) (any, error) {
	of, from, to, err := asked(r)
	if err != nil {
		return nil, err
	}
	return s.source.Replicas(ctx, of, from, to)
}

// asked returns the model and the time in the parameters of a question.
func asked(r *http.Request) (of scaling.ModelKey, from, to time.Time, err error) {
	q := r.URL.Query()
	of = scaling.ModelKey{Namespace: q.Get("namespace"), ID: q.Get("model")}
	if of.Namespace == "" || of.ID == "" {
		return of, from, to, refused("want the parameters namespace and model")
	}
	if from, err = instant("from", q.Get("from")); err != nil {
		return of, from, to, err
	}
	if to, err = instant("to", q.Get("to")); err != nil {
		return of, from, to, err
	}
	if !from.IsZero() && !to.IsZero() && !to.After(from) {
		return of, from, to, refused("from is not before to")
	}
	return of, from, to, nil
}

// latestInstant is the end of the year 9999, in Unix seconds.
const latestInstant = 253402300799

// instant parses Unix seconds; the zero time for "".
func instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= latestInstant) {
		return time.Time{}, refused(fmt.Sprintf("%s %.40q: want seconds since 1970", name, text))
	}
	return time.UnixMilli(int64(math.Round(1000 * seconds))).UTC(), nil
}

// refused returns the error of a malformed question.
func refused(sentence string) error { return &RefusalError{http.StatusBadRequest, sentence} }

func fail(w http.ResponseWriter, status int, sentence string) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	send(w, status, map[string]string{"error": sentence})
}

// send answers with JSON. It escapes <, > and &, so that text cannot end a script or begin a tag.
func send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone
}
