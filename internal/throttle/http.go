package throttle

import (
	"net"
	"net/http"
)

// Refuse answers 429 to addresses that received 401 from next too often, without calling
// next. Requests for which exempt returns true still reach next; exempt may be nil, and is
// called only for addresses that were refused too often.
func Refuse(next http.Handler, refused *Refusals, exempt func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := r.RemoteAddr
		if name, _, err := net.SplitHostPort(address); err == nil {
			address = name
		}
		if refused.TooMany(address) && (exempt == nil || !exempt(r)) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "credentials from this address were refused too often: try again in a second", http.StatusTooManyRequests)
			return
		}
		seen := &statusSeen{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		if seen.status == http.StatusUnauthorized {
			refused.Add(address)
		}
	})
}

// statusSeen stores the status of an answer.
type statusSeen struct {
	http.ResponseWriter
	status int // 0 where WriteHeader was not called, which means 200
}

// WriteHeader implements http.ResponseWriter.
func (s *statusSeen) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (s *statusSeen) Unwrap() http.ResponseWriter { return s.ResponseWriter }
