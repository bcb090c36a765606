package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard/web"
)

// dashboardFlags are the flags of "wva dashboard".
type dashboardFlags struct {
	managerFlags
	store   reportStore
	records []string
	port    int
	noOpen  bool

	pages fs.FS
	open  func(link string) error // in a browser
}

func newDashboardCommand() *cobra.Command {
	f := dashboardFlags{pages: web.Assets(), open: openBrowser}
	command := &cobra.Command{
		Use:   "dashboard",
		Short: "See the fleet in a browser: load, replicas, cost, and why each decision is what it is",
		Long: `Dashboard serves pages on this machine, to one browser: every model with what needs
a look first, each over time, its replicas from the decision to their end, each
decision with its steps and why it is not another one, and what other settings would
have decided.

It asks the manager that leads, as "wva explain" does: through a port that it
forwards, with the credentials of the kubeconfig. It shows what you may read: the
whole fleet, else each namespace in which you may get variantautoscalings, or those
that -n names; the page says which could not be read. When the manager restarts or
another one leads, the page says so and goes on by itself.

The manager remembers a day, since it started. What was before is read from
--prometheus, the Prometheus that scrapes the manager: replicas, load, ITL and cost
of a model, without the reasons of decisions. A page says what is from there. Without
it, the one of the manager's configuration is asked by way of the API server.

--record shows files of recorded cycles (--record-file of the manager) instead,
without a cluster. Name FILE.1 before FILE. What was recorded up to a line that
cannot be read is shown, and the line is named.

The pages are on 127.0.0.1 and ::1 only, and open by a link with a token that works
once. They load nothing from elsewhere. Ctrl-C ends them.`,
		Example: `  wva dashboard
  wva dashboard -n team-a,team-b --no-open
  wva dashboard --prometheus https://prometheus:9090
  wva dashboard --record cycles.jsonl.1 cycles.jsonl`,
		RunE: func(command *cobra.Command, args []string) error {
			return f.run(command.Context(), console.Visible(command.OutOrStdout()), console.Visible(command.ErrOrStderr()), args, command.Flags().Changed)
		},
	}
	flags := command.Flags()
	f.registerManager(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespaces to show, separated by commas (default: all that you may read)")
	flags.StringVar(&f.store.url, "prometheus", os.Getenv("PROMETHEUS_BASE_URL"), "`URL` of the Prometheus that scrapes the manager, for the time before the manager started (default: PROMETHEUS_BASE_URL, else that of the manager's configuration)")
	f.store.registerAccess(flags)
	flags.StringArrayVar(&f.records, "record", nil, "`file` of recorded cycles; further files are arguments")
	flags.IntVar(&f.port, "port", 0, "port on 127.0.0.1 and ::1 (default: one that is free)")
	flags.BoolVar(&f.noOpen, "no-open", false, "print the link and open no browser")
	return command
}

func (f *dashboardFlags) run(ctx context.Context, out, warnings io.Writer, args []string, changed func(string) bool) error {
	files := append(slices.Clone(f.records), args...)
	if err := f.check(files, args, changed); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	source, err := f.source(ctx, files)
	if err != nil {
		return err
	}
	listeners, err := dashboard.Listen(ctx, f.port)
	if err != nil {
		return err
	}
	at := listeners[0].Addr().(*net.TCPAddr)
	warn := func(sentence string) { fmt.Fprintln(warnings, "wva:", sentence) }
	server := dashboard.New(dashboard.Options{Source: source, Assets: f.pages, Port: fmt.Sprint(at.Port), Warn: warn})
	link := fmt.Sprintf("http://%s/?token=%s", at, url.QueryEscape(server.Token()))
	fmt.Fprintf(out, "%s\nThe link works once, in the browser that opens it first. Ctrl-C ends the dashboard.\n", link)
	if !f.noOpen {
		if err := f.open(link); err != nil {
			fmt.Fprintf(out, "No browser was opened (%v): open the link yourself.\n", err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return source.Run(ctx) })
	group.Go(func() error { return server.Serve(ctx, listeners) })
	group.Go(func() error { tellTroubles(ctx, source.Board(), warn); return nil })
	return group.Wait()
}

// check returns an error for wrong flags.
func (f *dashboardFlags) check(files, args []string, changed func(string) bool) error {
	switch {
	case f.port < 0 || f.port > 65535:
		return fmt.Errorf("--port %d: want 1 to 65535, or 0 for one that is free", f.port)
	case len(f.records) == 0 && len(args) > 0:
		return fmt.Errorf("dashboard takes no arguments without --record, have %q", args)
	case slices.Contains(files, "-"):
		return errors.New("--record -: want a file, since cycles are read again when a page asks for them")
	}
	if len(files) == 0 {
		return f.store.check(changed)
	}
	if changed("prometheus") {
		return errors.New("--record and --prometheus: want one of them")
	}
	if err := (&reportStore{simulateStore{access: f.store.access}}).check(changed); err != nil {
		return err
	}
	for _, name := range []string{"namespace", "manager", "manager-ca", "kubeconfig", "system-namespace", "leader-election-id"} {
		if changed(name) {
			return fmt.Errorf("--record and --%s: want one of them", name)
		}
	}
	return nil
}

// source returns the source of the pages.
func (f *dashboardFlags) source(ctx context.Context, files []string) (dashboard.Source, error) {
	if len(files) > 0 {
		for _, name := range files {
			if _, err := os.Stat(name); err != nil {
				return nil, fmt.Errorf("opening the record: %w", err)
			}
		}
		return dashboard.NewRecorded(files, time.Now), nil
	}
	return f.live(ctx)
}

// tellTroubles writes the troubles of a source until ctx ends.
func tellTroubles(ctx context.Context, board *dashboard.Board, warn func(string)) {
	told := ""
	for {
		_, trouble, news := board.Read()
		if trouble != told {
			if told = trouble; trouble == "" {
				warn("resolved")
			} else {
				warn(trouble)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

// openBrowser opens a link in the browser of the user.
func openBrowser(link string) error {
	opener := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		opener = []string{"open"}
	case "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display")
		}
	}
	command := exec.Command(opener[0], append(opener[1:], link)...)
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }() // the user sees whether it works
	return nil
}

// named returns the namespaces that -n names.
func (f *dashboardFlags) named() []string {
	var out []string
	for name := range strings.SplitSeq(f.namespace, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
