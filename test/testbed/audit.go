package testbed

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Write is a request of the manager's account that the API server got, other than
// get, list and watch.
type Write struct {
	At                           time.Time
	Verb                         string // create, update, patch, delete, deletecollection
	Group, Resource, Subresource string
	Namespace, Name              string // Name is empty for what the server names
	Code                         int    // of the answer, an HTTP status
}

// String says what was done to which object.
func (w Write) String() string {
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s (%d)", w.Verb, resource, w.Namespace, w.Name, w.Code)
}

// Review reports whether the request asked who somebody is or what they may do:
// such a request is created, and nothing of it is stored.
func (w Write) Review() bool {
	return w.Group == "authentication.k8s.io" || w.Group == "authorization.k8s.io"
}

// ManagerWrites returns what managers have asked the API server to write since a
// time, in the order of its audit log. The log is that of the server itself and
// has every request, whatever client of the manager made it.
func (b *Bed) ManagerWrites(since time.Time) ([]Write, error) {
	data, err := os.ReadFile(b.State.AuditLog)
	if err != nil {
		return nil, fmt.Errorf("reading what the manager wrote: %w", err)
	}
	var writes []Write
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // the server is writing it
		}
		w, user, err := parseWrite(line)
		if err != nil {
			return nil, fmt.Errorf("reading what the manager wrote: %w", err)
		}
		if user == managerUser && !w.At.Before(since) {
			writes = append(writes, w)
		}
	}
	return slices.Clip(writes), nil
}

// managerUser is the name of the manager's account as a user.
const managerUser = "system:serviceaccount:" + SystemNamespace + ":" + managerName

// parseWrite reads an audit.k8s.io/v1 Event.
func parseWrite(line string) (w Write, user string, err error) {
	var e struct {
		Verb string `json:"verb"`
		User struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			APIGroup    string `json:"apiGroup"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
		RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return Write{}, "", fmt.Errorf("audit event %.200q: %w", line, err)
	}
	o := e.ObjectRef
	return Write{
		At: e.RequestReceivedTimestamp, Verb: e.Verb, Group: o.APIGroup, Resource: o.Resource, Subresource: o.Subresource,
		Namespace: o.Namespace, Name: o.Name, Code: e.ResponseStatus.Code,
	}, e.User.Username, nil
}
