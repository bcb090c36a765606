package policy

import (
	"errors"
	"testing"
)

// FuzzParams makes policies with any parameters: a policy or an error
// that says what is wrong, and its defaults are accepted as they are described.
func FuzzParams(f *testing.F) {
	all := Catalogue()
	for i, d := range all {
		for _, p := range d.Params {
			for _, value := range []string{p.Default, "", "-1", "NaN", "Inf", "1e308", "9223372036854775807", "2562047h", "0s"} {
				f.Add(i, p.Name, value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, i int, name, value string) {
		d := all[uint(i)%uint(len(all))]
		made, err := ByName(d.Name, map[string]string{name: value})
		if (made == nil) == (err == nil) {
			t.Fatalf("%s with %s=%q: %v and %v", d.Name, name, value, made, err)
		}
		known := false
		for _, p := range d.Params {
			known = known || p.Name == name
			if p.Name == name && p.Default == value && err != nil {
				t.Fatalf("%s refuses its own default %s=%q: %v", d.Name, name, value, err)
			}
		}
		var unknown *UnknownParamError
		if errors.As(err, &unknown) == known {
			t.Fatalf("%s knows %s: %t, and says %v", d.Name, name, known, err)
		}
	})
}
