package browser

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/browser/fixture"
)

// address is that of a page of the second model of a fixture, which is the one in trouble.
func address(s *fixture.Server, page string) string {
	m := s.Models()[1]
	return "#/" + page + "/" + url.PathEscape(m[0]) + "/" + url.PathEscape(m[1])
}

func TestAModelHasOneCursorOverAllCharts(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, address(s, "model"), look{})
	b.wait("document.querySelectorAll('.time figure').length >= 6")
	titles := eval[[]string](b, "[...document.querySelectorAll('.time figcaption')].map((f) => f.firstChild.textContent)")
	for _, want := range []string{"Load", "TTFT", "ITL", "Replicas", "Cost"} {
		if !strings.Contains(strings.Join(titles, " "), want) {
			t.Errorf("the charts are %v, want %s among them", titles, want)
		}
	}
	if got := eval[int](b, "[...document.querySelectorAll('.goalname')].filter((g) => g.textContent.startsWith('objective')).length"); got != 2 {
		t.Errorf("%d objectives are drawn, want those of TTFT and ITL", got)
	}
	b.press("c", kb.ArrowRight)
	const cursors = "[...document.querySelectorAll('.cursor')].map((c) => c.getAttribute('visibility') + c.getAttribute('x1'))"
	at := eval[[]string](b, cursors)
	for _, c := range at {
		if c != at[0] || !strings.HasPrefix(c, "visible") {
			t.Errorf("the cursors are at %v, want all at one time", at)
			break
		}
	}
	if got := eval[string](b, "document.getElementById('tip').innerText"); !strings.Contains(got, "TTFT") || !strings.Contains(got, "Ready of") {
		t.Errorf("the box at the cursor says %q", got)
	}
}

func TestTheRangeAndTheZoomAreInTheAddress(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, address(s, "model"), look{})
	b.wait("document.querySelector('.time figure')")
	b.press("1")
	b.wait("location.hash.endsWith('range=1h')")
	box := eval[[]float64](b, "(() => { const r = document.querySelector('.time figure svg').getBoundingClientRect(); return [r.left + r.width / 3, r.left + r.width / 2, r.top + 40]; })()")
	b.run(chromedp.DragAndDropXY(box[0], box[2], box[1], box[2]))
	b.wait("location.hash.includes('from=')")
	b.wait("document.querySelector('.spans .hint').innerText.includes(' to ')")
	b.run(chromedp.NavigateBack())
	b.wait("location.hash.endsWith('range=1h')")
	b.wait("document.querySelector('[aria-pressed=true]').innerText === '1 hour'")
}

// stored is a Prometheus that knows what was before the last three hours, or in that time.
func stored() *history.Before {
	return &history.Before{Source: "https://prometheus.example:9090", From: history.At(now.Add(-24 * time.Hour)), Until: history.At(now.Add(-3 * time.Hour)), Step: 60}
}

func TestWhatIsFromPrometheusIsMarked(t *testing.T) {
	s := fixture.New(t, fixture.Options{Variants: 20, Now: now, Before: stored()})
	b := open(t, s, address(s, "model"), look{})
	b.shows("is from Prometheus at https://prometheus.example:9090, a value every 1 min: replicas, load, ITL and cost")
	const ends = "[...document.querySelectorAll('.time figure')].map((f) => Number(f.querySelector('.elsewhere')?.getAttribute('width') ?? -1) / Number(f.querySelector('svg svg').getAttribute('width')))"
	for i, at := range eval[[]float64](b, ends) {
		if at < 0.45 || at > 0.55 {
			t.Errorf("in chart %d what is from Prometheus ends at %.2f of the 6 hours, want the middle", i, at)
		}
	}
	if got := eval[int](b, "[...document.querySelectorAll('.time svg text')].filter((e) => e.textContent === 'from Prometheus').length"); got != 1 {
		t.Errorf("it is written %d times on the charts, want once", got)
	}
	b.press("c", kb.Home)
	b.wait("document.getElementById('tip').innerText.includes('from Prometheus')")
	b.press(kb.End)
	b.wait("!document.getElementById('tip').innerText.includes('from Prometheus')")
	b.press("1")
	b.wait("location.hash.endsWith('range=1h') && !document.querySelector('.elsewhere') && !document.body.innerText.includes('is from Prometheus')")
}

func TestAPrometheusThatDoesNotAnswerIsSaidInOneLine(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *history.Before
		says []string
	}{
		{"it fails", &history.Before{Until: stored().Until, Source: "https://p", Trouble: "p:443: 403 Forbidden"}, []string{"History begins at", "Prometheus at https://p does not show the time before: p:443: 403 Forbidden."}},
		{"it is slow", &history.Before{Until: stored().Until, Source: "https://p", Pending: true}, []string{"History begins at", "Asking Prometheus at https://p for the time before"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.New(t, fixture.Options{Variants: 20, Now: now, Before: c.of})
			b := open(t, s, address(s, "model")+"?range=24h", look{})
			for _, text := range c.says {
				b.shows(text)
			}
			if eval[bool](b, "document.querySelector('.elsewhere') !== null") {
				t.Error("a part of the charts is marked as from Prometheus")
			}
		})
	}
}

func TestAManagerWithoutACycleIsWaitedFor(t *testing.T) {
	s := fleetOf(t, 20)
	s.Waiting("the manager has not answered yet")
	b := openWaiting(t, s.URL+"/"+address(s, "model"))
	b.shows("the manager has not answered yet")
	s.Waiting("")
	b.wait("document.querySelector('.time figure') && document.getElementById('banner').hidden")
}

func TestADecisionOpensFromItsMarkAndFromTheList(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, address(s, "model"), look{})
	b.wait("document.querySelector('.decisions a')")
	b.run(chromedp.Click[chromedp.CSS](".decisions a"))
	b.wait("location.hash.startsWith('#/decision/')")
	b.shows("Why not one fewer?")
	for _, section := range []string{"Input", "Analysis", "Plan", "Constraints", "Carried out"} {
		b.shows(section)
	}
	const how = "sum over the pods"
	if eval[bool](b, fmt.Sprintf("document.querySelector('.figure p').checkVisibility() || !document.body.textContent.includes(%q)", how)) {
		t.Error("how a number came to be is shown before it is asked for, or not at all")
	}
	b.run(chromedp.Click[chromedp.CSS](".figure summary"))
	b.shows(how)
	b.shows("It was 4 s old.")
	b.run(chromedp.NavigateBack())
	b.wait("document.querySelector('.leads')")
	eval[any](b, "document.querySelector('.leads').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
	b.wait("location.hash.startsWith('#/decision/')")
	b.shows("Why not one fewer?")
}

func TestReplicasSayWhereTheirTimeWent(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, address(s, "replicas"), look{})
	b.wait("document.querySelector('.replica')")
	b.shows("no node has a free MI300X")
	if got := eval[string](b, "[...document.querySelectorAll('.lane')].at(-1).getAttribute('aria-label')"); !strings.Contains(got, "Ready ") {
		t.Errorf("in words a bar is %q", got)
	}
	if got := eval[int](b, "new Set([...document.querySelectorAll('.lane rect')].map((r) => getComputedStyle(r).fill)).size"); got < 4 {
		t.Errorf("the phases have %d colours", got)
	}
	b.press("j", kb.Enter)
	b.shows("after the order")
	s.Advance()
	eval[any](b, "document.querySelector('.replica').was = true")
	b.wait("!document.querySelector('.replica').was")
	if !eval[bool](b, "document.activeElement.matches('.replica[open] summary')") {
		t.Errorf("the row that is open and has the focus loses one of them with the next cycle: %s", eval[string](b, "document.activeElement.outerHTML.slice(0, 200) + document.querySelectorAll('.replica[open]').length"))
	}
	b.run(chromedp.Click[chromedp.CSS](".replica[open] p a"))
	b.wait("location.hash.startsWith('#/decision/')")
}

func TestWhatIfDecidesAgainWhenASliderRests(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, address(s, "whatif"), look{})
	b.shows("decide otherwise")
	before := s.Asked("/api/whatif")
	eval[any](b, "const i = document.querySelector('input[type=range]'); i.focus()")
	for range 12 {
		b.press(kb.ArrowLeft)
	}
	b.wait("[...document.querySelectorAll('.totals dt')].some((d) => /difference \\(\\+\\d/.test(d.textContent))")
	if got := s.Asked("/api/whatif") - before; got > 6 {
		t.Errorf("%d questions for twelve steps of a slider, want those in which it rested", got)
	}
	b.shows("cost with these values")
	b.shows("Each recorded cycle was decided again")
	b.run(chromedp.Click[chromedp.CSS](".sliders button"))
	b.wait("[...document.querySelectorAll('.totals dt')].some((d) => d.textContent === 'difference (0 %)')")
}

func TestAModelThatIsNotThereIsSaid(t *testing.T) {
	b := open(t, fleetOf(t, 5), "#/model/nowhere/none", look{})
	b.shows("there is no model none in the namespace nowhere")
	b.forgive("log: Failed to load resource")
	b.press(kb.Escape)
	b.wait("location.hash === '#/'")
	eval[any](b, "location.hash = '#/nothing'")
	b.shows("There is no such page")
}

func TestARecordIsShownAsOne(t *testing.T) {
	s := fixture.New(t, fixture.Options{Variants: 5, Now: now, Record: "cycles.jsonl.gz"})
	b := open(t, s, "#/", look{})
	b.shows("Record cycles.jsonl.gz")
	s.Trouble("line 4117 of cycles.jsonl.gz is cut off: shown up to cycle k7hw2cxd-12")
	b.shows("line 4117")
}

func TestEveryPageFitsANarrowWindow(t *testing.T) {
	s := fleetOf(t, 20)
	b := open(t, s, "#/", look{width: 400, height: 800, dark: true})
	for _, page := range everyPage(b, s) {
		eval[any](b, fmt.Sprintf("location.hash = %q", page.hash))
		b.wait(page.ready)
		if got := eval[int](b, "document.documentElement.scrollWidth"); got > 400 {
			wide := eval[string](b, "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 401 && !e.closest('.wide')).map((e) => e.tagName + '.' + e.getAttribute('class')).slice(0, 5).join(' ')")
			t.Errorf("%s is %d px wide in a window of 400: %s", page.hash, got, wide)
		}
	}
}

// page is an address and what holds once its page is shown.
type pageOf struct{ hash, ready string }

// everyPage are the addresses of one page of each kind.
func everyPage(b *tab, s *fixture.Server) []pageOf {
	b.t.Helper()
	variant := eval[[]string](b, `fetch("/api/fleet").then((r) => r.json()).then((f) => { const m = f.models.find((m) => m.look === 3); return [m.variants[0].namespace, m.variants[0].name, f.cycle]; })`)
	decision := "#/decision/" + url.PathEscape(variant[0]) + "/" + url.PathEscape(variant[1]) + "/" + url.PathEscape(variant[2])
	return []pageOf{
		{"#/", "document.querySelector('.rows .row')"},
		{address(s, "model") + "?range=24h", "document.querySelector('.decisions a') && document.querySelector('.variants') && document.querySelector('.time figure')"},
		{decision, "document.querySelector('.verdict') && document.querySelector('.why h3')"},
		{address(s, "replicas"), "document.querySelector('.replica')"},
		{address(s, "whatif"), "document.querySelector('.time figure') && document.querySelector('.slider')"},
	}
}

// payloads are names and messages that try to be more than text.
var payloads = []string{
	`<script>wvaHacked = 1</script>`, `<img src=x onerror="wvaHacked = 1">`, `"><svg onload=wvaHacked=1>`, `'><body onload=wvaHacked=1>`,
	`<iframe src="javascript:parent.wvaHacked=1"></iframe>`, `<a href="javascript:wvaHacked=1">x</a>`, `javascript:wvaHacked=1`, `<style>*{display:none}</style>`,
	`<link rel=stylesheet href=//evil.example/x>`, `<base href=//evil.example/>`, `<form action=//evil.example><input name=x>`, `{{constructor.constructor('wvaHacked=1')()}}`,
	"${wvaHacked=1}`${wvaHacked=1}`", `</title><script>wvaHacked=1</script>`, `--><script>wvaHacked=1</script>`, `]]><script>wvaHacked=1</script>`,
	"\u202e\u2066x\u2028\u2029", `&lt;script&gt;&#60;script&#62;`, `#/model/a/b?from=1&to=2%00%`, `__proto__" onfocus=wvaHacked=1 autofocus="`,
}

// TestPayloadsAreShownAsText puts each payload into every text of every page.
func TestPayloadsAreShownAsText(t *testing.T) {
	if len(payloads) != 20 {
		t.Fatalf("%d payloads, want 20", len(payloads))
	}
	for i, payload := range payloads {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := fixture.New(t, fixture.Options{Variants: 7, Now: now, Payload: payload, Refused: []string{"a: "}, Before: stored()})
			b := open(t, s, "#/", look{})
			for _, page := range everyPage(b, s) {
				eval[any](b, fmt.Sprintf("location.hash = %q", page.hash))
				b.wait(page.ready)
				if page.hash == "#/" {
					b.run(chromedp.Click[chromedp.CSS](".filters button")) // variants too
				}
				shown := eval[bool](b, fmt.Sprintf("document.querySelector('main').textContent.includes(%s)", quoted(payload)))
				if !shown {
					t.Errorf("%s does not show the payload as text", page.hash)
				}
				if eval[bool](b, "'wvaHacked' in window || document.querySelector('main :is(script, img, iframe, form:not(.sliders), style, link, base, a[href^=javascript])') !== null") {
					t.Errorf("%s has markup of the payload", page.hash)
				}
				if got := eval[string](b, "document.title"); page.hash != "#/" && !strings.Contains(page.hash, "whatif") && got == "" {
					t.Errorf("%s has no title", page.hash)
				}
			}
		})
	}
}

// quoted is a text as JavaScript writes it.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r > 0xffff {
			panic("a payload beyond the basic plane")
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	b.WriteByte('"')
	return b.String()
}
