package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var live = flag.Bool("live", false, "drive wva dashboard against the demonstration of make run and against managers that are killed, nine minutes at most")

// TestTheDemonstrationIsSeen runs the demonstration with the page open: growth and reduction appear within
// two cycles of their decision, a fault stands where no scrolling is needed, and a decision opens with its
// reason.
func TestTheDemonstrationIsSeen(t *testing.T) {
	if !*live {
		t.Skip("the demonstration runs with -live alone")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	demo := started(t, nil, filepath.Join(root, ".local", "bin", "demo"), "--root", root, "--duration", "8m")
	kubeconfig := demo.says(`KUBECONFIG=(\S+)`)
	manager := demo.says(`--manager (https://\S+)`)
	demo.says(`(?s)(HPA sync period)`)
	dashboard := started(t, []string{"KUBECONFIG=" + kubeconfig}, filepath.Join(root, "bin", "wva"), "dashboard", "--no-open", "--manager", manager)
	b := openFor(t, dashboard.says(`(http://127\.0\.0\.1:\d+/\?token=\S+)`), look{}, 7*time.Minute)
	eval[any](b, `(async () => {
		Date.now = () => new Date().getTime();
		window.seen = [];
		const shown = new Map();
		const look = () => {
			for (const row of document.querySelectorAll(".rows .level2")) {
				const name = row.querySelector(".c-name a").textContent, n = Number(row.querySelector(".c-desired a").textContent.replace(/[^0-9]/g, "") || NaN);
				if (shown.has(name) && shown.get(name) !== n) seen.push({ name, from: shown.get(name), to: n, at: new Date().getTime() / 1000 });
				shown.set(name, n);
			}
		};
		setInterval(() => { if (document.querySelector(".filters button")?.textContent === "Unfold all" && document.querySelector(".rows .row")) document.querySelector(".filters button").click(); look(); }, 100);
	})()`)
	b.waitFor("window.seen.some((c) => c.to > c.from)", 4*time.Minute)
	b.waitFor("window.seen.some((c) => c.to < c.from)", 5*time.Minute)
	type change struct {
		Name     string
		From, To int
		At       float64
	}
	changes := eval[[]change](b, "window.seen")
	decided := eval[[]struct {
		Name string
		To   int
		T    float64
	}](b, `fetch("/api/fleet").then((r) => r.json()).then((f) => Promise.all(f.models.map((m) => fetch("/api/model?" + new URLSearchParams({ namespace: m.namespace, model: m.model })).then((r) => r.json())))).then((all) => all.flatMap((m) => m.decisions.map((d) => ({ Name: d.name, To: d.to, T: d.t }))))`)
	interval := eval[float64](b, `fetch("/api/fleet").then((r) => r.json()).then((f) => f.interval)`)
	found := 0
	for _, c := range changes {
		for _, d := range decided {
			if d.Name == c.Name && d.To == c.To && d.T <= c.At && c.At-d.T < 2*interval {
				t.Logf("%s %d -> %d was decided and is on the page %.1f s later; cycles are %.0f s apart", c.Name, c.From, c.To, c.At-d.T, interval)
				found++
				break
			}
		}
	}
	if found < len(changes) {
		t.Errorf("%d of %d changes appear within two cycles of their decision: %v, decided %v", found, len(changes), changes, decided)
	}
	// One of the faults of docs/reference/plumbing-faults.md: the HPA reads another metric.
	kubectl := exec.CommandContext(t.Context(), filepath.Join(root, ".local", "bin", "kubectl"), "--kubeconfig", kubeconfig, "-n", "demo", "patch", "hpa", "llama-70b-a100",
		"--type", "json", "-p", `[{"op":"replace","path":"/spec/metrics/0/external/metric/name","value":"another"}]`)
	if out, err := kubectl.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const seen = `[...document.querySelectorAll(".rows .level1")].some((row) => {
		const at = row.getBoundingClientRect();
		return row.textContent.includes("does not read the decision") && at.top >= 0 && at.bottom <= window.innerHeight;
	})`
	b.waitFor("window.scrollY === 0 && "+seen, time.Minute)
	b.click(".rows .level1 .c-name a")
	b.wait("document.querySelector('.decisions a')")
	b.click(".decisions a")
	b.wait("document.querySelector('.verdict')?.innerText.length > 20 && document.querySelectorAll('.step').length >= 4")
	t.Logf("the decision says: %s", eval[string](b, "document.querySelector('.verdict').innerText"))
}

// program is one that runs, and what it has printed.
type program struct {
	t     *testing.T
	name  string
	lines chan string
	said  strings.Builder
}

// started starts a program that ends with the test, as by Ctrl-C.
func started(t *testing.T, env []string, name string, args ...string) *program {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	command.Env = append(os.Environ(), env...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v: run make demo build localcluster", err)
	}
	p := &program{t: t, name: filepath.Base(name), lines: make(chan string, 1000)}
	go func() {
		defer close(p.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			select {
			case p.lines <- scan.Text():
			default: // what nothing waits for is lost
			}
		}
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	return p
}

// says waits until the program prints what an expression matches, and returns its first group.
func (p *program) says(expression string) string {
	p.t.Helper()
	want := regexp.MustCompile(expression)
	limit := time.After(4 * time.Minute)
	for {
		if found := want.FindStringSubmatch(p.said.String()); found != nil {
			return found[1]
		}
		select {
		case line, more := <-p.lines:
			if !more {
				p.t.Fatalf("%s ended without %s:\n%s", p.name, expression, p.said.String())
			}
			fmt.Fprintln(&p.said, line)
		case <-limit:
			p.t.Fatalf("%s does not print %s:\n%s", p.name, expression, p.said.String())
		}
	}
}
