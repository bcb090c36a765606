package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestPagesAreFilesAndNoFolders(t *testing.T) {
	s := quiet(t)
	mine := s.opened()
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/assets/app.js": "text/javascript; charset=utf-8", "/assets/app.css": "text/css; charset=utf-8",
		"/assets/": "", "/assets": "", "/assets/absent.js": "", "/index.html": "", "/assets/../index.html": "", "/assets/%2e%2e/index.html": "", "/assets//app.js": "",
	} {
		got := s.get(mine, path)
		if ok := got.StatusCode == http.StatusOK; ok != (want != "") || ok && got.Header.Get("Content-Type") != want {
			t.Errorf("%s answers %s with %s", path, got.Status, got.Header.Get("Content-Type"))
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	s := quiet(t)
	mine := s.opened()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/", "/assets/app.js", "/api/fleet", "/api/model", "/api/decision", "/api/replicas", "/api/events"} {
			if got := s.do(mine, method, path, "", "Origin", s.URL); got.StatusCode < 400 || got.StatusCode >= 500 {
				t.Errorf("%s %s answers %s", method, path, got.Status)
			}
		}
	}
	if got := s.get(mine, "/api/whatif"); got.StatusCode < 400 || got.StatusCode >= 500 {
		t.Errorf("GET /api/whatif answers %s", got.Status)
	}
}

func TestBadQuestionsSayWhatIsAccepted(t *testing.T) {
	s := quiet(t)
	mine := s.opened()
	for path, want := range map[string]string{
		"/api/model":                                         "want the parameters namespace and model",
		"/api/model?namespace=a":                             "want the parameters namespace and model",
		"/api/replicas?model=a":                              "want the parameters namespace and model",
		"/api/decision?name=a":                               "want the parameters namespace and name",
		"/api/model?namespace=a&model=b&from=yesterday":      `from "yesterday": want seconds since 1970`,
		"/api/model?namespace=a&model=b&to=NaN":              `to "NaN": want seconds since 1970`,
		"/api/model?namespace=a&model=b&from=-1":             `from "-1": want seconds since 1970`,
		"/api/model?namespace=a&model=b&from=1e300":          `from "1e300": want seconds since 1970`,
		"/api/replicas?namespace=a&model=b&from=10&to=10":    "from is not before to",
		"/api/model?namespace=a&model=b&from=99999999999999": `from "99999999999999": want seconds since 1970`,
	} {
		got := s.get(mine, path)
		var body struct{ Error string }
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.StatusCode != http.StatusBadRequest || body.Error != want {
			t.Errorf("%s answers %s: %s", path, got.Status, got.body)
		}
	}
}

func TestErrorsOfTheSourceHaveTheirStatus(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusNotFound: unknown("there is none"), http.StatusServiceUnavailable: notYet("not yet"), http.StatusBadGateway: fmt.Errorf("connection refused"),
	} {
		want := fmt.Sprintf(`{"error":"%v`, err)
		if status == http.StatusServiceUnavailable { // a browser writes a failure in its console, and this is none
			status, want = http.StatusOK, fmt.Sprintf(`{"notYet":"%v"}`, err)
		}
		s := served(t, &still{board: NewBoard(), err: err})
		mine := s.opened()
		for _, path := range []string{"/api/fleet", "/api/model?namespace=a&model=b", "/api/replicas?namespace=a&model=b", "/api/decision?namespace=a&name=b"} {
			if got := s.get(mine, path); got.StatusCode != status || !strings.Contains(got.body, want) {
				t.Errorf("%s answers %s: %s, want %d", path, got.Status, got.body, status)
			}
		}
	}
}

// payloads are texts that a page would run, if it took them for HTML, a script, a style or a link.
var payloads = []string{
	`<script>alert(1)</script>`, `"><script>alert(1)</script>`, `</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
	`<svg/onload=alert(1)>`, `<iframe srcdoc="<script>alert(1)</script>">`, `<body onload=alert(1)>`, `<a href="javascript:alert(1)">x</a>`,
	`javascript:alert(1)`, `'-alert(1)-'`, `"-alert(1)-"`, `${alert(1)}`, `{{constructor.constructor('alert(1)')()}}`,
	`<!--<script>`, `]]><script>alert(1)</script>`, `<style>@import 'http://evil.example'</style>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>`,
	"\u2028alert(1)\u2029", "\x00<script>alert(1)</script>", "<scr\nipt>alert(1)</scr\r\nipt>",
}

func TestPayloadsStayText(t *testing.T) {
	if len(payloads) < 20 {
		t.Fatalf("%d payloads, want 20", len(payloads))
	}
	at := time.Unix(1_764_000_000, 0).UTC()
	for _, p := range payloads {
		key := scaling.VariantKey{Namespace: "ns", Name: p}
		model := scaling.ModelKey{Namespace: "ns", ID: p}
		source := &still{board: NewBoard(), fleet: history.Fleet{
			Refused: []string{p}, Source: history.Source{Name: p, Trouble: p},
			Models: []history.Model{{Model: p, Troubles: []string{p}, Variants: []history.Variant{{Name: p, Accelerator: p, Reason: p, Troubles: []string{p}}}}},
		}, decision: Decided{Explained: true, WhyNot: p, Explanation: explain.Explanation{
			At: at, Cycle: scaling.CycleID(p), Variant: scaling.Variant{Key: key, Model: model, Accelerator: p, Missing: p},
			Snapshot: scaling.Snapshot{Model: model, Fault: p, Partial: p, Replicas: []scaling.ReplicaSample{{Pod: p, Variant: key}}},
		}}}
		source.model.Decisions = []history.Change{{Sentence: p}}
		source.replica.Replicas = []history.Replica{{Pod: p, Says: p}}
		source.board.Say(p)
		s := served(t, source)
		mine := s.opened()
		for _, path := range []string{"/api/fleet", "/api/model?namespace=a&model=b", "/api/replicas?namespace=a&model=b", "/api/decision?namespace=a&name=b"} {
			got := s.get(mine, path)
			if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s with %q answers %s as %s", path, p, got.Status, got.Header.Get("Content-Type"))
			}
			if strings.ContainsAny(got.body, "<>&\u2028\u2029\x00\n") || !json.Valid([]byte(got.body)) {
				t.Errorf("%s with %q holds a character that a page could take for its own: %s", path, p, got.body)
			}
			if p != "\x00<script>alert(1)</script>" && !strings.ContainsAny(p, "\n\u2028") && !holdsText(t, got.body, p) {
				t.Errorf("%s does not hold the text %q: %s", path, p, got.body)
			}
		}
		if got := s.get(mine, "/api/absent/"+strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", "\"", "%22").Replace("<script>")); strings.Contains(got.body, "<") {
			t.Errorf("an error holds the path as it is: %s", got.body)
		}
	}
}

// holdsText reports whether one of the strings of a JSON text is, or ends in, want.
func holdsText(t *testing.T, body, want string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return strings.Contains(v, want)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for _, one := range v {
				if in(one) {
					return true
				}
			}
		}
		return false
	}
	return in(v)
}
