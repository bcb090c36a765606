package store

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"k8s.io/utils/clock"
)

// Limits and defaults of the query engine, as in the flags of Prometheus.
const (
	maxSamples         = 50_000_000
	queryTimeout       = 2 * time.Minute
	lookbackDelta      = 5 * time.Minute
	evaluationInterval = time.Minute
)

// span limits the time between the samples of a store: within half of it they may be written in any
// order of series.
const span = 60 * 24 * time.Hour

// Store is one Prometheus. It is safe for concurrent use, except for Close.
type Store struct {
	db     *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
	clock  clock.PassiveClock
	dir    string
	api    func() http.Handler // made at the first request, since that takes long
}

// Series is one time series, or a further piece of one.
type Series struct {
	Labels  labels.Labels // the name of the metric included
	Samples []Sample      // in the order of their times
}

// Sample is one value of a Series.
type Sample struct {
	At    time.Time // to the millisecond
	Value float64
}

// Open returns an empty store that keeps its files in dir, which must exist and be empty. clk is
// the clock of the store.
func Open(dir string, clk clock.PassiveClock) (*Store, error) {
	options := tsdb.DefaultOptions()
	// No data outlives the process, and none is compacted.
	options.WALSegmentSize = -1
	options.MinBlockDuration = span.Milliseconds()
	options.MaxBlockDuration = options.MinBlockDuration
	options.RetentionDuration = 0
	// Fewer lock stripes than by default: a store of a few series opens in a few milliseconds.
	options.StripeSize = 1 << 10
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), nil, options, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the database in %s: %w", dir, err)
	}
	db.DisableCompactions()
	s := &Store{db: db, clock: clk, dir: dir, parser: parser.NewParser(parser.Options{})}
	registry := prometheus.NewRegistry()
	s.engine = promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), Reg: registry, MaxSamples: maxSamples, Timeout: queryTimeout,
		LookbackDelta: lookbackDelta, EnableAtModifier: true, EnableNegativeOffset: true, Parser: s.parser,
		NoStepSubqueryIntervalFn: func(int64) int64 { return evaluationInterval.Milliseconds() },
	})
	s.api = sync.OnceValue(func() http.Handler { return s.newAPI(registry) })
	return s, nil
}

// Close releases the memory and the files of the database, not their directory.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("closing the database in %s: %w", s.dir, err)
	}
	return nil
}

// Write appends samples. A series that exists continues: its new samples must be later than those
// that it has.
func (s *Store) Write(ctx context.Context, series ...Series) error {
	appender := s.Appender(ctx)
	for _, one := range series {
		var ref storage.SeriesRef
		for _, sample := range one.Samples {
			var err error
			if ref, err = appender.Append(ref, one.Labels, sample.At.UnixMilli(), sample.Value); err != nil {
				return fmt.Errorf("appending %v at %v to %s: %w", sample.Value, sample.At, one.Labels, err)
			}
		}
	}
	if err := appender.Commit(); err != nil {
		return fmt.Errorf("committing samples: %w", err)
	}
	return nil
}

// Appender returns Prometheus' own interface for writing, for callers that write millions of
// samples. It must be committed or rolled back.
func (s *Store) Appender(ctx context.Context) storage.Appender { return s.db.Appender(ctx) }

// SeriesCount returns the number of series in the store.
func (s *Store) SeriesCount() int { return int(s.db.Head().NumSeries()) }

// Query evaluates expr at an instant, without HTTP.
func (s *Store) Query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := s.engine.NewInstantQuery(ctx, s.db, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", expr, err)
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expr, result.Err)
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expr, err)
	}
	// The engine reuses its samples after Close.
	return append(promql.Vector(nil), vector...), nil
}
