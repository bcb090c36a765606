package record

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// example is a case in testdata, with something replaced in it.
func example(t *testing.T, old, changed string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/case.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("the case has no %s", old)
	}
	return []byte(strings.Replace(string(text), old, changed, 1))
}

func TestDecodeNamesWhatIsWrongAndWhere(t *testing.T) {
	tests := map[string]struct{ old, changed, want string }{
		"unknown field": {
			`"variants":`, `"variant":`, `snapshots[0]: there is no field "variant"; the nearest is "variants"`,
		},
		"unknown field far from any": {
			`"desired": 2,`, `"x": 2,`,
			`history[0]: there is no field "x"; known are variant, target, model, desired, change, moveTo, moveCost, decidedAt, progressAt, gap, wholeAt, before, waits, counts, unplaced, podless, wants`,
		},
		"another case": {`"kvCacheUsage"`, `"KVCacheUsage"`, `snapshots[0].replicas[0]: there is no field "KVCacheUsage"; the nearest is "kvCacheUsage"`},
		"twice":        {`"now":`, `"now": "2026-11-20T11:00:00Z", "now":`, `field "now" is there twice`},
		"text for a number": {
			`"cost": 10`, `"cost": "10"`, `snapshots[0].variants[0].cost: want a number, found "10"`,
		},
		"fraction for a count": {
			`"current": 2`, `"current": 2.5`, `snapshots[0].variants[0].replicas.current: want a whole number, found 2.5`,
		},
		"number for a duration": {
			`"window": "1m0s"`, `"window": 60`, `snapshots[0].window: want a duration with its unit, such as "30s" or "5m", found 60`,
		},
		"no time": {`"now": "2026-11-20T12:00:00Z"`, `"now": "noon"`, `now: want a time such as "2006-01-02T15:04:05Z", found "noon"`},
		"no state": {
			`"arrivalRate": "notApplicable"`, `"arrivalRate": "none"`,
			`snapshots[0].load.arrivalRate: want one of absent, notApplicable, stale, aging, fresh, found "none"`,
		},
		"a list for a reading": {
			`"arrivalRate": "notApplicable"`, `"arrivalRate": []`,
			`snapshots[0].load.arrivalRate: want a number, a state (one of absent, notApplicable, stale, aging, fresh) or an object with value and state, found a list`,
		},
		"object for a list": {`"snapshots": [`, `"snapshots": {}, "x": [`, `snapshots: want a list, found an object`},
		"null":              {`"ready": true`, `"ready": null`, `snapshots[0].replicas[0].ready: want true or false, found null`},
		"no word": {
			`"costSource": "variantCost"`, `"costSource": "guess"`,
			`snapshots[0].variants[0].costSource: want one of variantCost, unitCost, found "guess"`,
		},
		"too large":       {`"cost": 10`, `"cost": 1e999`, `snapshots[0].variants[0].cost: want a number, found 1e999`},
		"another format":  {`"format": 1`, `"format": 2, "moon": 1`, `format: want 1, the format that this version reads, found 2`},
		"without now":     {`"now": "2026-11-20T12:00:00Z",`, ``, `now: is missing: the instant of the decision`},
		"without a model": {`"id": "meta/llama-3.1-8b"`, `"id": ""`, `configuration[demo/].model.id: is missing`},
		"negative count": {
			`"desired": 2,`, `"desired": -2,`, `history[demo/l40s].desired: want a number of replicas, 0 to 2147483647, found -2`,
		},
		"negative surplus": {
			`"current": 2`, `"surplus": -1, "current": 2`, `snapshots[0].variants[0].replicas.surplus: want a number of replicas, 0 to 2147483647, found -1`,
		},
		"negative number without a node": {
			`"desired": 2,`, `"desired": 2, "unplaced": {"replicas": -1},`, `history[demo/l40s].unplaced.replicas: want a number of replicas, 0 to 2147483647, found -1`,
		},
		"negative cost": {`"cost": 10`, `"cost": -1`, `snapshots[0].variants[0].cost: want 0 or more, found -1`},
		"negative threshold": {
			`"kvCacheThreshold": 0.8`, `"kvCacheThreshold": -0.8`,
			`configuration[demo/meta/llama-3.1-8b].saturation.kvCacheThreshold: want 0 or more, found -0.8`,
		},
		"unknown engine": {
			`"saturation": {"kvCacheThreshold"`, `"engine": "magic", "saturation": {"kvCacheThreshold"`,
			`configuration[demo/meta/llama-3.1-8b].engine: want saturation, queueing, hybrid, published, model, found "magic"`,
		},
		"percentile of all": {
			`"saturation": {"kvCacheThreshold"`, `"sizing": {"ttftPercentile": 1}, "saturation": {"kvCacheThreshold"`,
			`configuration[demo/meta/llama-3.1-8b].sizing.ttftPercentile: want a ratio from 0 to below 1, found 1`,
		},
		"threshold of nothing": {
			`"saturation": {"kvCacheThreshold"`, `"tokens": {"scaleUpThreshold": 0}, "saturation": {"kvCacheThreshold"`,
			`configuration[demo/meta/llama-3.1-8b].tokens.scaleUpThreshold: want more than 0, found 0`,
		},
		"negative retention": {
			`"pacing": {`, `"pacing": {"zero": {"enabled": true, "retention": "-1m0s"}, `,
			`configuration[demo/meta/llama-3.1-8b].pacing.zero.retention: want a period above 0, or 0 to leave the model alone, found -1m0s`,
		},
		"negative quota": {
			`"snapshots": [`, `"quotas": [{"namespace": "demo", "accelerator": "L40S", "gpus": -1}], "snapshots": [`,
			`quotas[0].gpus: want 0 or more, found -1`,
		},
		"strange replica": {
			`"pod": "l40s-1", "variant": {"namespace": "demo", "name": "l40s"}`, `"pod": "l40s-1", "variant": {"namespace": "demo", "name": "a100"}`,
			`snapshots[0].replicas[0].variant: demo/a100 is not among the variants of the snapshot`,
		},
		"no key of an entry": {
			`"model": {"namespace": "demo", "id": "meta/llama-3.1-8b"}, "saturation"`, `"saturation"`, `configuration[0]: model is missing: whose entry it is`,
		},
		"no object": {`{`, `7 {`, `want an object, found 7`},
		"no JSON":   {`"now":`, `now:`, `reading JSON: line 3, column 3: invalid character 'n'`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(example(t, tt.old, tt.changed))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestDecodeSaysWhereTheTextEndsTooEarly(t *testing.T) {
	text := example(t, "{", "{")
	for n := 1; n < len(strings.TrimSpace(string(text))); n += 17 {
		if _, err := Decode(text[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v, want an unexpected end", n, len(text), err)
		}
	}
	if _, err := Decode(append(text, `{"format":1}`...)); err == nil || !strings.Contains(err.Error(), "want one record, found an object after it") {
		t.Errorf("got %v of two records", err)
	}
}
