package console

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// LiveOptions are the options of a live view. The zero value appends plain lines when rows have
// changed.
type LiveOptions struct {
	// Terminal is what the writer can show.
	Terminal Terminal
	// Every is the time after which a view without a terminal is also appended when only its footer
	// has changed; 0 is never.
	Every time.Duration
	// Clock is needed for Every; nil is the real one.
	Clock clock.PassiveClock
}

// Live is a table that changes: titles, rows and footer lines. On a terminal it is one block,
// redrawn in place. Elsewhere, and while the block is taller than the window, it is appended when
// its titles or rows have changed; nothing is left out. Columns do not shrink while their titles
// are the same. Several goroutines may use a Live.
type Live struct {
	w       io.Writer
	options LiveOptions

	mu      sync.Mutex
	closed  bool
	header  []Column
	widths  []int     // of the columns, which do not shrink while header stays
	table   []string  // latest titles and rows
	footer  []string  // latest footer
	shown   []string  // table and footer of the last write
	body    []string  // the table in shown
	at      time.Time // of the last write
	onGlass []int     // widths of the lines above the cursor that are redrawn
}

// NewLive returns a live view that writes to w. Close it when done.
func NewLive(w io.Writer, options LiveOptions) *Live {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Live{w: w, options: options}
}

// Update replaces the content by header, rows and the lines of footer. Values that always change,
// such as elapsed time, belong in the footer.
func (l *Live) Update(header []Column, rows [][]string, footer ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("updating a live view: it is closed")
	}
	if !slices.Equal(header, l.header) {
		l.header, l.widths = slices.Clone(header), nil
	}
	l.table, l.widths = Table{Columns: header, Rows: rows}.layout(l.widths)
	l.footer = nil
	for _, text := range footer {
		for line := range strings.SplitSeq(text, "\n") {
			l.footer = append(l.footer, strings.TrimRight(clean(line), " "))
		}
	}
	return l.draw()
}

// Print writes permanent lines, above the block on a terminal.
func (l *Live) Print(lines ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	l.erase(&b)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if l.options.Terminal.Interactive && len(l.shown) > 0 {
		l.block(&b, l.content())
	}
	return l.write(b.String())
}

// Close leaves the latest content on the terminal, or appends it where it was not written yet.
// Later updates are errors; a second Close does nothing.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.options.Terminal.Interactive || slices.Equal(l.content(), l.shown) {
		return nil
	}
	return l.append()
}

func (l *Live) content() []string { return slices.Concat(l.table, l.footer) }

// draw redraws the block on a terminal, and elsewhere appends the content if it is due.
func (l *Live) draw() error {
	if l.options.Terminal.Interactive {
		return l.redraw()
	}
	if slices.Equal(l.content(), l.shown) {
		return nil
	}
	due := l.options.Every > 0 && l.options.Clock.Since(l.at) >= l.options.Every
	if slices.Equal(l.table, l.body) && !due {
		return nil
	}
	return l.append()
}

func (l *Live) redraw() error {
	content := l.content()
	// The cursor is on the line below the block, so the block needs one more line.
	if _, lines := l.options.Terminal.size(); lines > 0 && len(content)+1 > lines {
		if slices.Equal(l.table, l.body) {
			return nil
		}
		l.onGlass = nil
		return l.append()
	}
	var b strings.Builder
	l.erase(&b)
	l.block(&b, content)
	return l.write(b.String())
}

// erase moves the cursor to the first line of the block and clears from there. It counts the lines
// as the present window wraps them.
func (l *Live) erase(b *strings.Builder) {
	if len(l.onGlass) == 0 {
		return
	}
	columns, _ := l.options.Terminal.size()
	up := len(l.onGlass)
	if columns > 0 {
		up = 0
		for _, width := range l.onGlass {
			up += max(1, (width+columns-1)/columns)
		}
	}
	fmt.Fprintf(b, "\r\x1b[%dA\x1b[J", up)
	l.onGlass = nil
}

// block writes content at the cursor and remembers the widths of its lines for erase.
func (l *Live) block(b *strings.Builder, content []string) {
	columns, _ := l.options.Terminal.size()
	l.onGlass = make([]int, len(content))
	for i, line := range content {
		line = Truncate(line, columns)
		l.onGlass[i] = Width(line)
		b.WriteString(line + "\n")
	}
	l.shown, l.body = content, l.table
}

func (l *Live) append() error {
	l.shown, l.body = l.content(), l.table
	l.at = l.options.Clock.Now()
	if len(l.shown) == 0 {
		return nil
	}
	return l.write(strings.Join(l.shown, "\n") + "\n")
}

func (l *Live) write(text string) error {
	if text == "" {
		return nil
	}
	if _, err := io.WriteString(l.w, text); err != nil {
		return fmt.Errorf("writing a live view: %w", err)
	}
	return nil
}
