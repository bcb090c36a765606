package history

import "iter"

// bounded keeps the newest values within a number of bytes. When it is full, the namespace with the
// most bytes loses its oldest value.
type bounded[T any] struct {
	most, bytes int
	by          map[string]*queue[T] // by namespace
}

type queue[T any] struct {
	held  []held[T] // oldest first
	bytes int
	lost  instant // time of the newest value dropped because memory was full
}

type held[T any] struct {
	at    instant
	bytes int
	value T
}

func newBounded[T any](most int) bounded[T] {
	return bounded[T]{most: most, by: map[string]*queue[T]{}}
}

// add adds a value that takes this many bytes.
func (s *bounded[T]) add(namespace string, at instant, bytes int, value T) {
	q := s.by[namespace]
	if q == nil {
		q = &queue[T]{}
		s.by[namespace] = q
	}
	q.held = append(q.held, held[T]{at, bytes, value})
	q.bytes += bytes
	s.bytes += bytes
	for s.bytes > s.most {
		largest, name := q, namespace
		for n, other := range s.by {
			if other.bytes > largest.bytes || other.bytes == largest.bytes && n < name {
				largest, name = other, n
			}
		}
		largest.lost = largest.held[0].at
		s.drop(largest)
	}
}

// forget drops the values from before an instant.
func (s *bounded[T]) forget(before instant) {
	for name, q := range s.by {
		for len(q.held) > 0 && q.held[0].at < before {
			s.drop(q)
		}
		if len(q.held) == 0 {
			delete(s.by, name)
		}
	}
}

func (s *bounded[T]) drop(q *queue[T]) {
	q.bytes -= q.held[0].bytes
	s.bytes -= q.held[0].bytes
	q.held[0] = held[T]{}
	if q.held = q.held[1:]; len(q.held) < cap(q.held)/4 {
		q.held = append(make([]held[T], 0, 2*len(q.held)), q.held...)
	}
}

// of returns the values of a namespace with their times, oldest first.
func (s *bounded[T]) of(namespace string) iter.Seq2[instant, *T] {
	return func(yield func(instant, *T) bool) {
		if q := s.by[namespace]; q != nil {
			for i := range q.held {
				if !yield(q.held[i].at, &q.held[i].value) {
					return
				}
			}
		}
	}
}

// lostUntil returns the time of the newest value of a namespace that was dropped because memory was
// full, 0 for none.
func (s *bounded[T]) lostUntil(namespace string) instant {
	if q := s.by[namespace]; q != nil {
		return q.lost
	}
	return 0
}
