package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrTorn says that a line ends within its record: it is the last line of a process that was
// killed, or of a disk that was full. The other lines are whole.
var ErrTorn = errors.New("the line is torn: it ends within its record")

// LineError is the error of a line that cannot be read. Later lines can be.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error returns the number of the line and its error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error of the line: ErrTorn, or an error of Decode.
func (e *LineError) Unwrap() error { return e.Err }

// Line is one line of a file of records; it is not empty.
type Line struct {
	Number int    // from 1
	Offset int64  // of its first byte
	Text   []byte // with its line end; valid until the next line is read
}

// Decode returns the cycle in the line, or a *LineError.
func (l Line) Decode() (Cycle, error) {
	c, err := Decode(bytes.TrimRight(l.Text, "\r\n"))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTorn
	}
	if err != nil {
		return Cycle{}, &LineError{l.Number, err}
	}
	return c, nil
}

// Lines returns the lines of a file of records, without decoding them. An error ends the sequence.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		lines := bufio.NewReaderSize(r, 1<<20)
		var at int64
		for n := 1; ; n++ {
			text, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, fmt.Errorf("reading line %d: %w", n, err))
				return
			}
			if len(bytes.TrimSpace(text)) > 0 && !yield(Line{n, at, text}, nil) {
				return
			}
			if err != nil {
				return
			}
			at += int64(len(text))
		}
	}
}

// Read returns the cycles of a file of records. A line that cannot be read gives a *LineError, and
// the next line follows; any other error ends the sequence. Empty lines are skipped.
func Read(r io.Reader) iter.Seq2[Cycle, error] {
	return func(yield func(Cycle, error) bool) {
		for line, err := range Lines(r) {
			if err != nil {
				yield(Cycle{}, err)
				return
			}
			if !yield(line.Decode()) {
				return
			}
		}
	}
}

// readLine returns the next line, and io.EOF with the last one.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return nil, fmt.Errorf("it is longer than %d bytes, no file of records", MaxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
