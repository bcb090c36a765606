package logging

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Level is the least level of the lines that a logger writes. The zero value is
// info. It is safe for concurrent use, and is not copied after its first use.
type Level struct{ least slog.LevelVar }

// NewLevel returns a level that SetLevel has set.
func NewLevel(name string) (*Level, error) {
	l := &Level{}
	if err := l.SetLevel(name); err != nil {
		return nil, err
	}
	return l, nil
}

// SetLevel changes the level to debug, info, warn or error, from the next line
// on. After an error it is what it was.
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
