package loadgen

import "time"

// Summary holds the measurements of a run. Latencies are in ms.
type Summary struct {
	Requests    int             `json:"requests"`                // of the workload that became due
	Sent        int             `json:"sent"`                    // Requests without those of kind NotSent
	Completed   int             `json:"completed"`               // answered to the end
	Failed      int             `json:"failed"`                  // neither completed nor interrupted
	Interrupted int             `json:"interrupted"`             // under way when the run ended
	Errors      map[Kind]int    `json:"errors,omitempty"`        // Failed by kind
	Examples    map[Kind]string `json:"errorExamples,omitempty"` // the first error of each kind

	SLOTTFT    float64  `json:"sloTTFT"`    // objective, ms; 0 is none
	SLOITL     float64  `json:"sloITL"`     // objective, ms; 0 is none
	Judged     int      `json:"judged"`     // Requests without interrupted ones of unknown outcome
	Met        int      `json:"met"`        // of Judged, within the objectives
	Attainment *float64 `json:"attainment"` // Met / Judged, ratio in [0, 1]; nil without a judged request

	TTFT    Distribution `json:"ttft"`    // of completed requests
	ITL     Distribution `json:"itl"`     // means of completed requests with two tokens or more
	Gaps    Distribution `json:"gaps"`    // between all successive events of all requests
	E2E     Distribution `json:"e2e"`     // of completed requests
	SendLag Distribution `json:"sendLag"` // of requests sent

	InputTokens  int     `json:"inputTokens"`           // of requests sent
	OutputTokens int     `json:"outputTokens"`          // received, failed requests included
	Duration     float64 `json:"durationSeconds"`       // from the start to the last answer
	Rate         float64 `json:"sentPerSecond"`         // Sent over the time in which requests became due; 0 for one request
	InputRate    float64 `json:"inputTokensPerSecond"`  // InputTokens / Duration
	OutputRate   float64 `json:"outputTokensPerSecond"` // OutputTokens / Duration
}

// Progress is the progress of a run.
type Progress struct {
	Elapsed    time.Duration
	Requests   int     // that became due so far
	InFlight   int     // under way now
	Completed  int     // so far
	Failed     int     // so far, NotSent included
	Attainment float64 // of the requests judged so far, ratio in [0, 1]; 0 when Judged is 0
	Judged     int     // so far
	Last       Interval
}

// Interval holds the counts since the previous Progress.
type Interval struct {
	Duration  time.Duration
	Rate      float64 // requests that became due, requests/s
	Completed int
	Failed    int
	Judged    int     // completed and failed
	Met       int     // of Judged, within the objectives
	TTFT      float64 // mean of the completed, ms; 0 when Completed is 0
	ITL       float64 // mean of the completed with two tokens or more, ms; 0 without one
}
