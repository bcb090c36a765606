package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// maxErrorBody limits how much of an error's body is read, in bytes.
const maxErrorBody = 64 << 10

// client speaks HTTP with the store.
type client struct {
	endpoint *url.URL // of instant queries, with the parameters of the base URL
	host     string
	config   Config
	http     *http.Client

	getOnly atomic.Bool // the store allows GET and not POST
}

// newClient returns a client for a valid configuration with defaults filled in.
func newClient(base *url.URL, config Config) (*client, error) {
	trans := config.Transport
	if trans == nil {
		own, err := newTransport(config)
		if err != nil {
			return nil, err
		}
		trans = own
	}
	return &client{
		endpoint: base.JoinPath("api/v1/query"),
		host:     hostPort(base),
		config:   config,
		http: &http.Client{
			Transport: trans,
			// A redirect leads to a login page or to another host, and neither
			// should see the credentials.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// do sends one query and returns the body of its answer, for the caller to close.
// An answer without a 2xx status is an *Error.
//
// Where the store refused a token and its file holds another by now, do sends the query once more
// with that.
func (c *client) do(ctx context.Context, form url.Values) (*body, error) {
	token, err := c.token()
	if err != nil {
		return nil, &Error{Host: c.host, Found: err.Error(), err: err}
	}
	answer, err := c.send(ctx, form, token)
	if !hasStatus(err, http.StatusUnauthorized) {
		return answer, err
	}
	renewed, unread := c.token()
	if unread != nil || renewed == token {
		return nil, err
	}
	return c.send(ctx, form, renewed)
}

// send sends POST, and GET where POST is not allowed.
func (c *client) send(ctx context.Context, form url.Values, token string) (*body, error) {
	if !c.getOnly.Load() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.String(), strings.NewReader(form.Encode()))
		if err != nil {
			return nil, unreached(c.host, err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := c.exchange(req, token)
		if !hasStatus(err, http.StatusMethodNotAllowed, http.StatusNotImplemented) {
			return answer, err
		}
	}
	to := *c.endpoint
	to.RawQuery = strings.TrimPrefix(to.RawQuery+"&"+form.Encode(), "&")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), http.NoBody)
	if err != nil {
		return nil, unreached(c.host, err)
	}
	answer, err := c.exchange(req, token)
	c.getOnly.Store(err == nil)
	return answer, err
}

// exchange sends req and returns the body of a 2xx answer.
func (c *client) exchange(req *http.Request, token string) (*body, error) {
	c.authorize(req, token)
	// An empty key is not sent. It tells the transport that it may send a query again when the
	// store has just closed an idle connection.
	req.Header["Idempotency-Key"] = nil
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreached(c.host, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	answer, err := c.newBody(resp)
	if err != nil {
		resp.Body.Close()
	}
	return answer, err
}

// refused returns the error of an answer without a 2xx status.
func (c *client) refused(resp *http.Response) error {
	failure := &Error{Host: c.host, Status: resp.StatusCode}
	answer, err := c.newBody(resp)
	if err != nil {
		failure.Found = "an answer that cannot be read" // its status says more
		return failure
	}
	text, err := io.ReadAll(io.LimitReader(answer, maxErrorBody))
	failure.Found = excerpt(text)
	var said struct {
		Type  string `json:"errorType"`
		Error string `json:"error"`
	}
	if err == nil && json.Unmarshal(text, &said) == nil && said.Error != "" {
		failure.Found = saidError(said.Type, said.Error)
	}
	if to, err := resp.Location(); err == nil {
		failure.Found = "a redirect to " + (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		failure.transient = true
		failure.after = retryAfter(resp.Header.Get("Retry-After"), c.config.Clock.Now())
	}
	return failure
}

// authorize adds the configured headers and credentials to req. They are set on
// the request and not in the transport, where they would follow a redirect.
func (c *client) authorize(req *http.Request, token string) {
	for name, value := range c.config.Headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.config.Username != "":
		req.SetBasicAuth(c.config.Username, c.config.Password)
	}
}

// token returns the bearer token, "" for none. It reads the file for every question: that is
// cheaper than to be wrong about whether it changed.
func (c *client) token() (string, error) {
	token := c.config.BearerToken
	if token == "" && c.config.TokenPath != "" {
		content, err := os.ReadFile(c.config.TokenPath)
		if err != nil {
			return "", fmt.Errorf("reading bearer token: %w", err)
		}
		token = string(content)
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(token), "Bearer ")), nil
}

// hasStatus reports whether err is an answer with one of the statuses.
func hasStatus(err error, statuses ...int) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(statuses, failure.Status)
}

// hostPort returns the host and port of u, with the scheme's port where u has
// none.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "http" {
		return u.Host + ":80"
	}
	return u.Host + ":443"
}
