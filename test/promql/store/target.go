package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// Target is one scrape target of a Store: the labels of its series and the series of its last page.
// It is not safe for concurrent use.
type Target struct {
	store   *Store
	labels  labels.Labels
	known   map[string]*exposed // by their text on the page
	scrapes int
}

// exposed is a series that a target has exposed.
type exposed struct {
	labels labels.Labels
	ref    storage.SeriesRef
	scrape int // the number of the last scrape with it, 0 once it is stale
}

// Target returns a target whose series get the labels of set, for example namespace, pod and job. A
// label of the page with the same name is renamed, as exported_namespace, as Prometheus does by
// default.
func (s *Store) Target(set labels.Labels) *Target {
	return &Target{store: s, labels: set, known: map[string]*exposed{}}
}

// Scrape stores a page in the text format, or in that of OpenMetrics, at an instant. It marks the
// series that the previous page had and this one has not as stale.
func (t *Target) Scrape(ctx context.Context, at time.Time, page []byte) error {
	format := "text/plain; version=0.0.4"
	if bytes.HasSuffix(page, []byte("# EOF\n")) {
		format = "application/openmetrics-text; version=1.0.0"
	}
	parser, err := textparse.New(page, format, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return fmt.Errorf("reading the page of %s: %w", t.labels, err)
	}
	appender := t.store.Appender(ctx)
	t.scrapes++
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return t.commit(appender, at)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("reading the page of %s: %w", t.labels, err), appender.Rollback())
		}
		if entry != textparse.EntrySeries {
			continue
		}
		text, _, v := parser.Series()
		one, ok := t.known[string(text)]
		if !ok {
			one = &exposed{}
			parser.Labels(&one.labels)
			one.labels = t.labelled(one.labels)
			t.known[string(text)] = one
		}
		if err := one.append(appender, at, v); err != nil {
			return errors.Join(err, appender.Rollback())
		}
		one.scrape = t.scrapes
	}
}

// Fail stores a scrape that got no page: all series become stale.
func (t *Target) Fail(ctx context.Context, at time.Time) error {
	t.scrapes++
	return t.commit(t.store.Appender(ctx), at)
}

// commit marks missing series as stale and ends the scrape.
func (t *Target) commit(appender storage.Appender, at time.Time) error {
	for _, one := range t.known {
		if one.scrape == 0 || one.scrape == t.scrapes {
			continue
		}
		one.scrape = 0
		if err := one.append(appender, at, math.Float64frombits(value.StaleNaN)); err != nil {
			return errors.Join(err, appender.Rollback())
		}
	}
	if err := appender.Commit(); err != nil {
		return fmt.Errorf("committing the page of %s: %w", t.labels, err)
	}
	return nil
}

func (e *exposed) append(appender storage.Appender, at time.Time, v float64) error {
	ref, err := appender.Append(e.ref, e.labels, at.UnixMilli(), v)
	if err != nil {
		return fmt.Errorf("appending %s at %v: %w", e.labels, at, err)
	}
	e.ref = ref
	return nil
}

// labelled returns the labels of a series of the page with those of the target.
func (t *Target) labelled(set labels.Labels) labels.Labels {
	b := labels.NewBuilder(set)
	t.labels.Range(func(l labels.Label) {
		if own := set.Get(l.Name); own != "" {
			b.Set("exported_"+l.Name, own)
		}
		b.Set(l.Name, l.Value)
	})
	return b.Labels()
}
