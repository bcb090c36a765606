package container

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLine is the longest piece of a line in one entry of a log, in bytes, as in other runtimes.
const maxLine = 16 << 10

// log is the log of a container, in the format that a kubelet reads: lines
// "TIME STREAM F|P TEXT", P for a piece of a line that goes on.
type log struct {
	path string

	mu   sync.Mutex
	file *os.File // nil before the first Reopen and after Close
}

// Reopen makes later entries go to a new file at the log's path.
func (l *log) Reopen() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return fmt.Errorf("making the folder of a log: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("opening a container's log: %w", err)
	}
	l.mu.Lock()
	old := l.file
	l.file = file
	l.mu.Unlock()
	if old != nil {
		return old.Close()
	}
	return nil
}

// Close closes the file.
func (l *log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// stream returns a writer of one stream of the container. Unlike the log, it is not safe for
// concurrent use. It loses a last line without a line end.
func (l *log) stream(name string) io.Writer { return &stream{log: l, name: name} }

type stream struct {
	*log
	name    string
	pending []byte // of a line whose end has not been written
}

func (s *stream) Write(text []byte) (int, error) {
	s.pending = append(s.pending, text...)
	for {
		line, rest, found := bytes.Cut(s.pending, []byte("\n"))
		tag := "F"
		if len(line) > maxLine {
			line, rest, found, tag = s.pending[:maxLine], s.pending[maxLine:], true, "P"
		}
		if !found {
			return len(text), nil
		}
		if err := s.entry(tag, line); err != nil {
			return 0, err
		}
		s.pending = rest
	}
}

func (s *stream) entry(tag string, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return os.ErrClosed
	}
	_, err := fmt.Fprintf(s.file, "%s %s %s %s\n", time.Now().Format(time.RFC3339Nano), s.name, tag, line)
	return err
}
