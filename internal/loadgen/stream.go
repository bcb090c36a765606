package loadgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxEvent limits one line of a stream, in bytes.
const maxEvent = 1 << 20

// event is the content of one line of a completion stream.
type event struct {
	text   bool // it carries text: one token, or a few at once
	tokens int  // completion tokens so far, if the server reports usage, else 0
	done   bool // the stream is complete
}

// stream reads the server-sent events of an OpenAI completion: lines "data: <JSON>", the last one
// "data: [DONE]". Other lines are ignored (WHATWG HTML, Server-sent events, §9.2.6).
type stream struct {
	lines *bufio.Scanner
}

func newStream(body io.Reader) stream {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), maxEvent)
	return stream{lines: lines}
}

// completion holds the used fields of a completion chunk.
type completion struct {
	Choices []struct {
		Text string `json:"text"`
	} `json:"choices"`
	Usage *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// next returns the next event, or io.ErrUnexpectedEOF where the stream ends without [DONE].
func (s stream) next() (event, error) {
	for s.lines.Scan() {
		data, ok := bytes.CutPrefix(s.lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimSpace(data)
		if bytes.Equal(data, []byte("[DONE]")) {
			return event{done: true}, nil
		}
		var c completion
		if err := json.Unmarshal(data, &c); err != nil {
			return event{}, fmt.Errorf("reading the event %.80q: %w", data, err)
		}
		if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
			return event{}, fmt.Errorf("the server reports %.200s", c.Error)
		}
		var e event
		for _, choice := range c.Choices {
			e.text = e.text || choice.Text != ""
		}
		if c.Usage != nil {
			e.tokens = c.Usage.CompletionTokens
		}
		return e, nil
	}
	if err := s.lines.Err(); err != nil {
		return event{}, err
	}
	return event{}, io.ErrUnexpectedEOF
}

var (
	errNoText     = errors.New("the stream has no text")
	errNotAStream = errors.New("the answer is not an event stream")
)
