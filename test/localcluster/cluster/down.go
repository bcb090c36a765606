package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// DownOptions say which cluster Down ends.
type DownOptions struct {
	Dir      string    // the cluster's folder
	KeepData bool      // keep what the cluster stored, for a later Up
	Out      io.Writer // progress, for a person to read
}

// Down ends the recorded processes of the cluster in a folder and waits for them, then removes the
// files that Up made there, except for bin. A folder without a cluster is a success.
func Down(ctx context.Context, o DownOptions) error {
	l, err := newLayout(o.Dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(l.path(stateFile)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(o.Out, "there is no cluster in", l.dir)
		return nil
	}
	unlock, err := lock(ctx, l, o.Out)
	if err != nil {
		return err
	}
	defer unlock()
	state, err := loadOrNew(l)
	if err != nil {
		return err
	}
	if err := stop(ctx, state.Processes, o.Out); err != nil {
		return err
	}
	if o.KeepData {
		state.Processes = []Process{}
		if err := state.save(l); err != nil {
			return err
		}
		fmt.Fprintln(o.Out, "the cluster is down; its data are kept")
		return nil
	}
	if err := remove(l, state); err != nil {
		return err
	}
	fmt.Fprintln(o.Out, "the cluster is down")
	return nil
}

// remove removes the cluster's files; the state last, so that an interrupted removal can be
// repeated.
func remove(l layout, state *State) error {
	for _, name := range []string{"data", "pki", "prometheus", "kubeconfig"} {
		if err := os.RemoveAll(l.path(name)); err != nil {
			return fmt.Errorf("removing the cluster's files: %w", err)
		}
	}
	if state.Network == "" { // of an earlier version; only the names of specs are used
		state.Network = chooseNetwork()
	}
	// Other programs may keep their logs in the same folder.
	for _, s := range specs(l, state, settings{}) {
		if err := os.Remove(l.log(s.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the log of %s: %w", s.name, err)
		}
	}
	_ = os.Remove(l.path("log")) // refused while there are other logs in it
	if err := os.Remove(l.path(stateFile)); err != nil {
		return fmt.Errorf("removing the state: %w", err)
	}
	return nil
}
