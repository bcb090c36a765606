package prometheus

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// body is the text of an answer, unpacked, up to a limit. Its errors are of type *Error. It keeps
// its beginning, so that an error can show it.
type body struct {
	host   string
	status int
	wire   *wire
	text   io.Reader // what wire carries, unpacked
	close  func() error
	limit  int64 // in bytes
	read   int64
	head   []byte // at most excerptLength
}

var _ io.ReadCloser = (*body)(nil)

// wire records a failure of the network, to tell it from faults in the text.
type wire struct {
	io.Reader
	err error // nil until a read fails
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// newBody returns the body of resp.
func (c *client) newBody(resp *http.Response) (*body, error) {
	b := &body{
		host:   c.host,
		status: resp.StatusCode,
		wire:   &wire{Reader: resp.Body},
		close:  resp.Body.Close,
		limit:  c.config.MaxBytes,
	}
	b.text = b.wire
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		if resp.ContentLength > b.limit {
			return nil, b.tooLong()
		}
	case "gzip":
		unpacked, err := gzip.NewReader(b.wire)
		if err != nil {
			return nil, b.failed(err)
		}
		b.text = unpacked
	default:
		return nil, b.found("an answer packed with " + excerpt([]byte(encoding)))
	}
	return b, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	b.read += int64(n)
	if room := excerptLength - len(b.head); room > 0 {
		b.head = append(b.head, p[:min(n, room)]...)
	}
	switch {
	case b.read > b.limit:
		return 0, b.tooLong()
	case err != nil && err != io.EOF:
		return n, b.failed(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error { return b.close() }

// beginning returns the first bytes of the body, at most excerptLength.
func (b *body) beginning() []byte {
	if missing := int64(excerptLength - len(b.head)); missing > 0 {
		_, _ = io.CopyN(io.Discard, b, missing) // what cannot be read is not shown
	}
	return b.head
}

// isObject reports whether the body may be a JSON object.
func (b *body) isObject() bool { return bytes.HasPrefix(bytes.TrimSpace(b.head), []byte("{")) }

// failed returns the error of a body that could not be read.
func (b *body) failed(err error) *Error {
	switch {
	case b.wire.err != nil:
		return unreached(b.host, b.wire.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b.found("an answer that breaks off")
	default:
		return b.found("garbage: " + err.Error())
	}
}

func (b *body) tooLong() *Error { return b.found(fmt.Sprintf("more than %d bytes", b.limit)) }

// found returns the error of an answer that is not usable, and what it is instead.
func (b *body) found(what string) *Error { return &Error{Host: b.host, Status: b.status, Found: what} }
