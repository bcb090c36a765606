package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// entry is the stored value of one model.
type entry[T any] struct {
	model scaling.ModelKey
	at    time.Time // when value last changed, in whole seconds
	value T
	text  string // of the entry, as it is stored
}

// envelope is the JSON of an entry.
type envelope struct {
	Version   int             `json:"version"`
	Namespace string          `json:"namespace"`
	Model     string          `json:"model"`
	At        time.Time       `json:"at"`
	Data      json.RawMessage `json:"data"`
	Sum       string          `json:"sum,omitempty"`
}

// sealed returns the text of an envelope, with its checksum.
func (e envelope) sealed() (string, error) {
	e.Sum = ""
	body, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	e.Sum = sumOf(body)
	text, err := json.Marshal(e)
	return string(text), err
}

// sumOf returns the checksum of an entry's text. It detects a change by hand, not a
// forgery: a user who may write the ConfigMap can also write the checksum.
func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// format returns the entry of a model.
func (k Kind[T]) format(model scaling.ModelKey, at time.Time, value T) (entry[T], error) {
	e := entry[T]{model: model, at: at.UTC().Truncate(time.Second), value: value}
	data, err := json.Marshal(value)
	if err != nil {
		return e, fmt.Errorf("writing what is known of model %s: %w", model, err)
	}
	e.text, err = envelope{Version: k.Version, Namespace: model.Namespace, Model: model.ID, At: e.at, Data: data}.sealed()
	if err != nil {
		return e, fmt.Errorf("writing the entry of model %s: %w", model, err)
	}
	return e, nil
}

// fit returns the entry of a model in at most EntryBytes; it calls Less until the entry
// fits.
func (k Kind[T]) fit(model scaling.ModelKey, at time.Time, value T) (entry[T], error) {
	for {
		e, err := k.format(model, at, value)
		if err != nil {
			return e, err
		}
		size := len(keyOf(model)) + len(e.text)
		if size <= k.EntryBytes {
			return e, nil
		}
		less, ok := value.Less()
		if !ok {
			return e, fmt.Errorf("the entry of model %s has %d bytes, want at most %d", model, size, k.EntryBytes)
		}
		value = less
	}
}

// parse reads an entry. The error completes the sentence "the entry ... is ignored: ".
func (k Kind[T]) parse(key, text string) (entry[T], error) {
	if size := len(key) + len(text); size > k.EntryBytes {
		return entry[T]{}, fmt.Errorf("it has %d bytes, want at most %d", size, k.EntryBytes)
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return entry[T]{}, fmt.Errorf("it is no JSON of an entry: %w", err)
	}
	if version.Version != k.Version {
		return entry[T]{}, fmt.Errorf("its version is %d, this manager reads %d", version.Version, k.Version)
	}
	var e envelope
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return entry[T]{}, fmt.Errorf("it is no JSON of an entry: %w", err)
	}
	model := scaling.ModelKey{Namespace: e.Namespace, ID: e.Model}
	switch sealed, err := e.sealed(); {
	case err != nil:
		return entry[T]{}, err
	case !sameText(sealed, text):
		return entry[T]{}, errors.New("its checksum is not that of its text, which was changed by hand or cut off")
	case key != keyOf(model):
		return entry[T]{}, fmt.Errorf("it is of model %s, whose key is %s", model, keyOf(model))
	}
	out := entry[T]{model: model, at: e.At, text: text}
	if err := json.Unmarshal(e.Data, &out.value); err != nil {
		return entry[T]{}, fmt.Errorf("its data cannot be read: %w", err)
	}
	return out, nil
}

// sameText reports whether two JSON texts differ in white space alone.
func sameText(a, b string) bool {
	var compact bytes.Buffer
	return json.Compact(&compact, []byte(b)) == nil && compact.String() == a
}

// keyOf returns the key of a model's entry: a readable part, and a hash that makes it
// unique.
func keyOf(model scaling.ModelKey) string {
	sum := sha256.Sum256([]byte(model.String()))
	return model.Namespace + "." + readable(model.ID) + "." + hex.EncodeToString(sum[:8])
}

// longestReadable is the largest length of a model's ID in a key. A key takes 253 bytes, 63
// of them for a namespace.
const longestReadable = 80

// readable returns the beginning of a model's ID in characters that a key may have.
func readable(id string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, id)
	return out[:min(len(out), longestReadable)]
}
