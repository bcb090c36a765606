package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/prometheus/client_golang/api"
)

// maxBody bounds an answer in bytes. 10,000 pods take 3 MB.
const maxBody = 64 << 20

// client is the library's client with our credentials, limits and errors.
type client struct {
	api.Client // for URL
	host       string
	config     Config
	http       *http.Client
}

// Do sends req and returns its answer with the body read. Every answer that is
// not a JSON object with a 2xx status is an *Error; the response is returned
// with it, since its status tells the library to try GET.
func (c *client) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	req = req.WithContext(ctx)
	if err := c.authorize(req); err != nil {
		return nil, nil, &Error{Host: c.host, Found: err.Error(), err: err}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, unreached(c.host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, nil, unreached(c.host, err)
	}
	if len(body) > maxBody {
		return nil, nil, &Error{Host: c.host, Status: resp.StatusCode, Found: fmt.Sprintf("more than %d bytes", maxBody)}
	}
	return resp, body, c.check(resp, body)
}

// check returns what is wrong with an answer, nil when it can be decoded.
func (c *client) check(resp *http.Response, body []byte) error {
	isObject := bytes.HasPrefix(bytes.TrimSpace(body), []byte("{"))
	if resp.StatusCode/100 == 2 {
		if isObject {
			return nil
		}
		return &Error{Host: c.host, Status: resp.StatusCode, Found: "garbage: " + excerpt(body)}
	}
	found := excerpt(body)
	var said struct {
		Type  string `json:"errorType"`
		Error string `json:"error"`
	}
	if isObject && json.Unmarshal(body, &said) == nil && said.Error != "" {
		found = excerpt([]byte(strings.TrimPrefix(said.Type+": "+said.Error, ": ")))
	}
	if to, err := resp.Location(); err == nil {
		found = "a redirect to " + (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	}
	return &Error{Host: c.host, Status: resp.StatusCode, Found: found}
}

// authorize adds the configured headers and credentials to req. They are set on
// the request and not in the transport, where they would follow a redirect.
func (c *client) authorize(req *http.Request) error {
	for name, value := range c.config.Headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	token, err := c.token()
	switch {
	case err != nil:
		return err
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.config.Username != "":
		req.SetBasicAuth(c.config.Username, c.config.Password)
	}
	return nil
}

// token returns the bearer token, "" for none. The file is read for every
// request: that is cheaper than to be wrong about whether it changed.
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
