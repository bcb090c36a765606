// Command wva is the command line of the Workload Variant Autoscaler: it
// explains decisions, shows a fleet in a browser, approves reductions, names what
// keeps them from being carried out, shows what was learned of the speed of
// replicas, makes decisions again from records, plans with queueing models and
// solvers, simulates policies, checks configuration, moves an older installation
// over, emulates a serving fleet and drives load against one.
// Installed as kubectl-wva it is a kubectl plugin.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/version"
)

// errFinding is returned by a command that succeeded and reported a finding. The process exits with
// 1 and prints nothing more.
var errFinding = errors.New("finding")

// errUsage marks bad usage: the process exits with 2.
var errUsage = errors.New("usage")

// noArguments refuses arguments.
func noArguments(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %s takes no arguments, have %q", errUsage, command.Name(), args)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

// exitCode prints err unless it has been reported already. It returns the process's exit status: 0
// success, 1 a finding or a failure, 2 bad usage.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFinding):
		return 1
	}
	fmt.Fprintln(console.Visible(os.Stderr), "wva:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "wva",
		Short:         "Workload Variant Autoscaler: replicas of LLM serving variants, decided and explained",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // so that an unknown command comes to RunE
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(command, args[0])
			}
			return command.Help()
		},
	}
	root.SetVersionTemplate("wva {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newExplainCommand())
	root.AddCommand(newDashboardCommand())
	root.AddCommand(newDoctorCommand())
	root.AddCommand(newApproveCommand())
	root.AddCommand(newProfileCommand())
	root.AddCommand(newStoreCommand())
	root.AddCommand(newQueueCommand())
	root.AddCommand(newPlanCommand())
	root.AddCommand(newDecideCommand())
	root.AddCommand(newReplayCommand())
	root.AddCommand(newReportCommand())
	root.AddCommand(newConfigCommand())
	root.AddCommand(newMigrateCommand())
	root.AddCommand(newLoadCommand())
	root.AddCommand(newEmulateCommand())
	root.AddCommand(newSimulateCommand())
	return root
}
