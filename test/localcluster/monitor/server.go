package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	// The discovery mechanisms that a configuration may name besides static ones.
	_ "github.com/prometheus/prometheus/discovery/file"
	_ "github.com/prometheus/prometheus/discovery/http"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"golang.org/x/sync/errgroup"
)

// Limits of the query engine, as in the flags of Prometheus.
const (
	maxSamples    = 50_000_000
	queryTimeout  = 2 * time.Minute
	lookbackDelta = 5 * time.Minute
	// closeWithin limits how long a stopping server waits for running requests.
	closeWithin = 5 * time.Second
)

// Options say where a server listens and what it reads and writes.
type Options struct {
	Listen     string        // address to serve on, host:port
	ConfigFile string        // a Prometheus configuration file
	DataDir    string        // folder of the time series database, created if absent
	Retention  time.Duration // how long samples are kept; 0 means without end
	Logger     *slog.Logger  // nil means slog.Default
}

// server is one running Prometheus.
type server struct {
	options   Options
	log       *slog.Logger
	registry  *prometheus.Registry
	db        *tsdb.DB
	stats     *tsdb.DBStats
	engine    *promql.Engine
	parser    parser.Parser
	discovery *discovery.Manager
	scrape    *scrape.Manager
	started   time.Time
	reloading sync.Mutex
	current   atomic.Pointer[loaded]
}

// loaded is the outcome of the latest reading of the configuration.
type loaded struct {
	config *config.Config // the latest good one
	ok     bool           // whether the latest attempt worked
	at     time.Time      // when the good one was read
}

// Serve runs the server until ctx is cancelled, then closes the database.
func Serve(ctx context.Context, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &server{options: o, log: o.Logger, registry: prometheus.NewRegistry(), started: time.Now()}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer listener.Close()
	if err := s.openDB(); err != nil {
		return err
	}
	defer func() {
		if err := s.db.Close(); err != nil {
			s.log.Error("closing the database", "err", err)
		}
	}()

	group, ctx := errgroup.WithContext(ctx)
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.reload(); err != nil {
		return err
	}
	group.Go(s.discovery.Run)
	group.Go(func() error { return s.scrape.Run(s.discovery.SyncCh()) })
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	group.Go(func() error {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.scrape.Stop()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		return web.Shutdown(closing)
	})
	s.log.Info("serving", "address", o.Listen)
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *server) openDB() error {
	options := tsdb.DefaultOptions()
	options.RetentionDuration = s.options.Retention.Milliseconds()
	// Small segments: the write-ahead log is allocated in whole segments.
	options.WALSegmentSize = 8 << 20
	// A fraction of the default number of lock stripes: this is not a large server.
	options.StripeSize = 1 << 10
	s.stats = tsdb.NewDBStats()
	db, err := tsdb.Open(s.options.DataDir, s.log.With("part", "tsdb"), s.registry, options, s.stats)
	if err != nil {
		return fmt.Errorf("opening the database in %s: %w", s.options.DataDir, err)
	}
	s.db = db
	return nil
}

func (s *server) build(ctx context.Context) error {
	metrics, err := discovery.CreateAndRegisterSDMetrics(s.registry)
	if err != nil {
		return fmt.Errorf("registering discovery metrics: %w", err)
	}
	s.discovery = discovery.NewManager(ctx, s.log.With("part", "discovery"), s.registry, metrics, discovery.Name("scrape"))
	// Targets of a reload are scraped within a second instead of five.
	s.scrape, err = scrape.NewManager(&scrape.Options{DiscoveryReloadInterval: scrapeReload, DiscoveryReloadOnStartup: true},
		s.log.With("part", "scrape"), nil, nil, s.db, s.registry)
	if err != nil {
		return fmt.Errorf("building the scrape manager: %w", err)
	}
	s.parser = parser.NewParser(parser.Options{})
	s.engine = promql.NewEngine(promql.EngineOpts{
		Logger:               s.log.With("part", "promql"),
		Reg:                  s.registry,
		MaxSamples:           maxSamples,
		Timeout:              queryTimeout,
		LookbackDelta:        lookbackDelta,
		EnableAtModifier:     true,
		EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 {
			return time.Duration(s.config().GlobalConfig.EvaluationInterval).Milliseconds()
		},
		Parser: s.parser,
	})
	return nil
}
