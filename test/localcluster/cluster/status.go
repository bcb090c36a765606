package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
)

// ErrNotRunning says that a cluster, or a component of it, does not run.
var ErrNotRunning = errors.New("not everything is running")

// Status writes the state of each process of the cluster in dir. The error wraps ErrNotRunning
// unless all of them run and the API server answers.
func Status(ctx context.Context, dir string, out io.Writer) error {
	l, err := newLayout(dir)
	if err != nil {
		return err
	}
	state, err := Load(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no cluster in %s", ErrNotRunning, l.dir)
	}
	if err != nil {
		return err
	}
	if state.Network == "" {
		return fmt.Errorf("%w: the cluster in %s is of an earlier version: end it with down", ErrNotRunning, l.dir)
	}
	problem := error(nil)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPID\tSTATE\tMEMORY")
	total := 0
	for _, s := range specs(l, state, settings{}) {
		p, recorded := state.process(s.name)
		if !recorded || !p.alive() {
			problem = fmt.Errorf("%w: %s", ErrNotRunning, s.name)
			fmt.Fprintf(table, "%s\t-\tended\t-\n", s.name)
			continue
		}
		resident := memory(p.PID)
		total += resident
		fmt.Fprintf(table, "%s\t%d\trunning\t%d MiB\n", p.Name, p.PID, resident>>20)
	}
	fmt.Fprintf(table, "all\t\t\t%d MiB\n", total>>20)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if problem != nil {
		return problem
	}
	c, err := newClient(l, state.APIServer)
	if err != nil {
		return err
	}
	if err := nodesReady(ctx, c); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	fmt.Fprintf(out, "\nkubeconfig  %s\nAPI server  %s\nPrometheus  %s\n", state.Kubeconfig, state.APIServer, state.Prometheus)
	return nil
}
