// Command kubernetes is the control plane of another release of Kubernetes than the
// one that localcluster is built with: the API server, the controller manager and
// the scheduler, in one program.
//
// Usage:
//
//	kubernetes COMPONENT [flags]
//
// COMPONENT is kube-apiserver, kube-controller-manager or kube-scheduler; the flags
// are its own. "localcluster up --kubernetes FILE" starts the three from FILE and all
// else from itself. The module that this program is built in says which release it is.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	_ "unsafe" // for the go:linkname below

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	// The metrics of client-go and the version metric, on /metrics of each part.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	os.Exit(run(os.Args))
}

func run(args []string) int {
	if len(args) < 2 {
		usage()
		return 2
	}
	var command *cobra.Command
	switch args[1] {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	default:
		usage()
		return 2
	}
	if err := reportVersion(); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		return 1
	}
	command.SetArgs(args[2:])
	return cli.Run(command)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kubernetes kube-apiserver|kube-controller-manager|kube-scheduler [flags]")
}

// gitVersion is the version that the parts of Kubernetes report. Its release
// builds set it with a linker flag; setting it here keeps a plain "go build" right.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// reportVersion makes the parts report the version of the module
// k8s.io/kubernetes that they were built from.
func reportVersion() error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return fmt.Errorf("reading the build information of the program: there is none")
	}
	for _, module := range build.Deps {
		if module.Path == "k8s.io/kubernetes" {
			gitVersion = module.Version
			return version.SetDynamicVersion(module.Version)
		}
	}
	return fmt.Errorf("reading the build information of the program: k8s.io/kubernetes is not in it")
}
