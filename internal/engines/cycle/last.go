package cycle

import "sync/atomic"

// Last is an Archive that keeps the last decided case in memory, and passes every case to Next. The
// zero value is ready. It is safe for concurrent use: a case is never modified.
type Last struct {
	Next Archive // nil for none; set before the first Keep
	last atomic.Pointer[Decided]
}

var _ Archive = (*Last)(nil)

// Keep implements Archive.
func (l *Last) Keep(decided Decided) {
	l.last.Store(&decided)
	if l.Next != nil {
		l.Next.Keep(decided)
	}
}

// Decided returns the last decided case, and false while there is none.
func (l *Last) Decided() (Decided, bool) {
	d := l.last.Load()
	if d == nil {
		return Decided{}, false
	}
	return *d, true
}
