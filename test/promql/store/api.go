package store

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"
)

// Limits of remote read, as in the flags of Prometheus.
const (
	remoteReadSamples     = 50_000_000
	remoteReadConcurrency = 10
	remoteReadFrameBytes  = 1 << 20
)

// ServeHTTP answers the Prometheus HTTP API below /api/v1/.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.api().ServeHTTP(w, r) }

// newAPI returns Prometheus' own handlers behind one that sets the store's time in requests without
// a time: the API would use the machine's.
func (s *Store) newAPI(registry *prometheus.Registry) http.Handler {
	noPools := func(context.Context) apiv1.ScrapePoolsRetriever { return absent{} }
	noTargets := func(context.Context) apiv1.TargetRetriever { return absent{} }
	noAlertmanagers := func(context.Context) apiv1.AlertmanagerRetriever { return absent{} }
	noRules := func(context.Context) apiv1.RulesRetriever { return absent{} }
	ready := func(f http.HandlerFunc) http.HandlerFunc { return f }
	api := apiv1.NewAPI(
		s.engine, s.db, nil, nil, s.db, noPools, noTargets, noAlertmanagers, func() config.Config { return config.Config{} },
		nil, apiv1.GlobalURLOptions{Scheme: "http"}, ready, database{s.db}, s.dir, false, false, 0,
		slog.New(slog.DiscardHandler), noRules, remoteReadSamples, remoteReadConcurrency, remoteReadFrameBytes,
		false, nil, func() (apiv1.RuntimeInfo, error) { return apiv1.RuntimeInfo{}, nil }, &apiv1.PrometheusVersion{},
		nil, nil, registry, registry, nil,
		false, nil, false, false, false, false, lookbackDelta, false, false, nil, nil,
		apiv1.OpenAPIOptions{}, s.parser,
	)
	routes := route.New()
	api.Register(routes)
	inner := http.StripPrefix("/api/v1", routes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Form.Get("time") == "" {
			r.Form.Set("time", seconds(s.clock.Now()))
		}
		inner.ServeHTTP(w, r)
	})
}

// seconds formats an instant for the API.
func seconds(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
}

// errAbsent is the error of requests for parts that a store does not have.
var errAbsent = errors.New("a store scrapes nothing")

// absent answers for the parts that a store does not have.
type absent struct{}

func (absent) Alertmanagers() []*url.URL                             { return nil }
func (absent) DroppedAlertmanagers() []*url.URL                      { return nil }
func (absent) RuleGroups() []*rules.Group                            { return nil }
func (absent) AlertingRules() []*rules.AlertingRule                  { return nil }
func (absent) TargetsActive() map[string][]*scrape.Target            { return nil }
func (absent) TargetsDropped() map[string][]*scrape.Target           { return nil }
func (absent) TargetsDroppedCounts() map[string]int                  { return nil }
func (absent) ScrapePoolConfig(string) (*config.ScrapeConfig, error) { return nil, errAbsent }
func (absent) ScrapePools() []string                                 { return nil }

// database gives the API the statistics of the database.
type database struct{ *tsdb.DB }

// BlockMetas returns the metadata of each block on disk.
func (d database) BlockMetas() ([]tsdb.BlockMeta, error) { return d.DB.BlockMetas(), nil }

// Stats returns the numbers of series by label of the samples in memory.
func (d database) Stats(label string, limit int) (*tsdb.Stats, error) {
	return d.Head().Stats(label, limit), nil
}

// WALReplayStatus returns the zero value: there is no write-ahead log.
func (database) WALReplayStatus() (tsdb.WALReplayStatus, error) { return tsdb.WALReplayStatus{}, nil }
