package emulator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// answer writes the answer to one call to its client.
type answer struct {
	w      http.ResponseWriter
	chat   bool
	usage  bool // stream_options.include_usage
	stream bool
	input  int // tokens
	words  []string
	rng    *rand.PCG

	head, tail string // of a streamed chunk, around one word
	id         string
	model      string
	created    int64 // unix s
	sent       int   // tokens
}

// object returns the API's name for the answer, or for a chunk of it.
func (a *answer) object() string {
	switch {
	case a.chat && a.stream:
		return "chat.completion.chunk"
	case a.chat:
		return "chat.completion"
	}
	return "text_completion"
}

// wordMark is the placeholder for the word in a chunk that is marshalled only once.
const wordMark = "@@word@@"

// prepare marshals the chunk of a word once, so that a token costs no JSON.
func (a *answer) prepare() {
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": nil}
	if a.chat {
		choice["delta"] = map[string]string{"content": wordMark}
	} else {
		choice["text"] = wordMark
	}
	a.head, a.tail, _ = strings.Cut(a.event([]any{choice}, nil), wordMark)
}

// event returns one server-sent event with choices and, if not nil, usage.
func (a *answer) event(choices []any, usage map[string]int) string {
	body := map[string]any{"id": a.id, "object": a.object(), "created": a.created, "model": a.model, "choices": choices}
	if usage != nil {
		body["usage"] = usage
	}
	return "data: " + mustMarshal(body) + "\n\n"
}

// word returns the next filler word, after a space unless it is the first.
func (a *answer) word(first bool) string {
	w := a.words[a.rng.Uint64()%uint64(len(a.words))]
	if first {
		return w
	}
	return " " + w
}

// more streams the words up to tokens.
func (a *answer) more(tokens int) error {
	if tokens <= a.sent {
		return nil
	}
	var b strings.Builder
	if a.sent == 0 {
		a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		a.w.Header().Set("Cache-Control", "no-cache")
		a.w.WriteHeader(http.StatusOK)
		a.prepare()
		if a.chat {
			b.WriteString(a.event([]any{map[string]any{
				"index": 0, "delta": map[string]string{"role": "assistant", "content": ""}, "logprobs": nil, "finish_reason": nil,
			}}, nil))
		}
	}
	for ; a.sent < tokens; a.sent++ {
		b.WriteString(a.head + a.word(a.sent == 0) + a.tail)
	}
	return a.flush(b.String())
}

// end streams the chunks that end the answer.
func (a *answer) end() error {
	last := map[string]any{"index": 0, "logprobs": nil, "finish_reason": "length"}
	if a.chat {
		last["delta"] = map[string]string{}
	} else {
		last["text"] = ""
	}
	text := a.event([]any{last}, nil)
	if a.usage {
		text += a.event([]any{}, a.usageOf(a.sent))
	}
	return a.flush(text + "data: [DONE]\n\n")
}

// fail reports an error: as an HTTP status before the first token, then in the stream.
func (a *answer) fail(e *apiError) error {
	if a.sent == 0 {
		writeError(a.w, e)
		return nil
	}
	return a.flush("data: " + mustMarshal(map[string]any{"error": e}) + "\n\n")
}

// whole writes the whole answer at once.
func (a *answer) whole(tokens int) error {
	var text strings.Builder
	for i := range tokens {
		text.WriteString(a.word(i == 0))
	}
	choice := map[string]any{"index": 0, "logprobs": nil, "finish_reason": "length"}
	if a.chat {
		choice["message"] = map[string]string{"role": "assistant", "content": text.String()}
	} else {
		choice["text"] = text.String()
	}
	return writeJSON(a.w, http.StatusOK, map[string]any{
		"id": a.id, "object": a.object(), "created": a.created, "model": a.model,
		"choices": []any{choice}, "usage": a.usageOf(tokens),
	})
}

func (a *answer) usageOf(output int) map[string]int {
	return map[string]int{"prompt_tokens": a.input, "completion_tokens": output, "total_tokens": a.input + output}
}

func (a *answer) flush(text string) error {
	if _, err := a.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("writing the stream: %w", err)
	}
	if err := http.NewResponseController(a.w).Flush(); err != nil {
		return fmt.Errorf("flushing the stream: %w", err)
	}
	return nil
}

// mustMarshal marshals values that cannot fail: maps of texts and numbers.
func mustMarshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("emulator: " + err.Error())
	}
	return string(data)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func writeError(w http.ResponseWriter, e *apiError) {
	_ = writeJSON(w, e.Status, map[string]any{"error": e}) // the client is gone, so the error has no receiver
}
