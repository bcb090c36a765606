package scaling

import (
	"fmt"
	"time"
)

// Allow says which changes a freeze window allows. The zero value allows all.
type Allow string

// The values.
const (
	// AllowNone allows no change: the last decision holds.
	AllowNone Allow = "none"
	// AllowGrowth allows no reduction.
	AllowGrowth Allow = "growth"
)

// Freeze is the freeze window in force for a variant. The zero value is none.
type Freeze struct {
	Allow Allow `json:"allow"`
	// Window is the name of the window.
	Window string `json:"window"`
	// Until is when it ends, in the time zone of the window; zero if it never does.
	Until time.Time `json:"until,omitzero"`
}

// String says which window is in force and until when: `freeze window "weekend", until
// 2026-11-30 06:00 CET`.
func (f Freeze) String() string {
	if f.Until.IsZero() {
		return fmt.Sprintf("freeze window %q, which has no end", f.Window)
	}
	return fmt.Sprintf("freeze window %q, until %s", f.Window, f.Until.Format("2006-01-02 15:04 MST"))
}
