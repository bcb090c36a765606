// Command localcluster is a Kubernetes control plane with fake GPU nodes, a node
// whose pods are processes of this machine, and a Prometheus, on the loopback
// interface and without containers.
//
// Usage:
//
//	localcluster up [--dir D] [--image NAME=PROGRAM]... [--hpa-downscale-stabilization 0s] [--feature-gates G=true,...] [--kubernetes FILE]
//	localcluster status [--dir D]
//	localcluster down [--dir D] [--keep-data]
//	localcluster forward --backend ADDRESS=READYURL... [--listen 127.0.0.1:0] [--address-file F]
//	localcluster run-as HOSTNAME PROGRAM [ARGUMENT]...
//	localcluster COMPONENT [flags]
//
// COMPONENT is etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok, prometheus,
// services, kubelet or kubectl; up starts all but kubectl, each as a process of its own. forward
// stands for a Service: it passes TCP connections on to the backends whose readiness URL answers
// 200. A pod's process begins as run-as. Called through a link named kubectl, the binary is
// kubectl.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/cluster"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/component"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/container"
)

// errUsage says that the command line is wrong and has been explained.
var errUsage = errors.New("usage")

func main() {
	os.Exit(run(os.Args))
}

func run(args []string) int {
	if filepath.Base(args[0]) == component.Kubectl {
		return component.Run(component.Kubectl, args[1:])
	}
	if len(args) < 2 {
		usage()
		return 2
	}
	if component.Known(args[1]) {
		return component.Run(args[1], args[2:])
	}
	if args[1] == component.RunAs {
		fmt.Fprintln(os.Stderr, "localcluster run-as:", container.RunAs(args[2:]))
		return 126 // as from a shell that cannot run a program that it found
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command(ctx, args[1], args[2:])
	switch {
	case errors.Is(err, errUsage):
		return 2
	case err != nil:
		fmt.Fprintf(os.Stderr, "localcluster %s: %v\n", args[1], err)
		return 1
	}
	return 0
}

// command runs the sub-commands that manage the processes of a cluster, and forward.
func command(ctx context.Context, name string, args []string) error {
	if name == "forward" {
		return forwardConnections(ctx, args)
	}
	flags := flag.NewFlagSet("localcluster "+name, flag.ContinueOnError)
	dir := flags.String("dir", ".local", "folder of the cluster")
	switch name {
	case "up":
		stabilization := flags.Duration("hpa-downscale-stabilization", 0, "for how long an autoscaler without a behavior waits before it scales down")
		gates := flags.String("feature-gates", "", "feature gates of Kubernetes' own parts, such as HPAScaleToZero=true")
		kubernetes := flags.String("kubernetes", "", "`program` whose kube-apiserver, kube-controller-manager and kube-scheduler run instead of those of this one")
		var images []string
		flags.Func("image", "what pods run whose image has that name, `NAME=PROGRAM`; may be repeated", func(text string) error {
			name, program, err := container.ParseImage(text)
			images = append(images, name+"="+program)
			return err
		})
		if err := parse(flags, args); err != nil {
			return err
		}
		executable, err := executable()
		if err != nil {
			return err
		}
		if *kubernetes != "" {
			if *kubernetes, err = filepath.Abs(*kubernetes); err != nil {
				return fmt.Errorf("resolving --kubernetes: %w", err)
			}
		}
		return cluster.Up(ctx, cluster.UpOptions{
			Dir: *dir, Executable: executable, DownscaleStabilization: *stabilization, FeatureGates: *gates, Kubernetes: *kubernetes, Images: images, Out: os.Stdout,
		})
	case "down":
		keep := flags.Bool("keep-data", false, "keep what the cluster stored, for a later up")
		if err := parse(flags, args); err != nil {
			return err
		}
		return cluster.Down(ctx, cluster.DownOptions{Dir: *dir, KeepData: *keep, Out: os.Stdout})
	case "status":
		if err := parse(flags, args); err != nil {
			return err
		}
		return cluster.Status(ctx, *dir, os.Stdout)
	}
	usage()
	return errUsage
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return errUsage // the flag set has printed the reason
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "unknown argument:", strings.Join(flags.Args(), " "))
		return errUsage
	}
	return nil
}

// executable returns the path of this binary, with links resolved: a link may be named kubectl.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this binary: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("resolving this binary: %w", err)
	}
	return path, nil
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: localcluster up|down|status [--dir D] [flags]\n       localcluster forward --backend ADDRESS=READYURL... [flags]\n       localcluster %s [flags]\n",
		strings.Join(component.Names(), "|"))
}
