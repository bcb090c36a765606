package store

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of events.
const (
	eventIgnored     = "StoredEntryIgnored"
	eventNoRoom      = "StoreFull"
	eventUnavailable = "StoreUnavailable"
)

// failed counts each failure to read or write a ConfigMap, and reports the first one until
// it succeeds.
func (s *Store) failed(name, verb string, err error) {
	if s.Lost != nil {
		s.Lost()
	}
	note := fmt.Sprintf("the store cannot %s ConfigMap %s/%s: %v; the manager goes on without, and forgets what it learns when it ends", verb, s.Namespace, name, err)
	if apierrors.IsForbidden(err) {
		note += ". Give it the Role of the chart (create, get and update of that ConfigMap), or set WVA_STORE=false"
	}
	of := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	s.tell(of, notice{eventUnavailable, "Store", verb + reason(err), note})
}

// reason returns in one word why a request failed: the text of an error may change each time.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "Timeout"
	}
	return string(apierrors.ReasonForError(err))
}

// longestAction and longestNote are the largest numbers of characters that the event API takes.
const longestAction, longestNote = 128, 1024

// notice is a report about a ConfigMap. about distinguishes it from others of the same
// reason and action.
type notice struct{ reason, action, about, note string }

// tell logs a notice and sends it as an event, once while it holds.
func (s *Store) tell(of *corev1.ConfigMap, n notice) {
	what := n.reason + "/" + of.Name + "/" + n.action + "/" + n.about
	s.mu.Lock()
	told := s.told[what]
	s.told[what] = true
	s.mu.Unlock()
	if told {
		return
	}
	s.Log.Info("the store does not hold all that was learned", "namespace", of.Namespace, "configMap", of.Name, "reason", n.note)
	regarding := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion}}
	s.Events.Eventf(regarding, nil, corev1.EventTypeWarning, n.reason, firstOf(n.action, longestAction), "%s", firstOf(n.note, longestNote))
}

// firstOf returns the first n characters of text.
func firstOf(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n])
	}
	return text
}
