package prometheus

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"unsafe"
)

func TestEqualTextsBecomeOneString(t *testing.T) {
	var n interner
	first := n.of([]byte("pod-0"))
	for i := range 3 * minLookups { // over several generations
		if got := n.of([]byte("pod-0")); got != first || unsafe.StringData(got) != unsafe.StringData(first) {
			t.Fatalf("lookup %d: got another %q", i, got)
		}
	}
}

func TestTextsOfGonePodsAreForgotten(t *testing.T) {
	var n interner
	for i := range 1000 {
		n.of(fmt.Appendf(nil, "gone-%d", i))
	}
	for range 4 * lookupsPerString { // the time of a dozen collections
		for i := range 1000 {
			n.of(fmt.Appendf(nil, "pod-%d", i))
		}
	}
	if got := len(n.young) + len(n.old); got > 2000 {
		t.Errorf("got %d strings for 1000 pods", got)
	}
}

func TestStringsAreBounded(t *testing.T) {
	var n interner
	for i := range 2*minLookups + maxInterned {
		if got, want := n.of(strconv.AppendInt(nil, int64(i), 10)), strconv.Itoa(i); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	if len(n.young) != maxInterned {
		t.Errorf("got %d strings kept, want %d", len(n.young), maxInterned)
	}
}

func TestLongTextsAreNotKept(t *testing.T) {
	var n interner
	long := bytes.Repeat([]byte("x"), maxLength+1)
	if got := n.of(long); got != string(long) || len(n.young) != 0 {
		t.Errorf("got %d bytes and %d strings kept, want %d and none", len(got), len(n.young), len(long))
	}
	if n.of(long[1:]); len(n.young) != 1 {
		t.Errorf("got %d strings kept of the longest length, want 1", len(n.young))
	}
}

func TestStringsAreSharedByQuestionsSideBySide(t *testing.T) {
	var n interner
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2 * minLookups {
				if got, want := n.of(fmt.Appendf(nil, "pod-%d", i%100)), fmt.Sprintf("pod-%d", i%100); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestTheTextOfStringsIsBounded(t *testing.T) {
	var n interner
	text := 0
	for i := range 2 * maxBytes / maxLength {
		n.of(append(bytes.Repeat([]byte("x"), maxLength-10), fmt.Sprintf("%010d", i)...))
	}
	for s := range n.young {
		text += len(s)
	}
	if text > maxBytes || text < maxBytes-maxLength {
		t.Errorf("%d bytes of text are kept, want as many as fit into %d", text, maxBytes)
	}
}
