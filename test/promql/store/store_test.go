package store

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	testingclock "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, now time.Time) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), testingclock.NewFakePassiveClock(now))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestARequestWithoutATimeGetsTheStoresNow(t *testing.T) {
	s := open(t, noon)
	if err := s.Write(t.Context(), Series{labels.FromStrings("__name__", "x"), []Sample{{noon.Add(-time.Hour), 1}, {noon, 2}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ form, want string }{
		{"query=x", `"value":[1795176000,"2"]`},
		{"query=x&time=1795172400", `"value":[1795172400,"1"]`},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/query", strings.NewReader(c.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s, want %s", c.form, w.Code, w.Body, c.want)
		}
	}
}

func TestAnErrorOfTheEngineIsThatOfTheAPI(t *testing.T) {
	s := open(t, noon)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/query?query="+url.QueryEscape("x{"), nil))
	var body struct{ Status, ErrorType string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusBadRequest || body.Status != "error" || body.ErrorType != "bad_data" {
		t.Errorf("%d %+v", w.Code, body)
	}
}

// TestATargetIsScrapedAsPrometheusDoes looks at labels, at the rendering of
// bucket bounds and at the end of series.
func TestATargetIsScrapedAsPrometheusDoes(t *testing.T) {
	s := open(t, noon)
	target := s.Target(labels.FromStrings("namespace", "a", "pod", "p"))
	page := "# TYPE x gauge\nx 1\n# TYPE y gauge\ny{namespace=\"b\"} 2\n# TYPE h histogram\nh_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 3\nh_sum 1\nh_count 3\n"
	for i, p := range []string{page, "x 5\n"} {
		if err := target.Scrape(t.Context(), noon.Add(time.Duration(i)*time.Minute), []byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := target.Fail(t.Context(), noon.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{
		{0, []string{
			`{__name__="h_bucket", le="+Inf", namespace="a", pod="p"}`, `{__name__="h_bucket", le="1.0", namespace="a", pod="p"}`, `{__name__="h_count", namespace="a", pod="p"}`,
			`{__name__="h_sum", namespace="a", pod="p"}`, `{__name__="x", namespace="a", pod="p"}`, `{__name__="y", exported_namespace="b", namespace="a", pod="p"}`,
		}},
		{time.Minute, []string{`{__name__="x", namespace="a", pod="p"}`}},
		{2 * time.Minute, nil},
	} {
		rows, err := s.Query(t.Context(), `{pod="p"}`, noon.Add(c.at))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.Metric.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", c.at, diff)
		}
	}
}
