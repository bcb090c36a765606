package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrTorn says that a line ends within its record: the last one of a process
// that was killed, or of a disk that was full. The others are whole.
var ErrTorn = errors.New("the line is torn: it ends within its record")

// LineError is a line that cannot be read. Those after it can.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line: ErrTorn, or an error of Decode.
func (e *LineError) Unwrap() error { return e.Err }

// Read reads a file of records, one cycle after the other. A line that cannot be
// read is a *LineError, and the next one follows; any other error is the last.
// Empty lines are passed over.
func Read(r io.Reader) iter.Seq2[Cycle, error] {
	return func(yield func(Cycle, error) bool) {
		lines := bufio.NewReaderSize(r, 1<<20)
		for n := 1; ; n++ {
			line, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Cycle{}, fmt.Errorf("reading line %d: %w", n, err))
				return
			}
			if len(bytes.TrimSpace(line)) > 0 && !yield(decodeLine(n, line)) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

func decodeLine(n int, line []byte) (Cycle, error) {
	c, err := Decode(bytes.TrimRight(line, "\r\n"))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTorn
	}
	if err != nil {
		return Cycle{}, &LineError{n, err}
	}
	return c, nil
}

// readLine returns the next line, with io.EOF for the last.
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
