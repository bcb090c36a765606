package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// mostStreams bounds the clients of /api/events.
const mostStreams = 16

// heartbeat is the time between two signs of life on a stream. writePatience is how long a client
// may take to accept an event.
const (
	heartbeat     = 15 * time.Second
	writePatience = 10 * time.Second
)

// events sends an event for each cycle and each trouble, the present ones first. Events that a slow
// client did not take are merged into one.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.stream <- struct{}{}:
		defer func() { <-s.stream }()
	default:
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages follow this dashboard already: close one", mostStreams))
		return
	}
	out := stream{w: w, control: http.NewResponseController(w), now: s.clock.Now}
	w.Header().Set("Content-Type", "text/event-stream")
	beat := s.clock.NewTicker(heartbeat)
	defer beat.Stop()
	shown, told := int64(-1), ""
	for first := true; ; first = false {
		revision, trouble, news := s.source.Board().Read()
		if revision != shown {
			shown = revision
			out.event("cycle", map[string]int64{"revision": revision})
		}
		if trouble != told || first {
			told = trouble
			out.event("trouble", map[string]string{"sentence": trouble})
		}
		if out.err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-news:
		case <-beat.C():
			out.write(": \n\n")
		}
	}
}

// stream writes server-sent events. After an error it writes nothing.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	err     error
}

// event writes one event. Its data is one line of JSON.
func (s *stream) event(name string, data any) {
	body, err := json.Marshal(data)
	if err != nil {
		s.err = err
		return
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, body))
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	_ = s.control.SetWriteDeadline(s.now().Add(writePatience)) // a writer without deadlines returns an error
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}
