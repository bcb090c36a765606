package emulator

import "context"

// The annotations of a pod template whose pods are emulated.
const (
	ProfileAnnotation = "wva.llmd.ai/emulated-profile" // name of a serving profile
	ModelAnnotation   = "wva.llmd.ai/emulated-model"   // model ID, as in requests
)

// Pod holds the used values of one emulated pod.
type Pod struct {
	Namespace, Name string
	UID             string // distinguishes a pod from a later one of the same name
	Profile         string // name of its serving profile
	Model           string // model ID
	Prefill         bool   // it only computes prompts; other pods decode
	Started         bool   // has an address: Prometheus would scrape it
	Ready           bool
	Terminating     bool
}

// same reports whether other is the same pod at another time, with the same model, profile and
// role.
func (p Pod) same(other Pod) bool {
	return p.UID == other.UID && p.Model == other.Model && p.Profile == other.Profile && p.Prefill == other.Prefill
}

// ModelKey identifies a model: the ID alone never does.
type ModelKey struct{ Namespace, ID string }

// Sink receives the pods. Its methods may be called from any goroutine.
type Sink interface {
	SetPod(Pod)                       // the pod is new or has changed
	DeletePod(namespace, name string) // the pod is gone
	Declare(ModelKey)                 // the model exists, with or without pods
}

// PodSource sends pods to a Sink until its context ends, and then returns nil. It returns an error
// when it cannot watch.
type PodSource interface {
	Run(ctx context.Context, sink Sink) error
}
