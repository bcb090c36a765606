package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// pages stand for the pages of the dashboard.
var pages = fstest.MapFS{
	"index.html":     {Data: []byte("<!doctype html><title>pages</title>")},
	"assets/app.js":  {Data: []byte("export {}\n")},
	"assets/app.css": {Data: []byte("body {}\n")},
}

// still is a source that never changes.
type still struct {
	board    *Board
	fleet    history.Fleet
	model    history.ModelHistory
	replica  history.Replicas
	decision Decided
	cycles   Cycles
	err      error
}

func (s *still) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (s *still) Board() *Board                 { return s.board }
func (s *still) Fleet(context.Context) (history.Fleet, error) {
	return s.fleet, s.err
}

func (s *still) Model(context.Context, scaling.ModelKey, time.Time, time.Time) (history.ModelHistory, error) {
	return s.model, s.err
}

func (s *still) Replicas(context.Context, scaling.ModelKey, time.Time, time.Time) (history.Replicas, error) {
	return s.replica, s.err
}

func (s *still) Decision(context.Context, scaling.VariantKey, scaling.CycleID) (Decided, error) {
	return s.decision, s.err
}
func (s *still) Cycles(context.Context, scaling.ModelKey) (Cycles, error) { return s.cycles, s.err }

// site is a dashboard that is served.
type site struct {
	*httptest.Server
	t      *testing.T
	server *Server
	warned *[]string
}

func served(t *testing.T, source Source) site {
	t.Helper()
	var warned []string
	s := New(Options{Source: source, Assets: pages, Port: "1", Warn: func(text string) { warned = append(warned, text) }})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	return site{web, t, s, &warned}
}

func quiet(t *testing.T) site {
	t.Helper()
	return served(t, &still{board: NewBoard()})
}

// browser returns a client with a cookie jar that does not follow redirects.
func (s site) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// opened returns a client that has opened the link.
func (s site) opened() *http.Client {
	c := s.browser()
	if got := s.get(c, "/?token="+url.QueryEscape(s.server.Token())); got.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("the link answers %s", got.Status)
	}
	return c
}

// answer is an answer that has been read.
type answerRead struct {
	*http.Response
	body string
}

func (s site) get(c *http.Client, path string, headers ...string) answerRead {
	return s.do(c, http.MethodGet, path, "", headers...)
}

// do sends a request; headers are names and values in turn.
func (s site) do(c *http.Client, method, path, body string, headers ...string) answerRead {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answerRead{resp, string(text)}
}

var everyPath = []string{
	"/", "/assets/app.js", "/api/fleet", "/api/model?namespace=a&model=b", "/api/replicas?namespace=a&model=b",
	"/api/decision?namespace=a&name=b", "/api/events", "/api/absent", "/absent", "/favicon.ico",
}

func TestWithoutTheCookieNothingIsServed(t *testing.T) {
	s := quiet(t)
	stranger := s.browser()
	s.opened()
	for _, path := range append([]string{"/?token=", "/?token=wrong", "/assets/app.js?token=" + s.server.Token()}, everyPath...) {
		got := s.get(stranger, path)
		if got.StatusCode != http.StatusUnauthorized || strings.Contains(got.body, "pages") {
			t.Errorf("%s answers %s: %s", path, got.Status, got.body)
		}
		if isJSON := strings.HasPrefix(got.Header.Get("Content-Type"), "application/json"); isJSON != strings.HasPrefix(path, "/api/") {
			t.Errorf("%s answers %s", path, got.Header.Get("Content-Type"))
		}
	}
	if got := s.do(stranger, http.MethodPost, "/api/whatif", "{}", "Origin", s.URL); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a what-if answers %s", got.Status)
	}
	if got := s.get(stranger, "/api/fleet", "Cookie", "wva-dashboard-1=wrong; wva-dashboard-2="+s.server.Token()); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("another cookie answers %s", got.Status)
	}
}

func TestTheTokenOpensOnce(t *testing.T) {
	s := quiet(t)
	first := s.browser()
	link := "/?token=" + url.QueryEscape(s.server.Token())
	if got := s.get(s.browser(), "/?token=x"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong token answers %s", got.Status)
	}
	got := s.get(first, link)
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" {
		t.Fatalf("the link answers %s to %q", got.Status, got.Header.Get("Location"))
	}
	cookies := got.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" || cookies[0].Name != "wva-dashboard-1" {
		t.Errorf("the cookies are %v", cookies)
	}
	if len(cookies[0].Value) < 43 || cookies[0].Value == s.server.Token() {
		t.Errorf("the cookie has the value %q", cookies[0].Value)
	}
	if got := s.get(first, "/"); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "<title>pages") {
		t.Errorf("the page answers %s: %s", got.Status, got.body)
	}
	if got := s.get(s.browser(), link); got.StatusCode != http.StatusUnauthorized || len(got.Cookies()) > 0 {
		t.Errorf("a second browser gets %s and %v", got.Status, got.Cookies())
	}
	if len(*s.warned) != 1 {
		t.Errorf("the user is told %q, want one warning", *s.warned)
	}
	if got := s.get(first, link); got.StatusCode != http.StatusSeeOther {
		t.Errorf("the first browser gets %s", got.Status)
	}
}

func TestTwoBrowsersAtOnceGetOneCookie(t *testing.T) {
	g, token := newGuard("1", func(string) {})
	won := make(chan bool)
	for range 16 {
		go func() {
			_, ok := g.enter(token)
			won <- ok
		}()
	}
	n := 0
	for range 16 {
		if <-won {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d got the cookie", n)
	}
}

func TestEveryAnswerIsHardened(t *testing.T) {
	s := quiet(t)
	mine, stranger := s.opened(), s.browser()
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	}
	for _, path := range everyPath {
		if path == "/api/events" {
			continue // it does not end
		}
		for who, c := range map[string]*http.Client{"with the cookie": mine, "without": stranger} {
			got := s.get(c, path)
			for name, value := range want {
				if got.Header.Get(name) != value {
					t.Errorf("%s %s: %s is %q", path, who, name, got.Header.Get(name))
				}
			}
			if len(got.Header["Access-Control-Allow-Origin"]) > 0 {
				t.Errorf("%s %s allows another origin", path, who)
			}
		}
	}
}

func TestAnotherHostIsRefused(t *testing.T) {
	s := quiet(t)
	mine := s.opened()
	at, _ := url.Parse(s.URL)
	cookie := mine.Jar.Cookies(at)[0].String()
	mine = &http.Client{} // a jar has cookies for one host
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9": 200, "localhost:8080": 200, "LOCALHOST": 200, "[::1]:80": 200, "[::1]": 200, "127.9.9.9:1": 200,
		"evil.example": 403, "evil.example:80": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "10.0.0.1": 403,
		"0.0.0.0": 403, "[fe80::1]:80": 403, "127.0.0.1@evil.example": 403, "localhost.": 403,
	} {
		if got := s.get(mine, "/api/fleet", "Host", host, "Cookie", cookie); got.StatusCode != want {
			t.Errorf("Host %s answers %s, want %d", host, got.Status, want)
		}
		if got := s.get(s.browser(), "/?token="+s.server.Token(), "Host", host); want == http.StatusForbidden && got.StatusCode != want {
			t.Errorf("Host %s with the token answers %s, want 403", host, got.Status)
		}
	}
}

func TestAnotherOriginIsRefused(t *testing.T) {
	s := quiet(t)
	mine := s.opened()
	own := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct {
		name, method, path string
		headers            []string
		refused            bool
	}{
		{"a page of ours reads", "GET", "/api/fleet", []string{"Sec-Fetch-Site", "same-origin"}, false},
		{"the user types the address", "GET", "/api/fleet", []string{"Sec-Fetch-Site", "none"}, false},
		{"a program with the cookie reads", "GET", "/api/fleet", nil, false},
		{"another port of this machine reads", "GET", "/api/fleet", []string{"Sec-Fetch-Site", "same-site"}, true},
		{"another site reads", "GET", "/api/fleet", []string{"Sec-Fetch-Site", "cross-site"}, true},
		{"another site loads a script", "GET", "/assets/app.js", []string{"Sec-Fetch-Site", "cross-site"}, true},
		{"an old browser reads from elsewhere", "GET", "/api/fleet", []string{"Origin", "http://evil.example"}, true},
		{"another site links to the page", "GET", "/", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"a page of ours asks", "POST", "/api/whatif", []string{"Sec-Fetch-Site", "same-origin", "Origin", s.URL}, false},
		{"an old browser asks", "POST", "/api/whatif", []string{"Origin", "http://" + own}, false},
		{"it is not said who asks", "POST", "/api/whatif", nil, true},
		{"another port asks", "POST", "/api/whatif", []string{"Origin", "http://127.0.0.1:1"}, true},
		{"https asks", "POST", "/api/whatif", []string{"Origin", "https://" + own}, true},
		{"a page without an origin asks", "POST", "/api/whatif", []string{"Origin", "null"}, true},
		{"a form of another site asks", "POST", "/api/whatif", []string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.example"}, true},
		{"our origin and another site", "POST", "/api/whatif", []string{"Sec-Fetch-Site", "cross-site", "Origin", s.URL}, true},
	} {
		got := s.do(mine, tt.method, tt.path, "", tt.headers...)
		if refused := got.StatusCode == http.StatusForbidden; refused != tt.refused {
			t.Errorf("%s: %s %s answers %s", tt.name, tt.method, tt.path, got.Status)
		}
	}
}
