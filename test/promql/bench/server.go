package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/store"
)

// serveModels is the environment variable that makes this program the server of a fleet with that
// number of models.
const serveModels = "BENCH_SERVE_MODELS"

// serve fills a store, writes its URL to standard output and answers until standard input ends.
func serve(models int) error {
	debug.SetGCPercent(75) // as Prometheus does by default
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return fmt.Errorf("making the database's folder: %w", err)
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir, testingclock.NewFakePassiveClock(now()))
	if err != nil {
		return err
	}
	if err := fill(context.Background(), s, models); err != nil {
		return err
	}
	// Collect the garbage of filling now, not while the client measures.
	runtime.GC()
	debug.FreeOSMemory()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", s)
	mux.HandleFunc("GET /cpu", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, cpu().Nanoseconds()) })
	mux.HandleFunc("GET /series", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, s.SeriesCount()) })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	fmt.Printf("http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return s.Close()
}

// cpu returns the CPU time of this process so far, in user mode and in the kernel.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // does not happen on systems with this call
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// server is a Prometheus in a process of its own.
type server struct {
	url     string
	process *exec.Cmd
	stop    io.Closer
}

// startServer runs this program again, as a server.
func startServer(ctx context.Context, models int) (*server, error) {
	s := &server{process: exec.CommandContext(ctx, os.Args[0])} //nolint:gosec // this program itself
	s.process.Env = append(os.Environ(), serveModels+"="+strconv.Itoa(models))
	s.process.Stderr = os.Stderr
	stdin, err := s.process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	s.stop = stdin
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the URL of the server: %w", err), s.process.Wait())
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

// close ends the server.
func (s *server) close() error {
	return errors.Join(s.stop.Close(), s.process.Wait())
}

// number asks the server for a number of its own.
func (s *server) number(ctx context.Context, path string) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("asking for %s: %w", path, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("asking for %s: %w", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(body)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return n, nil
}
