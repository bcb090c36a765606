package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInventoryIsReadFromTheEnvironment(t *testing.T) {
	o, err := parse(t, map[string]string{"WVA_NODE_SELECTOR": "pool in (a,b),!spot", "GPU_VENDORS": " example.com, ,example.org"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.Inventory.NodeSelector, "pool in (a,b),!spot"; got != want {
		t.Errorf("selector %q, want %q", got, want)
	}
	if diff := cmp.Diff(o.Inventory.Domains(), []string{"example.com", "example.org"}); diff != "" {
		t.Errorf("domains, -got +want:\n%s", diff)
	}
}

func TestInventoryThatNothingCanBeCountedByIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        FieldError
	}{
		{"WVA_NODE_SELECTOR", "a in b", FieldError{"WVA_NODE_SELECTOR", "a in b", "a label selector, such as pool=serving"}},
		{"GPU_VENDORS", "example.com,Example", FieldError{"GPU_VENDORS", "example.com,Example", "domains with commas between them, such as example.com,example.org"}},
		{"GPU_VENDORS", "example.com/gpu", FieldError{"GPU_VENDORS", "example.com/gpu", "domains with commas between them, such as example.com,example.org"}},
	} {
		_, err := parse(t, map[string]string{tt.name: tt.value})
		var got *FieldError
		if !errors.As(err, &got) || *got != tt.want {
			t.Errorf("%s=%s: got %v, want %v", tt.name, tt.value, err, &tt.want)
		}
	}
}
