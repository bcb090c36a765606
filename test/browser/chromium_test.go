package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/browser/fixture"
)

// now is when the first cycle of every fixture decides.
var now = time.Date(2026, 11, 25, 14, 3, 20, 0, time.UTC)

// allocator is the one Chromium of all tests, each of which has a tab of its own.
var allocator context.Context

func TestMain(m *testing.M) {
	name, err := chromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if os.Getenv("WVA_BROWSER") == "required" {
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.WindowSize(1360, 900), chromedp.Flag("lang", "en-US"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "starting Chromium:", err)
		os.Exit(1)
	}
	allocator = ctx //nolint:fatcontext // every tab is derived from the one browser
	code := m.Run()
	end()
	stop()
	os.Exit(code)
}

// chromium returns the name of the browser: that of CHROMIUM, or one of the path.
func chromium() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: install it (Debian: apt-get install chromium), or name it by CHROMIUM")
}

// tab is one page that is looked at.
type tab struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []string
}

// look says how a page is looked at.
type look struct {
	width, height int64
	dark          bool
	scale         float64 // 0 is 1
	still         bool    // the clock of the page stands
}

// open opens an address in a new tab. At the end of the test the page may have had no error, no breach of
// its policy, and no request to another host.
func open(t *testing.T, s *fixture.Server, hash string, l look) *tab {
	t.Helper()
	return openAt(t, s.URL+"/"+hash, l)
}

// openAt is open for any server on this machine.
func openAt(t *testing.T, address string, l look) *tab {
	t.Helper()
	return openFor(t, address, l, time.Minute)
}

// openFor is openAt for a test that takes so long at most.
func openFor(t *testing.T, address string, l look, most time.Duration) *tab {
	t.Helper()
	b := opened(t, address, l, most)
	b.wait("document.querySelector('main') && !document.querySelector('main').hasAttribute('aria-busy')")
	return b
}

// openWaiting is openAt for a page that has nothing to show yet.
func openWaiting(t *testing.T, address string) *tab {
	t.Helper()
	return opened(t, address, look{}, time.Minute)
}

func opened(t *testing.T, address string, l look, most time.Duration) *tab {
	t.Helper()
	if allocator == nil {
		t.Skip("no Chromium")
	}
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	ctx, stop := context.WithTimeout(ctx, most)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx}
	home, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(event any) { b.watch(event, home.Host) }); err != nil {
		t.Fatal(err)
	}
	if l.width == 0 {
		l.width, l.height = 1360, 900
	}
	scheme := map[bool]string{true: "dark", false: "light"}[l.dark]
	command(b, log.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	command(b, network.Enable, network.EnableParams{})
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: max(1, l.scale)})
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	// The page's clock goes on from the fixture's.
	clock := fmt.Sprintf("Date.now = () => %d", now.Add(4*time.Second).UnixMilli())
	if !l.still {
		clock += " + performance.now()"
	}
	command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: clock})
	b.run(chromedp.Navigate(address))
	t.Cleanup(b.check)
	return b
}

// watch writes down what is wrong.
func (b *tab) watch(event any, home string) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = "exception: " + exception(e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			fault = "console: " + string(e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			fault = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	case *network.EventRequestWillBeSent:
		at, err := url.Parse(e.Request.URL)
		if err != nil || at.Host != home && at.Scheme != "data" {
			fault = "a request to another host: " + e.Request.URL
		}
	}
	if fault != "" {
		b.mu.Lock()
		b.faults = append(b.faults, fault)
		b.mu.Unlock()
	}
}

// check fails the test for what was wrong.
func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Error(f)
	}
}

// forgive leaves out faults that begin so: those that the test brought about.
func (b *tab) forgive(prefix string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = slices.DeleteFunc(b.faults, func(f string) bool { return strings.HasPrefix(f, prefix) })
}

// command sends one command of the protocol.
func command[P, R any](b *tab, c cdp.Command[P, R], parameters P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, c, parameters); err != nil {
		b.t.Fatalf("%s: %v", c.Method, err)
	}
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page says: %.2000s", err, b.saysNow())
	}
}

func (b *tab) saysNow() (text string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(b.ctx), 2*time.Second)
	defer stop()
	text, _ = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

// eval returns what an expression is; a promise is waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return do(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// do runs an action that has a result.
func do[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatalf("%v; the page says: %.2000s", err, b.saysNow())
	}
	return out
}

// wait waits until an expression holds.
func (b *tab) wait(expression string) {
	b.t.Helper()
	b.waitFor(expression, 15*time.Second)
}

// waitFor waits so long at most until an expression holds.
func (b *tab) waitFor(expression string, most time.Duration) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void]("!!("+expression+")", chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(most))); err != nil {
		b.t.Fatalf("waiting for %s: %v; the page says: %.2000s", expression, err, b.saysNow())
	}
}

// click clicks on the first element of a selector, at once, whatever the page draws anew.
func (b *tab) click(selector string) {
	b.t.Helper()
	eval[any](b, fmt.Sprintf("void document.querySelector(%q).click()", selector))
}

// shows waits until the page shows a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// press presses keys one after another: names of kb, or characters. As with a real keyboard, a key whose
// event the page takes enters no character.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		for _, r := range k {
			var down *input.DispatchKeyEventParams
			for _, e := range kb.Encode(r) {
				switch e.Type {
				case input.DispatchKeyEventTypeChar:
					down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, e.Text, e.UnmodifiedText
				case input.DispatchKeyEventTypeKeyUp:
					command(b, input.DispatchKeyEvent, *down)
					command(b, input.DispatchKeyEvent, *e)
				default:
					down = e
				}
			}
		}
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}
