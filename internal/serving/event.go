package serving

import "time"

// Request is one call for tokens.
type Request struct {
	ID           uint64 // chosen by the driver, unique among its live requests
	InputTokens  int    // prompt [tokens], >= 1
	OutputTokens int    // to generate [tokens], >= 1
	CachedTokens int    // head of the prompt found in the prefix cache [tokens], [0, InputTokens-1]; not computed, but it uses own blocks
}

// Kind says what an Event reports.
type Kind uint8

// The kinds of events. The zero value reports nothing and is never emitted.
const (
	None       Kind = iota
	Admitted        // entered the batch; again after each preemption
	FirstToken      // generated its first token
	Token           // generated a token after the first; left out with Options.Milestones
	Finished        // generated its last token; follows the event of that token
	Preempted       // lost its blocks and went back to the head of the queue
	Refused         // not accepted; Event.Refusal says why
	Aborted         // cancelled by the driver
	Step            // a step ended; no ID, Tokens is the number it computed; left out with Options.Milestones
)

var kindNames = [...]string{"none", "admitted", "first token", "token", "finished", "preempted", "refused", "aborted", "step"}

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Refusal says why a request was not accepted. The zero value means that it was accepted.
type Refusal uint8

// The reasons for a refusal.
const (
	Accepted       Refusal = iota
	QueueFull              // MaxBatchSize + MaxQueue requests are live; worth another try later
	TooLong                // input + output tokens exceed MaxModelLen
	TooLarge               // it needs more blocks than the whole KV cache has
	InvalidRequest         // a length outside of its range
)

var refusalNames = [...]string{"accepted", "queue full", "longer than the model allows", "larger than the KV cache", "invalid request"}

// String returns the reason in words.
func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return "unknown"
}

// Event is something that happened to a request, or the end of a step.
type Event struct {
	At      time.Duration // offset from the driver's epoch
	ID      uint64        // of the request; 0 for Step
	Tokens  int32         // tokens generated so far; for Step computed, for Preempted lost
	Kind    Kind
	Refusal Refusal // for Refused
}

// Stats is a snapshot of a replica: gauges as of the last call with a time, and counts and sums
// since New. Sums are exact in time.Duration.
type Stats struct {
	Running, Waiting   int // requests
	UsedBlocks, Blocks int // KV cache blocks

	Submitted, Refused, Finished, Aborted uint64 // requests
	Preemptions                           uint64
	Steps                                 uint64

	PromptTokens     uint64 // of prompts whose prefill ended, cached ones included; once per request
	CachedTokens     uint64 // part of PromptTokens found in the prefix cache
	GenerationTokens uint64 // generated

	PrefixQueries, PrefixHits uint64 // tokens looked up and found at first admission

	FirstTokens    uint64        // requests that generated their first token
	TTFT           time.Duration // sum over FirstTokens, from submission
	InterTokens    uint64        // tokens after the first
	ITL            time.Duration // sum over InterTokens of the time since the token before
	FinishedInput  uint64        // input tokens of finished requests
	FinishedOutput uint64        // output tokens of finished requests
}

// KVUsage returns the share of KV cache blocks in use, in [0, 1].
func (s Stats) KVUsage() float64 {
	if s.Blocks == 0 {
		return 0
	}
	return float64(s.UsedBlocks) / float64(s.Blocks)
}
