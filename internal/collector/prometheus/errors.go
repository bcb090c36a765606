package prometheus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// excerptLength is how much of an unusable answer an error shows, in bytes.
const excerptLength = 200

// Error is a query that got no usable answer.
type Error struct {
	Host   string // host:port that was asked
	Status int    // of the HTTP answer, 0 when there was none
	Found  string // what was found instead of an answer

	err       error         // cause, nil when the answer itself is the cause
	transient bool          // the failure may pass in a moment
	after     time.Duration // wait that the store asked for, 0 for none
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Status == 0 {
		return e.Host + ": " + e.Found
	}
	return fmt.Sprintf("%s answered HTTP %d: %s", e.Host, e.Status, e.Found)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// unreached returns the error of a query without an answer. The text leaves out details that differ
// between two attempts, like the local port of a connection.
func unreached(host string, err error) *Error {
	// A connection that was closed before the answer, or within it.
	e := &Error{Host: host, err: err, transient: errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)}
	var (
		op          *net.OpError
		transported *url.Error
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, context.Canceled):
		e.Found = "the query was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		e.Found = "no answer in time"
	case errors.As(err, &certificate):
		e.Found = "its certificate is not accepted: " + certificate.Err.Error()
	case errors.As(err, &op):
		e.Found = fmt.Sprintf("%s: %v", op.Op, op.Err)
		// Not an alert of TLS ("remote error"), which is about a certificate or a
		// version.
		e.transient = slices.Contains([]string{"dial", "proxyconnect", "read", "write"}, op.Op)
	case errors.As(err, &transported):
		e.Found = transported.Err.Error()
	default:
		e.Found = err.Error()
	}
	return e
}

// saidError renders the store's own words about an error.
func saidError(kind, message string) string {
	return excerpt([]byte(strings.TrimPrefix(kind+": "+message, ": ")))
}

// excerpt returns the beginning of a body on one line.
func excerpt(body []byte) string {
	cut := body[:min(len(body), excerptLength)]
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(cut), "")), " ")
	if text == "" {
		return "an empty body"
	}
	return text
}
