package monitor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/tsdb"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"
)

// page is the HTML page at /.
const page = `<!doctype html><title>Prometheus of localcluster</title>
<h1>Prometheus of localcluster</h1>
<p>A Prometheus server without its user interface. It answers:</p>
<ul>
<li><a href="/api/v1/query?query=up">/api/v1/query?query=up</a> and the rest of the Prometheus HTTP API
<li><a href="/api/v1/targets">/api/v1/targets</a>, <a href="/api/v1/status/config">/api/v1/status/config</a>,
<a href="/api/v1/status/tsdb">/api/v1/status/tsdb</a>
<li><a href="/-/ready">/-/ready</a>, <a href="/-/healthy">/-/healthy</a>, POST /-/reload
<li><a href="/metrics">/metrics</a>
</ul>
`

// Limits of remote read, as in the flags of Prometheus.
const (
	remoteReadSamples     = 50_000_000
	remoteReadConcurrency = 10
	remoteReadFrameBytes  = 1 << 20
)

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	api := route.New()
	s.api().Register(api)
	mux.Handle("/api/v1/", http.StripPrefix("/api/v1", api))
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Prometheus Server is Ready.") })
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Prometheus Server is Healthy.") })
	mux.HandleFunc("POST /-/reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.reload(); err != nil {
			s.log.Error("reloading", "err", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	return mux
}

func (s *server) api() *apiv1.API {
	retriever := func(context.Context) apiv1.TargetRetriever { return s.scrape }
	pools := func(context.Context) apiv1.ScrapePoolsRetriever { return s.scrape }
	alertmanagers := func(context.Context) apiv1.AlertmanagerRetriever { return absent{} }
	noRules := func(context.Context) apiv1.RulesRetriever { return absent{} }
	ready := func(f http.HandlerFunc) http.HandlerFunc { return f }
	return apiv1.NewAPI(
		s.engine, s.db, nil, nil, s.db, pools, retriever, alertmanagers, s.config,
		map[string]string{"config.file": s.options.ConfigFile, "storage.tsdb.path": s.options.DataDir, "web.listen-address": s.options.Listen},
		apiv1.GlobalURLOptions{ListenAddress: s.options.Listen, Host: s.options.Listen, Scheme: "http"},
		ready, database{s.db, s.stats}, s.options.DataDir, false, false, 0, s.log.With("part", "api"), noRules,
		remoteReadSamples, remoteReadConcurrency, remoteReadFrameBytes,
		false, nil, s.runtime, &apiv1.PrometheusVersion{Version: "localcluster", GoVersion: runtime.Version()},
		nil, nil, s.registry, s.registry, nil,
		false, nil, false, false, false, false, lookbackDelta, false, false, nil, nil,
		apiv1.OpenAPIOptions{ExternalURL: "http://" + s.options.Listen}, s.parser,
	)
}

func (s *server) runtime() (apiv1.RuntimeInfo, error) {
	host, err := os.Hostname()
	if err != nil {
		return apiv1.RuntimeInfo{}, fmt.Errorf("reading the host name: %w", err)
	}
	current := s.current.Load()
	return apiv1.RuntimeInfo{
		StartTime: s.started, ServerTime: time.Now(), Hostname: host, ReloadConfigSuccess: current.ok, LastConfigTime: current.at,
		GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), StorageRetention: s.options.Retention.String(),
	}, nil
}

// absent answers for the parts that this server does not have.
type absent struct{}

func (absent) Alertmanagers() []*url.URL            { return nil }
func (absent) DroppedAlertmanagers() []*url.URL     { return nil }
func (absent) RuleGroups() []*rules.Group           { return nil }
func (absent) AlertingRules() []*rules.AlertingRule { return nil }

// database gives the API the statistics of the database.
type database struct {
	*tsdb.DB
	stats *tsdb.DBStats
}

// BlockMetas returns the metadata of each block on disk.
func (d database) BlockMetas() ([]tsdb.BlockMeta, error) { return d.DB.BlockMetas(), nil }

// Stats returns the numbers of series by label of the samples in memory.
func (d database) Stats(label string, limit int) (*tsdb.Stats, error) {
	return d.Head().Stats(label, limit), nil
}

// WALReplayStatus returns how far the write-ahead log has been read.
func (d database) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	return d.stats.Head.WALReplayStatus.GetWALReplayStatus(), nil
}
