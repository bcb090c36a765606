package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// page is a client of a stream of events. It is safe for concurrent use.
type page struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ResponseRecorder.Write(b)
}

// taken returns what came since it was last taken.
func (p *page) taken() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.Body.Reset()
	return p.Body.String()
}

// watch follows the events of a server until stop.
func watch(s *Server) (p *page, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	p = &page{ResponseRecorder: httptest.NewRecorder()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.events(p, httptest.NewRequest(http.MethodGet, "/api/events", http.NoBody).WithContext(ctx))
	}()
	return p, func() { cancel(); <-done }
}

func TestEventsTellOfCyclesAndTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &still{board: NewBoard()}
		s := New(Options{Source: source, Assets: pages})
		source.board.Cycle()
		p, stop := watch(s)
		defer stop()
		expect := func(what, want string) {
			t.Helper()
			synctest.Wait()
			if got := p.taken(); got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		expect("at first", "event: cycle\ndata: {\"revision\":1}\n\nevent: trouble\ndata: {\"sentence\":\"\"}\n\n")
		source.board.Cycle()
		expect("a cycle", "event: cycle\ndata: {\"revision\":2}\n\n")
		source.board.Say("gone\nevent: cycle")
		expect("a trouble", "event: trouble\ndata: {\"sentence\":\"gone\\nevent: cycle\"}\n\n")
		source.board.Say("gone\nevent: cycle")
		expect("the same trouble", "")
		source.board.Say("")
		expect("no trouble", "event: trouble\ndata: {\"sentence\":\"\"}\n\n")
		time.Sleep(31 * time.Second)
		expect("half a minute without news", ": \n\n: \n\n")
	})
}

func TestNewsThatAPageMissesAreCombined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &still{board: NewBoard()}
		p, stop := watch(New(Options{Source: source, Assets: pages}))
		defer stop()
		synctest.Wait()
		p.taken()
		p.mu.Lock() // the page takes nothing
		for range 1000 {
			source.board.Cycle()
		}
		p.mu.Unlock()
		synctest.Wait()
		got := p.taken()
		if !strings.HasSuffix(got, "event: cycle\ndata: {\"revision\":1000}\n\n") || strings.Count(got, "event:") > 2 {
			t.Errorf("after a thousand cycles the page got %q", got)
		}
	})
}

func TestSoManyPagesFollowAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Source: &still{board: NewBoard()}, Assets: pages})
		stops := make([]func(), mostStreams)
		for i := range stops {
			_, stops[i] = watch(s)
		}
		synctest.Wait()
		p, stop := watch(s)
		stop()
		if p.Code != http.StatusServiceUnavailable || p.Header().Get("Retry-After") == "" || !strings.Contains(p.taken(), "close one") {
			t.Errorf("one more gets %d", p.Code)
		}
		for _, stop := range stops {
			stop()
		}
		p, stop = watch(s)
		synctest.Wait()
		stop()
		if p.Code != http.StatusOK {
			t.Errorf("after they are gone a page gets %d", p.Code)
		}
	})
}
