package config

import (
	"errors"
	"fmt"
	"math"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
)

// The limits of YAML aliases in one text. Decoding copies the anchored value once
// for each alias, so that a few kilobytes could otherwise become gigabytes.
const (
	mostAliases = 100
	// mostAliased bounds the bytes that all aliases of a text together add: a hundred small
	// mappings.
	mostAliased = 16 << 10
)

// nodeBytes is the least size of a value, in bytes: an empty one has a cost too.
const nodeBytes = 8

// checkAliases returns an error where decoding a YAML text would copy more for its aliases than the
// limits allow. It reads only the structure and copies nothing.
func checkAliases(text string) error {
	if !strings.Contains(text, "*") || !strings.Contains(text, "&") {
		return nil
	}
	var document yamlnode.Node
	if err := yamlnode.Unmarshal([]byte(text), &document); err != nil {
		return err
	}
	w := aliasWalk{sizes: map[*yamlnode.Node]int{}, within: map[*yamlnode.Node]bool{}}
	w.size(&document)
	switch {
	case w.loop:
		return errors.New("it holds an alias within the value that it names: want none")
	case w.aliases > mostAliases:
		return fmt.Errorf("it holds %d aliases: want at most %d", w.aliases, mostAliases)
	case w.added > mostAliased:
		return fmt.Errorf("its aliases add %s bytes: want at most %d", atMost(w.added), mostAliased)
	}
	return nil
}

// aliasWalk adds up the bytes that aliases copy.
type aliasWalk struct {
	sizes  map[*yamlnode.Node]int  // bytes of anchored values, aliases within them expanded
	within map[*yamlnode.Node]bool // values whose size is being computed
	// aliases is the number of aliases, added the bytes that they copy, and loop whether one names
	// a value that contains it.
	aliases, added int
	loop           bool
}

// size returns the bytes of a value with its aliases expanded, at most MaxInt32.
func (w *aliasWalk) size(n *yamlnode.Node) int {
	if n.Kind == yamlnode.AliasNode {
		w.aliases++
		if w.within[n.Alias] {
			w.loop = true
			return 0
		}
		size := w.sizes[n.Alias] // an anchor is read before its aliases
		w.added = min(w.added+size, math.MaxInt32)
		return size
	}
	anchored := n.Anchor != ""
	if anchored {
		w.within[n] = true
	}
	total := nodeBytes + len(n.Value)
	for _, child := range n.Content {
		total = min(total+w.size(child), math.MaxInt32)
	}
	if anchored {
		delete(w.within, n)
		w.sizes[n] = total
	}
	return total
}

// atMost renders a count that stops at MaxInt32.
func atMost(n int) string {
	if n == math.MaxInt32 {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}
