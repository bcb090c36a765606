package scaling

// Pace is the speed of one replica, in means over the window. The zero value is unknown.
type Pace struct {
	Decoding float64 `json:"decoding,omitempty"` // requests that waited for their next token, >= 0
	ITL      float64 `json:"itl,omitempty"`      // ms from one token to the next, > 0 where Decoding is
	Started  float64 `json:"started,omitempty"`  // requests/s that got their first token, >= 0
	TTFT     float64 `json:"ttft,omitempty"`     // ms from the arrival at the engine, > 0 where Started is
}
