package testbed

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Request is a request of a service account that the API server answered.
type Request struct {
	At   time.Time // time of arrival
	User string    // name of the account
	Verb string    // get, list, watch, create, update, patch, delete, deletecollection
	// The requested object. Resource is empty for requests of other things, such as the versions
	// that the server serves.
	Group, Resource, Subresource string
	Namespace, Name              string // empty for all; Name is also empty for an object that the server names
	Code                         int    // of the answer, an HTTP status
	Forbidden                    bool   // its roles do not allow the request
}

// String returns the verb and the object.
func (r Request) String() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s (%d)", r.Verb, resource, r.Namespace, r.Name, r.Code)
}

// reads reports whether the request only reads.
func (r Request) reads() bool {
	return r.Verb == "get" || r.Verb == "list" || r.Verb == "watch"
}

// Review reports whether the request asked for the name or the permissions of a user: such a
// request is a create, and the server stores nothing of it.
func (r Request) Review() bool {
	return r.Group == "authentication.k8s.io" || r.Group == "authorization.k8s.io"
}

// ManagerUser is the name of the managers' account as a user.
const ManagerUser = "system:serviceaccount:" + SystemNamespace + ":" + managerName

// Requests returns the requests of a service account to the API server since a time, in the order
// of its audit log. The log is that of the server itself and has the requests of all clients; a
// watch is in it once it has begun.
func (b *Bed) Requests(user string, since time.Time) ([]Request, error) {
	data, err := os.ReadFile(b.State.AuditLog)
	if err != nil {
		return nil, fmt.Errorf("reading what %s asked for: %w", user, err)
	}
	var requests []Request
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // the server is writing it
		}
		r, id, err := parseRequest(line)
		if err != nil {
			return nil, fmt.Errorf("reading what %s asked for: %w", user, err)
		}
		if r.User != user || r.At.Before(since) || seen[id] {
			continue // a watch is logged again when it ends
		}
		seen[id] = true
		requests = append(requests, r)
	}
	return slices.Clip(requests), nil
}

// ManagerWrites returns the Requests of managers that do more than read.
func (b *Bed) ManagerWrites(since time.Time) ([]Request, error) {
	all, err := b.Requests(ManagerUser, since)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, Request.reads), nil
}

// parseRequest reads an audit.k8s.io/v1 Event; id identifies the request.
func parseRequest(line string) (r Request, id string, err error) {
	var e struct {
		AuditID string `json:"auditID"`
		Verb    string `json:"verb"`
		User    struct {
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
		Annotations              map[string]string `json:"annotations"`
		RequestReceivedTimestamp time.Time         `json:"requestReceivedTimestamp"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return Request{}, "", fmt.Errorf("audit event %.200q: %w", line, err)
	}
	o := e.ObjectRef
	return Request{
		At: e.RequestReceivedTimestamp, User: e.User.Username, Verb: e.Verb, Group: o.APIGroup, Resource: o.Resource, Subresource: o.Subresource,
		Namespace: o.Namespace, Name: o.Name, Code: e.ResponseStatus.Code,
		Forbidden: e.Annotations["authorization.k8s.io/decision"] == "forbid",
	}, e.AuditID, nil
}
