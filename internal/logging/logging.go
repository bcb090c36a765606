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
	return logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: &level.least, ReplaceAttr: named}))
}

// named writes a level between two names as the lower one: V(1) is DEBUG, not the
// DEBUG+3 that slog makes of it.
func named(groups []string, a slog.Attr) slog.Attr {
	level, ok := a.Value.Any().(slog.Level)
	if len(groups) > 0 || a.Key != slog.LevelKey || !ok {
		return a
	}
	for _, least := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo} {
		if level >= least {
			return slog.String(slog.LevelKey, least.String())
		}
	}
	return slog.String(slog.LevelKey, slog.LevelDebug.String())
}
