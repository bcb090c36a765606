package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"path"
	"strconv"
	"syscall"
	"time"
)

// portTries is how many free ports are tried until one is free on both addresses.
const portTries = 10

// Listen listens on a port of 127.0.0.1, and of ::1 where the machine has it; port 0 chooses a free
// one. The first listener is that of 127.0.0.1.
func Listen(ctx context.Context, port int) ([]net.Listener, error) {
	for try := 1; ; try++ {
		first, err := listen(ctx, "127.0.0.1", port)
		if err != nil {
			return nil, err
		}
		_, chosen, _ := net.SplitHostPort(first.Addr().String())
		n, _ := strconv.Atoi(chosen)
		second, err := listen(ctx, "::1", n)
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return []net.Listener{first}, nil // the machine has no IPv6
		}
		first.Close()
		if port != 0 || try == portTries {
			return nil, err
		}
	}
}

func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d of %s is in use by another process: name another with --port, or leave it out to have a free one chosen: %w", port, host, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on port %d of %s: %w", port, host, err)
	}
	return l, nil
}

// farewell is how long requests in progress may take once the server ends.
const farewell = 2 * time.Second

// Serve answers on listeners until ctx ends, and closes them.
func (s *Server) Serve(ctx context.Context, listeners []net.Listener) error {
	server := s.HTTP(ctx)
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- server.Serve(l) }()
	}
	waiting := len(listeners)
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-ended:
		waiting--
	}
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer stop()
	if server.Shutdown(grace) != nil {
		server.Close()
	}
	for range waiting {
		failure = cmp.Or(failure, <-ended)
	}
	if errors.Is(failure, http.ErrServerClosed) {
		return nil
	}
	return failure
}

func baseContext(ctx context.Context) func(net.Listener) context.Context {
	return func(net.Listener) context.Context { return ctx }
}

// contentType returns the content type of a file of the pages, by its name.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
