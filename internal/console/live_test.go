package console

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func window(columns, lines int) Terminal {
	return Terminal{Interactive: true, Size: func() (int, int) { return columns, lines }}
}

func TestLiveAppendsOnlyChangesWithoutATerminal(t *testing.T) {
	var b strings.Builder
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	live := NewLive(&b, LiveOptions{Every: 10 * time.Second, Clock: clock})
	for second := range 25 {
		ready := min(second/4, 2)
		must(t, live.Update(columns[:2], [][]string{{"llama", fmt.Sprint(ready)}}, fmt.Sprintf("elapsed %ds", second)))
		clock.SetTime(clock.Now().Add(time.Second))
	}
	must(t, live.Print("scaled from 1 to 2"))
	must(t, live.Close())
	must(t, live.Close())
	golden(t, "live_plain", b.String())
	if err := live.Update(nil, nil); err == nil {
		t.Error("updating a closed view is not an error")
	}
}

func TestLiveRepeatsNothingThatIsTheSame(t *testing.T) {
	var b strings.Builder
	live := NewLive(&b, LiveOptions{})
	for range 3 {
		must(t, live.Update(columns[:1], [][]string{{"llama"}}, "footer"))
	}
	must(t, live.Close())
	if got, want := b.String(), "VARIANT\nllama\nfooter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLiveRedrawsInPlaceOnATerminal(t *testing.T) {
	var b strings.Builder
	terminal := window(24, 10)
	terminal.Colour = true
	live := NewLive(&b, LiveOptions{Terminal: terminal})
	must(t, live.Update(columns, rows(terminal.Paint()), "elapsed 1s"))
	must(t, live.Update(columns, rows(terminal.Paint())[:1], "elapsed 2s\nand more"))
	must(t, live.Print("event"))
	must(t, live.Close())
	golden(t, "live_terminal", b.String())
}

// screen is a terminal that knows what Live writes: text, line breaks, the
// cursor up and clearing to the end.
type screen struct {
	columns, lines int
	text           []string // everything, scrolled out or not
	row            int
}

var upAndClear = regexp.MustCompile("^\r\x1b\\[(\\d+)A\x1b\\[J")

func (s *screen) Write(p []byte) (int, error) {
	for rest := string(p); rest != ""; {
		if m := upAndClear.FindStringSubmatch(rest); m != nil {
			up, _ := strconv.Atoi(m[1])
			// The cursor stops at the top of the window.
			s.row = max(s.row-up, len(s.text)+1-s.lines, 0)
			s.text = s.text[:s.row]
			rest = rest[len(m[0]):]
			continue
		}
		line, after, found := strings.Cut(rest, "\n")
		if !found || strings.ContainsAny(line, "\r\x1b") || Width(line) > s.columns {
			return 0, errors.New("not understood: " + rest)
		}
		s.text = append(s.text, line)
		s.row = len(s.text)
		rest = after
	}
	return len(p), nil
}

// resize wraps long lines anew, as most terminals do.
func (s *screen) resize(columns int) {
	var text []string
	for _, line := range s.text {
		for Width(line) > columns {
			cut := []rune(line)
			text = append(text, string(cut[:columns]))
			line = string(cut[columns:])
		}
		text = append(text, line)
	}
	s.columns, s.text, s.row = columns, text, len(text)
}

func TestScreenShowsTheLatestBlockBelowWhatWasPrinted(t *testing.T) {
	s := &screen{columns: 40, lines: 8}
	live := NewLive(s, LiveOptions{Terminal: Terminal{Interactive: true, Size: func() (int, int) { return s.columns, s.lines }}})
	head := []Column{Left("NAME"), Left("NOTE")}
	block := func(n int, note string) [][]string {
		var rows [][]string
		for i := range n {
			rows = append(rows, []string{fmt.Sprintf("variant-%d", i), note})
		}
		return rows
	}
	check := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	must(t, live.Print("started"))
	must(t, live.Update(head, block(2, "cold"), "1s"))
	check("first", "started", "NAME       NOTE", "variant-0  cold", "variant-1  cold", "1s")
	must(t, live.Update(head, block(1, "warm"), "2s"))
	check("shorter", "started", "NAME       NOTE", "variant-0  warm", "2s")
	must(t, live.Print("event"))
	check("printed", "started", "event", "NAME       NOTE", "variant-0  warm", "2s")
	must(t, live.Update(head, block(1, "a very long explanation of this"), "3s"))
	check("truncated", "started", "event", "NAME       NOTE", "variant-0  a very long explanation of t…", "3s")
	s.resize(20)
	must(t, live.Update(head, block(1, "narrow window now"), "4s"))
	check("resized", "started", "event", "NAME       NOTE", "variant-0  narrow w…", "4s")
	s.resize(40)
	must(t, live.Update(head, block(7, "tall"), "5s"))
	must(t, live.Update(head, block(7, "tall"), "6s"))
	if got := strings.Count(strings.Join(s.text, "\n"), "variant-6  tall"); got != 1 {
		t.Errorf("a block taller than the window is appended %d times, want once:\n%s", got, strings.Join(s.text, "\n"))
	}
	must(t, live.Update(head, nil, "7s"))
	must(t, live.Close())
	if got := s.text[len(s.text)-2:]; got[0] != "NAME       NOTE" || got[1] != "7s" {
		t.Errorf("the last block is %q", got)
	}
}

func TestLiveIsSafeForConcurrentUse(t *testing.T) {
	s := &screen{columns: 80, lines: 24}
	live := NewLive(s, LiveOptions{Terminal: window(80, 24)})
	var users sync.WaitGroup
	for i := range 4 {
		users.Go(func() {
			for range 50 {
				_ = live.Update(columns[:1], [][]string{{fmt.Sprint("user ", i)}})
				_ = live.Print("event")
			}
		})
	}
	users.Wait()
	if got := len(s.text); got != 200+2 {
		t.Errorf("%d lines on the screen, want 200 events and a block of 2", got)
	}
}

func TestWhatIsNoTerminalIsShownPlainly(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	must(t, err)
	t.Cleanup(func() { file.Close() })
	for name, terminal := range map[string]Terminal{
		"a file":   Detect(file, os.Getenv),
		"a buffer": Detect(&strings.Builder{}, os.Getenv),
	} {
		if terminal.Interactive || terminal.Colour {
			t.Errorf("%s is taken for a terminal", name)
		}
		if got := terminal.Paint().Bad("text"); got != "text" {
			t.Errorf("%s gets colour: %q", name, got)
		}
	}
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/log")
	must(t, err)
	file.Close()
	live := NewLive(file, LiveOptions{})
	if err := live.Update(columns, rows(Paint{})); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Update: got %v, want %v", err, os.ErrClosed)
	}
	if err := (Table{Columns: columns}).Write(file); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write: got %v, want %v", err, os.ErrClosed)
	}
}
