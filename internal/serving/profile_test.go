package serving

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestValidateNamesTheFieldItsValueAndTheRange(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Profile)
		want string
	}{
		{"no name", func(p *Profile) { p.Name = " " }, `name is " ", want a non-empty text`},
		{"no accelerator", func(p *Profile) { p.Accelerator = "" }, `accelerator is "", want a non-empty text`},
		{"no decode time", func(p *Profile) { p.AlphaMS = 0 }, "alphaMS is 0, want ms in (0, 1e6]: a step takes time"},
		{"negative", func(p *Profile) { p.DeltaMS = -0.5 }, "deltaMS is -0.5, want ms in [0, 1e6]"},
		{"not a number", func(p *Profile) { p.BetaMS = math.NaN() }, "betaMS is NaN, want ms in [0, 1e6]"},
		{"infinite", func(p *Profile) { p.GammaMS = math.Inf(1) }, "gammaMS is +Inf, want ms in [0, 1e6]"},
		{"negative floor", func(p *Profile) { p.PrefillFloorMS = -1 }, "prefillFloorMS is -1, want ms in [0, 1e6]"},
		{"no batch", func(p *Profile) { p.MaxBatchSize = 0 }, "maxBatchSize is 0, want an integer in [1, 65536]"},
		{"budget below the batch", func(p *Profile) { p.MaxBatchedTokens = 63 }, "maxBatchedTokens is 63, want an integer in [64, 1073741824]"},
		{"cache below a block", func(p *Profile) { p.KVCacheTokens = 15 }, "kvCacheTokens is 15, want an integer in [16, 1073741824]"},
		{"negative queue", func(p *Profile) { p.MaxQueue = -1 }, "maxQueue is -1, want an integer in [0, 1073741824]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testProfile()
			c.edit(&p)
			err := p.Validate()
			var field *FieldError
			if !errors.As(err, &field) || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := New(p, Options{}); !errors.As(err, &field) {
				t.Errorf("New: got %v, want a *FieldError", err)
			}
		})
	}
}

func TestParseProfiles(t *testing.T) {
	const good = `{"name":"a","accelerator":"L40S","alphaMS":1,"betaMS":1,"gammaMS":1,"deltaMS":1,
		"maxBatchSize":1,"maxBatchedTokens":8,"kvCacheTokens":64,"blockSize":16,"maxModelLen":64}`
	for _, c := range []struct{ name, text, want string }{
		{"good", "[" + good + "]", ""},
		{"not JSON", "{", "parsing profiles: "},
		{"unknown field", `[{"alpha":1}]`, `unknown field "alpha"`},
		{"invalid", "[" + strings.Replace(good, `"betaMS":1`, `"betaMS":-1`, 1) + "]", `profile 0 "a": betaMS is -1`},
		{"twice", "[" + good + "," + good + "]", `profile 1: name is "a", want a name not used before`},
		{"text after", "[" + good + "] []", "text after the array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			profiles, err := ParseProfiles([]byte(c.text))
			if c.want == "" {
				if err != nil || len(profiles) != 1 || profiles[0].MaxModelLen != 64 {
					t.Errorf("got %+v, %v, want one profile", profiles, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func FuzzParseProfiles(f *testing.F) {
	f.Add([]byte(`[{"name":"a","accelerator":"b","alphaMS":1e-3,"maxBatchSize":1,"maxBatchedTokens":1,"kvCacheTokens":1,"blockSize":1,"maxModelLen":2}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		profiles, err := ParseProfiles(data)
		if err != nil {
			return
		}
		for _, p := range profiles {
			if _, err := New(p, Options{}); err != nil {
				t.Errorf("parsed, but New says %v", err)
			}
		}
	})
}
