package emulator

import "context"

// The annotations of a pod template that make its pods emulated.
const (
	ProfileAnnotation = "wva.llmd.ai/emulated-profile" // name of a serving profile
	ModelAnnotation   = "wva.llmd.ai/emulated-model"   // model ID, as clients ask for it
)

// Pod is what the emulator needs to know about one emulated pod.
type Pod struct {
	Namespace, Name string
	UID             string // tells a pod from a later one of the same name
	Profile         string // name of its serving profile
	Model           string // model ID
	Started         bool   // has an address: Prometheus would scrape it
	Ready           bool
	Terminating     bool
}

// same returns whether other is the same pod at another time, not a later one of
// its name or one that now emulates something else.
func (p Pod) same(other Pod) bool {
	return p.UID == other.UID && p.Model == other.Model && p.Profile == other.Profile
}

// ModelKey identifies a model: the ID alone never does.
type ModelKey struct{ Namespace, ID string }

// Sink is told of the pods there are. Its methods may be called from any
// goroutine.
type Sink interface {
	SetPod(Pod)                       // it is new or has changed
	DeletePod(namespace, name string) // it is gone
	Declare(ModelKey)                 // the model exists, with or without pods
}

// PodSource tells a Sink of pods until its context ends; then it returns nil,
// or an error when it could not watch.
type PodSource interface {
	Run(ctx context.Context, sink Sink) error
}
