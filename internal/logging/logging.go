package logging

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-logr/logr"
)

// New returns a logger that writes lines of at least level to out. V(1) to V(4) of logr are debug.
// A change of the level affects the logger and all loggers made from it.
func New(out io.Writer, level *Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: &level.least, ReplaceAttr: named}))
}

// named replaces a level between two names by the lower name: V(1) is DEBUG, not slog's DEBUG+3.
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

// Level is the least level of the lines that a logger writes. The zero value is
// info. It is safe for concurrent use, and is not copied after its first use.
type Level struct{ least slog.LevelVar }

// NewLevel returns the level of that name. Its error is that of SetLevel.
func NewLevel(name string) (*Level, error) {
	l := &Level{}
	if err := l.SetLevel(name); err != nil {
		return nil, err
	}
	return l, nil
}

// SetLevel changes the level to debug, info, warn or error, from the next line on. An error leaves
// it unchanged.
func (l *Level) SetLevel(name string) error {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	i := slices.IndexFunc(levels, func(level slog.Level) bool { return nameOf(level) == name })
	if i < 0 {
		return fmt.Errorf("setting the log level to %q: want debug, info, warn or error", name)
	}
	l.least.Set(levels[i])
	return nil
}

// String returns the name of the level.
func (l *Level) String() string { return nameOf(l.least.Level()) }

func nameOf(level slog.Level) string { return strings.ToLower(level.String()) }
