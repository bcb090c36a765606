package scaling

import "time"

// Life says whether a model has requests. The zero value is unknown, which is never the same as
// idle.
type Life string

// The values of a Life.
const (
	LifeUnknown Life = ""
	LifeIdle    Life = "idle"   // no request runs, waits, is queued or has arrived, and each of these is known
	LifeActive  Life = "active" // some reading shows a request
)

// Recent counts the requests of a model before a Snapshot, from earlier fetches and from the
// history of the metrics source before those. The zero value is unknown.
type Recent struct {
	// Requests counts the requests that began, ended or received a token between Since and Until.
	Requests Reading `json:"requests"`
	// Since is the time after which every replica has samples without a gap that could hide a
	// request.
	Since time.Time `json:"since,omitzero"`
	// Until is the time of the last scrape that counts; zero stands for the scrapes of the
	// Snapshot.
	Until time.Time `json:"until,omitzero"`
}
