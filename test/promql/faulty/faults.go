package faulty

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Status answers all requests with an HTTP status and an error in the form of Prometheus.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { deny(w, code) }
}

// Silence sends no answer as long as the client waits.
func Silence(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	// The server notices a disconnected client only once the body is read.
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
}

// Some answers a request with an HTTP status where fails returns true for the number of requests
// before it.
func Some(code int, fails func(before int64) bool) Fault {
	var count atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		if fails(count.Add(1) - 1) {
			deny(w, code)
			return
		}
		store.ServeHTTP(w, r)
	}
}

// Nothing answers all requests with an empty vector, as a store without such series does.
func Nothing(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
}

// Flood answers all requests with a vector of n rows, each of another pod.
func Flood(n int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		body := bufio.NewWriter(w)
		fmt.Fprint(body, `{"status":"success","data":{"resultType":"vector","result":[`)
		for i := range n {
			separator := ","
			if i == 0 {
				separator = ""
			}
			_, err := fmt.Fprintf(body, `%s{"metric":{"namespace":"flood","pod":"pod-%d","model_name":"m","job":"engines"},"value":[1795176000,"%d"]}`, separator, i, i)
			if err != nil {
				return // the client has read enough
			}
		}
		fmt.Fprint(body, `]}}`)
		body.Flush()
	}
}

// Bearer passes on requests with the token that want returns, and answers others with 401.
func Bearer(want func() string) Fault {
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		if r.Header.Get("Authorization") != "Bearer "+want() {
			deny(w, http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	}
}

func deny(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"status":"error","errorType":"internal","error":"%s"}`, http.StatusText(code))
}

// Half breaks the connection after half of each answer of the store.
func Half(w http.ResponseWriter, r *http.Request, store http.Handler) {
	whole := httptest.NewRecorder()
	store.ServeHTTP(whole, r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
	_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2]) // the client may be gone
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Partial leaves out the rows that contain a text, and adds a warning, as a querier does when one
// of its stores does not answer.
func Partial(without string) Fault {
	return func(w http.ResponseWriter, r *http.Request, store http.Handler) {
		whole := httptest.NewRecorder()
		store.ServeHTTP(whole, r)
		var answer struct {
			Status string `json:"status"`
			Data   struct {
				ResultType string            `json:"resultType"`
				Result     []json.RawMessage `json:"result"`
			} `json:"data"`
			Warnings []string `json:"warnings"`
		}
		if err := json.Unmarshal(whole.Body.Bytes(), &answer); err != nil || answer.Status != "success" {
			deny(w, http.StatusInternalServerError)
			return
		}
		answer.Data.Result = slices.DeleteFunc(answer.Data.Result, func(row json.RawMessage) bool { return strings.Contains(string(row), without) })
		if answer.Data.Result == nil {
			answer.Data.Result = []json.RawMessage{}
		}
		answer.Warnings = []string{"no answer from the store of zone b"}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client may be gone
	}
}
