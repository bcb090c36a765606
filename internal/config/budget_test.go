package config

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

func TestEachLimitOfANamespaceHasASettingAndARange(t *testing.T) {
	parse := func(env map[string]string) (*Operator, error) {
		return Parse(nil, func(name string) (string, bool) { value, ok := env[name]; return value, ok }, io.Discard)
	}
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Budget.Limits != budget.DefaultLimits() {
		t.Errorf("by default %+v, want %+v", o.Budget.Limits, budget.DefaultLimits())
	}
	limits := o.Budget.limits()
	if len(limits) != len(budget.All()) {
		t.Errorf("%d settings, want one for each of %v", len(limits), budget.All())
	}
	for _, l := range limits {
		name := l.what.Setting()
		for _, value := range []int{l.least, l.most} {
			o, err := parse(map[string]string{name: strconv.Itoa(value)})
			if err != nil || o.Budget.Of(l.what) != value {
				t.Errorf("%s=%d: got %v, want it in force", name, value, err)
			}
		}
		for _, value := range []int{0, -1, l.least - 1, l.most + 1} {
			_, err := parse(map[string]string{name: strconv.Itoa(value)})
			var field *FieldError
			if !errors.As(err, &field) || field.Key != name || !strings.Contains(field.Want, strconv.Itoa(l.least)) {
				t.Errorf("%s=%d: got %v, want an error with the range", name, value, err)
			}
		}
	}
}
