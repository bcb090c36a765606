package config

import (
	"errors"
	"io"
	"testing"
)

func TestRecordingIsBounded(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"PROMETHEUS_BASE_URL": "https://prometheus", "RECORD_FILE": "/records/cycles.jsonl"}[name]
		return value, ok
	}
	o, err := Parse(nil, env, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Recording{File: "/records/cycles.jsonl", MaxBytes: 268_435_456}); o.Recording != want {
		t.Errorf("got %+v, want %+v", o.Recording, want)
	}
	tests := map[string]string{ // the value, and what of it is not accepted
		"1048576": "", "1048575": "1048575", "0": "0", "-1": "-1", "1099511627776": "", "1099511627777": "1099511627777",
	}
	for value, refused := range tests {
		_, err := Parse([]string{"--record-max-bytes", value}, env, io.Discard)
		field, isField := errors.AsType[*FieldError](err)
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s: %v, want no error", value, err)
		case refused != "" && (!isField || field.Key != "RECORD_MAX_BYTES" || field.Value != refused):
			t.Errorf("%s: got %v, want that it is refused", value, err)
		}
	}
}
