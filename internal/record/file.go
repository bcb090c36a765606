package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-logr/logr"
)

// queued is the largest number of cycles that wait for the disk. It bounds the memory that a
// hanging disk costs.
const queued = 8

// MaxLine bounds the record of one cycle, in bytes. One of 1,000 variants with
// 10,000 replicas takes about 5 MB.
const MaxLine = 256 << 20

// Errors of a record that is not written.
var (
	// ErrBusy says that the disk is too slow.
	ErrBusy = fmt.Errorf("%d cycles wait to be written already", queued)
	// ErrTooLarge says that one record does not fit the bound of the file.
	ErrTooLarge = errors.New("the record is larger than the bound of the file")
)

// FileOptions configures a File.
type FileOptions struct {
	// Path is the file. Path.1 holds the records from before it reached MaxBytes.
	Path string
	// MaxBytes bounds each of the two files, in bytes, > 0.
	MaxBytes int64
	// Log reports when records begin to be lost, when the reason changes, and when they are written
	// again. The zero Logger drops this.
	Log logr.Logger
	// Lost is called for every record that is lost; nil ignores it.
	Lost func()
}

// File keeps the latest cycles on disk. Keep never waits: a record that the disk cannot take in
// time is lost, and counted. File is safe for concurrent use.
type File struct {
	options FileOptions
	queue   chan Cycle
	disk    disk   // used by Run alone
	line    []byte // as disk; its memory is reused

	mu    sync.Mutex
	fault string // why the last record was lost, "" when it was written
}

// NewFile opens the file, and begins a new line where the last one is torn. The caller calls Run.
func NewFile(o FileOptions) (*File, error) {
	f := &File{options: o, queue: make(chan Cycle, queued), disk: disk{path: o.Path, most: o.MaxBytes}}
	if err := f.disk.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// Keep hands a cycle to Run, which writes it. It returns at once.
func (f *File) Keep(c Cycle) {
	select {
	case f.queue <- c:
	default:
		f.lost(c, ErrBusy)
	}
}

// Run writes the cycles from Keep until ctx ends, then the waiting ones, and closes the file. It
// always returns nil: no cycle fails for lack of its record.
func (f *File) Run(ctx context.Context) error {
	defer f.disk.close()
	for {
		select {
		case c := <-f.queue:
			f.write(c)
		case <-ctx.Done():
			for {
				select {
				case c := <-f.queue:
					f.write(c)
				default:
					return nil
				}
			}
		}
	}
}

func (f *File) write(c Cycle) {
	f.line = append(c.Append(f.line[:0]), '\n')
	if len(f.line) > MaxLine {
		f.lost(c, fmt.Errorf("%w of one record: %d bytes, at most %d", ErrTooLarge, len(f.line), MaxLine))
		f.line = nil
		return
	}
	if err := f.disk.write(f.line); err != nil {
		f.lost(c, err)
		return
	}
	if len(f.queue) == 0 { // else the disk is still behind
		f.told("")
	}
}

// lost counts a lost record, and logs it where the reason is new.
func (f *File) lost(c Cycle, err error) {
	if f.options.Lost != nil {
		f.options.Lost()
	}
	if f.told(err.Error()) {
		f.options.Log.Error(err, "cycles are not recorded", "cycle", c.Cycle, "file", f.options.Path)
	}
}

// told notes why records are lost, "" for that they are written, and reports whether that changed.
func (f *File) told(fault string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == fault {
		return false
	}
	f.fault = fault
	if fault == "" {
		f.options.Log.Info("cycles are recorded again", "file", f.options.Path)
	}
	return true
}

// disk is a file that is rotated when it is full. It is not safe for concurrent use.
type disk struct {
	path string
	most int64 // bytes

	file *os.File // nil while it cannot be opened
	size int64    // of the file, without a line that is being written
	torn bool     // whether the file ends with a part of a line
}

// open opens the file to append to it.
func (d *disk) open() error {
	file, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the record of cycles: %w", err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		last := make([]byte, 1)
		_, err = file.ReadAt(last, size-1)
		d.torn = last[0] != '\n'
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("reading the end of the record of cycles: %w", err)
	}
	d.file, d.size = file, size
	return nil
}

// write appends a line. After an error the file is as before, or ends with a torn line; the next
// write begins a new line.
func (d *disk) write(line []byte) error {
	if int64(len(line))+1 > d.most {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(line), d.most)
	}
	if d.file == nil {
		if err := d.open(); err != nil {
			return err
		}
	}
	if d.size+int64(len(line))+1 > d.most {
		if err := d.rotate(); err != nil {
			return err
		}
	}
	if d.torn {
		if _, err := d.file.Write([]byte("\n")); err != nil {
			return fmt.Errorf("writing the record of a cycle: %w", err)
		}
		d.torn = false
		d.size++
	}
	n, err := d.file.Write(line)
	if err != nil {
		if n > 0 && d.file.Truncate(d.size) != nil {
			d.torn = true
			d.size += int64(n)
		}
		return fmt.Errorf("writing the record of a cycle: %w", err)
	}
	d.size += int64(n)
	return nil
}

// rotate begins a new file; the old one replaces Path.1.
func (d *disk) rotate() error {
	d.close()
	if err := os.Rename(d.path, d.path+".1"); err != nil {
		return fmt.Errorf("beginning a new record of cycles: %w", err)
	}
	d.torn = false
	return d.open()
}

func (d *disk) close() {
	if d.file != nil {
		d.file.Close() // the kernel has every line
		d.file = nil
	}
}
