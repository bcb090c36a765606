package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// change is a decision that changed a number, without its time.
type change struct {
	cycle    scaling.CycleID
	variant  scaling.VariantKey
	model    scaling.ModelKey
	from, to scaling.Replicas
	stage    scaling.Stage
	reason   scaling.Reason
	sentence string
}

const (
	// changeBytes is about the size of a change without its sentence.
	changeBytes = 240
	// longestSentence is how many bytes of a sentence are kept.
	longestSentence = 400
)

// changeOf returns the change of a decision, and false where the number stays the same.
func changeOf(id scaling.CycleID, d scaling.Decision, past memory.History) (change, bool) {
	from := d.Current
	if p, ok := past[d.Variant]; ok {
		from = p.Desired
	}
	if from == d.Target() {
		return change{}, false
	}
	cause := d.Cause()
	sentence := cause.Detail
	if sentence == "" {
		sentence = string(cause.Reason)
	}
	return change{
		cycle: id, variant: d.Variant, model: d.Model, from: from, to: d.Target(),
		stage: cause.Stage, reason: cause.Reason, sentence: cut(sentence, longestSentence),
	}, true
}

// cut returns a copy of s in at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s)
	}
	const mark = "…"
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}

// part is the compressed record of a cycle, of one model or of all.
type part struct {
	cycle scaling.CycleID
	model scaling.ModelKey // the zero key for a record of all models
	text  []byte
}

const (
	// partBytes is about the size of a part without its text.
	partBytes = 120
	// everyNamespace is the namespace for parts of all models.
	everyNamespace = ""
)

// keeping is the part of a cycle to keep.
type keeping struct {
	at     instant
	part   func(scaling.ModelKey) record.Cycle
	cycle  scaling.CycleID
	models []scaling.ModelKey
}

// compress returns the records of the models, compressed; one that all models share only once.
func (k keeping) compress() []part {
	var out []part
	var text []byte
	var buffer bytes.Buffer
	zip := gzip.NewWriter(&buffer)
	all := false
	for _, m := range k.models {
		c := k.part(m)
		shared := len(c.Snapshots) > 1
		if shared && all {
			continue
		}
		all = all || shared
		text = c.Append(text[:0])
		buffer.Reset()
		zip.Reset(&buffer)
		if _, err := zip.Write(text); err != nil {
			panic("history: writing to memory failed: " + err.Error())
		}
		if err := zip.Close(); err != nil {
			panic("history: writing to memory failed: " + err.Error())
		}
		p := part{cycle: k.cycle, model: m, text: bytes.Clone(buffer.Bytes())}
		if shared {
			p.model = scaling.ModelKey{}
		}
		out = append(out, p)
	}
	return out
}

// keep compresses and keeps the records that Add left.
func (h *History) keep(k keeping) {
	parts := k.compress()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range parts {
		h.parts.add(p.model.Namespace, k.at, partBytes+len(p.text), p)
	}
}

// Run compresses the records that Add leaves to it, until ctx ends. It returns nil. Use it for a
// History with the option Later.
func (h *History) Run(ctx context.Context) error {
	for {
		select {
		case k := <-h.later:
			h.keep(k)
		case <-ctx.Done():
			return nil
		}
	}
}

// Decision returns the latest decision of the cycle id that changed the number of a variant; false
// where none is known.
func (h *History) Decision(of scaling.VariantKey, id scaling.CycleID) (Change, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	at, c, ok := h.change(of, id)
	if !ok {
		return Change{}, false
	}
	return h.told(at, c), true
}

func (h *History) change(of scaling.VariantKey, id scaling.CycleID) (at instant, found *change, ok bool) {
	for t, c := range h.changes.of(of.Namespace) {
		if c.variant == of && c.cycle == id {
			at, found, ok = t, c, true
		}
	}
	return at, found, ok
}

// told returns a change in its JSON type.
func (h *History) told(at instant, c *change) Change {
	_, kept := h.partOf(c)
	return Change{
		T: h.time(at), Cycle: c.cycle, Namespace: c.variant.Namespace, Name: c.variant.Name, From: int(c.from), To: int(c.to),
		Stage: c.stage, Reason: c.reason, Sentence: c.sentence, Kept: kept,
	}
}

// partOf returns the record of the inputs of a change, and false where it is not kept.
func (h *History) partOf(c *change) (*part, bool) {
	for _, p := range h.parts.of(c.model.Namespace) {
		if p.cycle == c.cycle && p.model == c.model {
			return p, true
		}
	}
	for _, p := range h.parts.of(everyNamespace) {
		if p.cycle == c.cycle {
			return p, true
		}
	}
	return nil, false
}

// Kept returns the record of the inputs by which a cycle changed the number of a variant; false
// where it is not kept. It holds its model, or all models where they share accelerators or
// profiles.
func (h *History) Kept(of scaling.VariantKey, id scaling.CycleID) (record.Cycle, bool) {
	h.mu.RLock()
	_, c, ok := h.change(of, id)
	var text []byte
	if ok {
		if p, found := h.partOf(c); found {
			text = p.text
		}
	}
	h.mu.RUnlock()
	if text == nil {
		return record.Cycle{}, false
	}
	out, err := unpack(text)
	return out, err == nil // an error for inputs that no cycle can have, such as those of a test
}

func unpack(text []byte) (record.Cycle, error) {
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return record.Cycle{}, fmt.Errorf("unpacking: %w", err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		return record.Cycle{}, fmt.Errorf("unpacking: %w", err)
	}
	return record.Decode(plain)
}
