package emulator

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
)

// offer sends Poisson arrivals of about 200 tokens in and 200 out to one
// replica for ten minutes and returns the time average of its KV cache usage
// over the last eight, and how many requests wait at the end.
func offer(t *testing.T, profile serving.Profile, perSecond float64) (usage float64, waiting int) {
	t.Helper()
	r, err := serving.New(profile, serving.Options{Milestones: true})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	length := func() int { return max(1, int(40+160*rng.ExpFloat64())) }
	var events []serving.Event
	var now, next time.Duration
	samples := 0
	for id := uint64(1); now < 10*time.Minute; now += 100 * time.Millisecond {
		for next <= now {
			r.Submit(next, serving.Request{ID: id, InputTokens: length(), OutputTokens: length()})
			next += time.Duration(rng.ExpFloat64() / perSecond * 1e9)
			id++
		}
		events = r.Advance(now, events[:0])
		if now > 2*time.Minute {
			usage += r.Stats().KVUsage()
			samples++
		}
	}
	return usage / float64(samples), r.Stats().Waiting
}

// The demonstration needs one replica to be at ease at a low rate and saturated
// at a high one [requests/s].
func TestBuiltInProfilesSaturateWhereTheDemonstrationNeedsIt(t *testing.T) {
	profiles, err := BuiltInProfiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                string
		atEase, saturated   float64
		usageBelow, orAbove float64
	}{
		{"llama-8b-l40s", 3, 5.5, 0.6, 0.8},
		{"llama-8b-h100", 7.5, 13.5, 0.6, 0.8},
		{"llama-70b-a100", 1.2, 2.4, 0.6, 0.8},
	} {
		t.Run(c.name, func(t *testing.T) {
			if usage, waiting := offer(t, profiles[c.name], c.atEase); usage > c.usageBelow || waiting > 5 {
				t.Errorf("at %g/s: usage %.2f and %d waiting, want below %.2f and none", c.atEase, usage, waiting, c.usageBelow)
			}
			if usage, waiting := offer(t, profiles[c.name], c.saturated); usage < c.orAbove && waiting < 10 {
				t.Errorf("at %g/s: usage %.2f and %d waiting, want above %.2f or a queue", c.saturated, usage, waiting, c.orAbove)
			}
		})
	}
}

func TestProfilesOfAFileReplaceByName(t *testing.T) {
	built, err := BuiltInProfiles()
	if err != nil {
		t.Fatal(err)
	}
	const mine = `[{"name":"llama-8b-l40s","accelerator":"L40S","alphaMS":1,"betaMS":1,"gammaMS":1,"deltaMS":1,
		"maxBatchSize":1,"maxBatchedTokens":8,"kvCacheTokens":64,"blockSize":16,"maxModelLen":64}]`
	merged, err := built.With([]byte(mine))
	if err != nil || merged["llama-8b-l40s"].AlphaMS != 1 || len(merged) != len(built) {
		t.Errorf("got %+v, %v, want the profile replaced", merged, err)
	}
	if built["llama-8b-l40s"].AlphaMS == 1 {
		t.Error("the input was modified")
	}
	if _, err := built.With([]byte(strings.Replace(mine, `"betaMS":1`, `"betaMS":-1`, 1))); err == nil || !strings.Contains(err.Error(), "betaMS is -1") {
		t.Errorf("got %v, want betaMS named", err)
	}
}

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		text string
		want Version
	}{{"0.10", 10}, {"v0.20", 20}, {"0.11.2", 11}, {"0.9", 0}, {"0.33", 0}, {"1.0", 0}, {"20", 0}, {"", 0}} {
		if got, err := ParseVersion(c.text); got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%q: got %v, %v, want %d", c.text, got, err, c.want)
		}
	}
}
