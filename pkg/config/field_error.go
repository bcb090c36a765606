package config

import "fmt"

// FieldError reports a value that is not accepted.
type FieldError struct {
	Key   string // path in the document, such as system.serverData.servers[2].class
	Value string // as found; strings in quotes
	Want  string // what is accepted
}

// Error returns a message with the field, the value and what is accepted.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %s is not accepted: want %s", e.Key, e.Value, e.Want)
}
