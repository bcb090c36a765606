// Package logging builds the manager's logger: one JSON object a line on a
// writer, with the key names that docs/glossary.md lists.
package logging

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// New returns a logger that writes lines of at least level (debug, info, warn
// or error) to out. V(1) to V(4) of logr are debug.
func New(out io.Writer, level string) (logr.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return logr.Discard(), fmt.Errorf("parsing log level %q: %w", level, err)
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: l})), nil
}
