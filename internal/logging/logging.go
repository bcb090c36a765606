package logging

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// New returns a logger that writes lines of at least level to out. V(1) to V(4)
// of logr are debug. A change of the level is seen by the logger and by all that
// were made from it.
func New(out io.Writer, level *Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: &level.least}))
}
