package emulator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Output tokens where the client asks for no number. OpenAI's completions return 16; chat would
// continue to the end of the context, which takes too long.
const (
	defaultCompletionTokens = 16
	defaultChatTokens       = 256
)

// completionRequest has the used fields of the OpenAI request, with two extensions; all
// other fields are ignored.
type completionRequest struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []chatMessage   `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	InputTokens  *int `json:"input_tokens"`  // extension: length of the prompt [tokens]
	CachedTokens int  `json:"cached_tokens"` // extension: part of the prompt in the prefix cache [tokens]
}

type chatMessage struct {
	Content json.RawMessage `json:"content"`
}

// lengths returns the input and output lengths [tokens] of the request; header is the value of
// X-Input-Tokens.
func (r *completionRequest) lengths(chat bool, header string) (input, output int, err error) {
	if r.N != nil && *r.N != 1 {
		return 0, 0, badRequest("n", "n is %d, want 1", *r.N)
	}
	output = defaultCompletionTokens
	if chat {
		output = defaultChatTokens
	}
	for _, f := range []struct {
		name  string
		value *int
	}{{"max_tokens", r.MaxTokens}, {"max_completion_tokens", r.MaxCompletionTokens}} {
		if f.value == nil {
			continue
		}
		if *f.value < 1 {
			return 0, 0, badRequest(f.name, "%s is %d, want at least 1", f.name, *f.value)
		}
		output = *f.value
	}
	input, err = r.inputTokens(chat, header)
	if err != nil {
		return 0, 0, err
	}
	if r.CachedTokens < 0 || r.CachedTokens >= input {
		return 0, 0, badRequest("cached_tokens", "cached_tokens is %d, want 0 to %d", r.CachedTokens, input-1)
	}
	return input, output, nil
}

func (r *completionRequest) inputTokens(chat bool, header string) (int, error) {
	counted, err := r.countTokens(chat)
	switch {
	case err != nil:
		return 0, err
	case header != "":
		n, err := strconv.Atoi(header)
		if err != nil || n < 1 {
			return 0, badRequest("X-Input-Tokens", "header X-Input-Tokens is %q, want an integer of at least 1", header)
		}
		return n, nil
	case r.InputTokens != nil:
		if *r.InputTokens < 1 {
			return 0, badRequest("input_tokens", "input_tokens is %d, want at least 1", *r.InputTokens)
		}
		return *r.InputTokens, nil
	case counted < 1 && chat:
		return 0, badRequest("messages", "messages have no words")
	case counted < 1:
		return 0, badRequest("prompt", "prompt has no words")
	}
	return counted, nil
}

func (r *completionRequest) countTokens(chat bool) (int, error) {
	if !chat {
		return countPrompt(r.Prompt)
	}
	total := 0
	for i, m := range r.Messages {
		n, err := countContent(m.Content)
		if err != nil {
			return 0, badRequest("messages", "content of message %d is neither a text nor a list of parts", i)
		}
		total += n
	}
	return total, nil
}

// countText counts the words of a text, 0 where it is absent; false where raw is no text.
func countText(raw json.RawMessage) (int, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, true
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return countWords(text), err == nil
}

// countPrompt counts the tokens of a text, a list of one text, or a list of
// token IDs.
func countPrompt(raw json.RawMessage) (int, error) {
	if n, ok := countText(raw); ok {
		return n, nil
	}
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		if len(texts) != 1 {
			return 0, badRequest("prompt", "prompt is a list of %d texts, want one", len(texts))
		}
		return countWords(texts[0]), nil
	}
	var ids []int
	if json.Unmarshal(raw, &ids) == nil {
		return len(ids), nil
	}
	return 0, badRequest("prompt", "prompt is neither a text, a list of one text, nor a list of token IDs")
}

// countContent counts the words of a message: a text, or the texts in a list of parts.
func countContent(raw json.RawMessage) (int, error) {
	if n, ok := countText(raw); ok {
		return n, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return 0, fmt.Errorf("parsing content: %w", err)
	}
	total := 0
	for _, p := range parts {
		total += countWords(p.Text)
	}
	return total, nil
}

func countWords(s string) int {
	n, inWord := 0, false
	for _, c := range s {
		space := unicode.IsSpace(c)
		if !space && !inWord {
			n++
		}
		inWord = !space
	}
	return n
}

// fillerWords returns the words of which answers consist.
func fillerWords() []string {
	return strings.Fields("the a one each every some of in on to from with over under and or but so then now here there " +
		"replica token batch cache queue model request answer step block word time cost load rate wave river stone light " +
		"runs waits fills grows holds moves keeps turns falls rises small large slow fast warm cold early late")
}
