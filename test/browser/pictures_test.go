package browser

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/browser/fixture"
)

var update = flag.Bool("update", false, "write the pictures of the documentation anew")

// TestPictures takes the pictures of the documentation: those that it names are there, and -update writes them.
func TestPictures(t *testing.T) {
	s := fixture.New(t, fixture.Options{Variants: 36, Now: now})
	type picture struct {
		name, hash string
		look       look
		settle     func(b *tab)
	}
	decision := func(b *tab) string {
		return eval[string](b, `fetch("/api/model?namespace=search&model=Qwen%2FQwen3-32B").then((r) => r.json()).then((m) => { const d = m.decisions.at(-1); return "#/decision/" + d.namespace + "/" + d.name + "/" + d.cycle; })`)
	}
	pictures := []picture{
		{"fleet", "#/", look{width: 1280, height: 760}, func(b *tab) {
			b.press("j", kb.ArrowRight)
			eval[any](b, "document.activeElement.blur()")
		}},
		{"model", address(s, "model"), look{width: 1280, height: 1130}, func(b *tab) {
			b.wait("document.querySelectorAll('.time figure').length > 5")
			b.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 421, 640))
		}},
		{"decision", "", look{width: 1280, height: 820}, func(b *tab) {
			b.wait("document.querySelector('.figure')")
			eval[any](b, "document.querySelector('.figure').open = true; document.activeElement.blur()")
		}},
		{"replicas", address(s, "replicas"), look{width: 1280, height: 620, dark: true}, func(b *tab) {
			b.wait("document.querySelector('.replica')")
		}},
		{"whatif", address(s, "whatif"), look{width: 1280, height: 760}, func(b *tab) {
			b.shows("decide otherwise")
			eval[any](b, "(() => { const i = document.querySelector('input[type=range]'); i.value = Math.log(190); i.dispatchEvent(new Event('input')); })()")
			b.wait("[...document.querySelectorAll('.totals dt')].some((d) => /difference \\(\\+\\d/.test(d.textContent))")
		}},
	}
	for _, p := range pictures {
		name := filepath.Join("..", "..", "docs", "images", "wva-dashboard-"+p.name+".png")
		if !*update {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%v: run make pictures", err)
			}
			continue
		}
		p.look.still, p.look.scale = true, 1.5
		b := open(t, s, "#/", p.look)
		if p.hash == "" {
			p.hash = decision(b)
		}
		eval[any](b, "location.hash = "+quoted(p.hash))
		p.settle(b)
		time.Sleep(300 * time.Millisecond) // transitions end
		if err := os.WriteFile(name, do(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
