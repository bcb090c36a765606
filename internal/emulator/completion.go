package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

const maxBody = 16 << 20 // bytes of a request: a million tokens and more

func (h *handler) chat(w http.ResponseWriter, r *http.Request, key ModelKey) {
	h.answer(w, r, key, &answer{w: w, chat: true})
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request, key ModelKey) {
	h.answer(w, r, key, &answer{w: w})
}

// answer serves one completion: it reads the request, submits it, and streams its progress
// to the client until it ends or the client disconnects.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, key ModelKey, a *answer) {
	req, err := readRequest(w, r)
	if err == nil {
		key, err = h.route(key, req.Model)
	}
	var input, output int
	if err == nil {
		input, output, err = req.lengths(a.chat, r.Header.Get("X-Input-Tokens"))
	}
	if err != nil {
		writeError(w, asAPIError(err))
		return
	}
	s := newStream(nil)
	if req.Stream {
		h.streams.Add(1)
		defer h.streams.Add(-1)
		s = newStream(&h.streams)
	}
	c := &call{
		request:  serving.Request{InputTokens: input, OutputTokens: output, CachedTokens: req.CachedTokens},
		streamed: req.Stream, receiver: s,
	}
	if err := h.emulator.submit(key, r.Header.Get(fairnessHeader), c); err != nil {
		writeError(w, asAPIError(err))
		return
	}
	a.stream, a.input, a.model, a.words = req.Stream, input, key.ID, h.words
	a.usage = req.StreamOptions != nil && req.StreamOptions.IncludeUsage
	a.created = h.emulator.clock.Now().Unix()
	a.id = fmt.Sprintf("cmpl-%016x", c.id)
	if a.chat {
		a.id = "chat" + a.id
	}
	a.rng = rand.NewPCG(h.emulator.seed, c.id)
	if err := a.follow(r.Context().Done(), s); err != nil {
		h.emulator.cancel(c)
	}
}

// errClientGone ends an answer whose client has disconnected.
var errClientGone = errors.New("the client has gone away")

// follow writes the answer as s makes progress. An error means that the client is gone.
func (a *answer) follow(gone <-chan struct{}, s *stream) error {
	for {
		select {
		case <-gone:
			return errClientGone
		case <-s.wake:
		}
		p := s.progress()
		if a.stream && p.err == nil {
			if err := a.more(p.tokens); err != nil {
				return err
			}
		}
		switch {
		case !p.done:
		case p.err != nil:
			return a.fail(asAPIError(p.err))
		case a.stream:
			return a.end()
		default:
			return a.whole(p.request.OutputTokens)
		}
	}
}

// route returns the key of the model: for a plain path it finds the namespace, for a long
// path it checks the model.
func (h *handler) route(key ModelKey, model string) (ModelKey, error) {
	if key != (ModelKey{}) {
		if model != "" && model != key.ID {
			return key, notFound("model", "model is %q, but this path serves %q", model, key.ID)
		}
		return key, nil
	}
	if model == "" {
		return key, badRequest("model", "model is missing")
	}
	keys := h.emulator.models(func(k ModelKey) bool { return k.ID == model })
	switch len(keys) {
	case 0:
		return key, notFound("model", "The model `%s` does not exist.", model)
	case 1:
		return keys[0], nil
	}
	return key, badRequest("model", "model %q is in %d namespaces: use the path /NAMESPACE/%s/v1/...", model, len(keys), model)
}

func readRequest(w http.ResponseWriter, r *http.Request) (*completionRequest, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, badRequest("", "reading the body: %v", err)
	}
	req := &completionRequest{}
	if err := json.Unmarshal(body, req); err != nil {
		return nil, badRequest("", "parsing the body: %v", err)
	}
	return req, nil
}
