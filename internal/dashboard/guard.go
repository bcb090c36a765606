package dashboard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"sync"
)

// policy is the Content-Security-Policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard admits the browser that opened the link with the token. The first one that opens it gets a
// cookie; after that the token admits no other. It is safe for concurrent use.
type guard struct {
	cookie  string            // its name
	warn    func(string)      // warns the user that the link was opened again
	session [sha256.Size]byte // of the value of the cookie

	mu    sync.Mutex
	token [sha256.Size]byte
	spent bool
	value string // of the cookie, handed out once
}

// secret returns 256 random bits as text for a URL.
func secret() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// newGuard returns a guard and its token. port distinguishes the cookies of several dashboards:
// browsers share cookies between all ports of a host.
func newGuard(port string, warn func(string)) (*guard, string) {
	token, value := secret(), secret()
	return &guard{
		cookie: "wva-dashboard-" + port, warn: warn,
		token: sha256.Sum256([]byte(token)), session: sha256.Sum256([]byte(value)), value: value,
	}, token
}

// enter spends a token. It returns the value of the cookie, and false where the token is wrong or
// spent.
func (g *guard) enter(token string) (string, bool) {
	sum := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()
	right := subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
	switch {
	case right && !g.spent:
		g.spent = true
		value := g.value
		g.value = ""
		return value, true
	case right:
		g.warn("the link was opened again, without the cookie of the browser that opened it first: it works once")
	}
	return "", false
}

// knows reports whether a request has the cookie.
func (g *guard) knows(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.cookie) {
		sum := sha256.Sum256([]byte(c.Value))
		if subtle.ConstantTimeCompare(sum[:], g.session[:]) == 1 {
			return true
		}
	}
	return false
}

// protect checks each request before next serves it.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		switch {
		case !loopbackHost(r.Host):
			// DNS may lead a foreign name here. The pages of that name must not read ours.
			refuse(w, r, http.StatusForbidden, "the Host header is no address of this machine: open the link that wva dashboard printed")
		case !sameOrigin(r):
			refuse(w, r, http.StatusForbidden, "the request comes from a page of another origin")
		case r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
			g.open(w, r)
		case !g.knows(r):
			refuse(w, r, http.StatusUnauthorized, "open the link with the token that wva dashboard printed; it works once, in one browser: "+
				"for another link, end wva dashboard and start it again")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// open answers a request with a token.
func (g *guard) open(w http.ResponseWriter, r *http.Request) {
	if !g.knows(r) {
		value, ok := g.enter(r.URL.Query().Get("token"))
		if !ok {
			refuse(w, r, http.StatusUnauthorized, "the token is not that of this dashboard, or it was used: it works once. "+
				"For another link, end wva dashboard and start it again")
			return
		}
		//nolint:gosec // without Secure: a server on loopback speaks plain HTTP
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// harden sets the headers of every answer.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
}

// loopbackHost reports whether a Host header names this machine. Any port will do: a tunnel has
// another one.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// sameOrigin reports whether a request comes from a page of the dashboard or directly from the
// user. Other ports of this machine are other origins, though browsers send our cookie with
// requests of their pages.
func sameOrigin(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if r.URL.Path == "/" {
			return true // any page may link here; it cannot read the answer
		}
		return site == "" && (origin == "" || ownOrigin(origin, r.Host)) || site == "same-origin" || site == "none"
	}
	return (site == "" || site == "same-origin") && ownOrigin(origin, r.Host)
}

// ownOrigin reports whether an Origin header is that of the pages served under host.
func ownOrigin(origin, host string) bool { return origin == "http://"+host }

// refuse answers with a sentence: as JSON below /api/, else as text.
func refuse(w http.ResponseWriter, r *http.Request, status int, sentence string) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		fail(w, status, sentence)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n")) // the client may have gone
}
