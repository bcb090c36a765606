package discovery

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// longestCommandLine limits the command and the arguments of a container with its variables
// expanded, in bytes. Linux refuses a single argument of 128 KiB (MAX_ARG_STRLEN), and a container
// that names one long variable often would otherwise take gigabytes here.
const longestCommandLine = 128 << 10

// expanded returns a container with the literal variables of its environment put into its command
// line, as the kubelet does: $(NAME), where NAME ends at the first parenthesis. "$$" stays, so that
// a second expansion leaves it alone, too. size is the length of the result in bytes. Where it
// would exceed most, expanded returns the container unchanged, most, and false.
func expanded(c *corev1.Container, most int) (out corev1.Container, size int, ok bool) {
	values := make(map[string]string, len(c.Env))
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			values[e.Name] = e.Value
		}
	}
	x := expansion{values: values, room: most}
	out = *c
	out.Command, out.Args = x.all(c.Command), x.all(c.Args)
	if x.room < 0 {
		return *c, most, false
	}
	return out, most - x.room, true
}

// expansion replaces variables while there is room.
type expansion struct {
	values map[string]string
	room   int // bytes left, negative once there was not enough
}

// all expands every word; nil stays nil.
func (x *expansion) all(words []string) []string {
	var out []string
	for _, w := range words {
		if x.room--; x.room < 0 { // for the byte that ends a word
			return nil
		}
		out = append(out, x.word(w))
	}
	return out
}

// word expands one word, "" where there is no room for it.
func (x *expansion) word(w string) string {
	var b strings.Builder
	put := func(text string) bool {
		if x.room -= len(text); x.room < 0 {
			return false
		}
		b.WriteString(text)
		return true
	}
	for {
		at := strings.IndexByte(w, '$')
		if at < 0 || at == len(w)-1 {
			break
		}
		text, rest := w[:at+2], w[at+2:]
		if w[at+1] == '(' {
			name, after, closed := strings.Cut(rest, ")")
			if !closed {
				break // no later variable is closed either
			}
			value, known := x.values[name]
			if !known {
				value = "$(" + name + ")"
			}
			if !put(w[:at]) {
				return ""
			}
			text, rest = value, after
		}
		if !put(text) {
			return ""
		}
		w = rest
	}
	if !put(w) {
		return ""
	}
	return b.String()
}
