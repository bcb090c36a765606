package component

import (
	"os"

	"github.com/spf13/cobra"
	// Client authentication plugins of kubectl.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	// The metrics of client-go and the version metric, on /metrics of each part.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func runAPIServer(args []string) int { return runCommand(apiserver.NewAPIServerCommand(), args) }

func runControllerManager(args []string) int {
	return runCommand(controllermanager.NewControllerManagerCommand(), args)
}

func runScheduler(args []string) int { return runCommand(scheduler.NewSchedulerCommand(), args) }

func runCommand(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}

// runKubectl is the main function of kubectl. It reads os.Args, ends the process
// itself after most errors, and leaves a plugin's exit code alone.
func runKubectl() int {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) // an absent or wrong -v is reported by the command
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}
