package component

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/container"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/node"
)

// RunAs is the sub-command with which a pod's process begins: container.RunAs.
const RunAs = "run-as"

// runKubelet runs the kubelet of the node whose pods are processes of this machine.
func runKubelet(args []string) int {
	flags := flag.NewFlagSet(Kubelet, flag.ContinueOnError)
	o := node.Options{Runtime: container.Options{Images: container.Images{}}}
	flags.StringVar(&o.Name, "node", "", "name of the node")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "path of a kubeconfig")
	flags.StringVar(&o.Dir, "root-dir", "", "folder of the kubelet, absolute")
	flags.IntVar(&o.Port, "port", 0, "port of the kubelet's API")
	flags.StringVar(&o.CertFile, "tls-cert-file", "", "certificate to serve it with")
	flags.StringVar(&o.KeyFile, "tls-private-key-file", "", "its key")
	flags.StringVar(&o.ClientCA, "client-ca-file", "", "CA certificate of those who may call it")
	flags.Func("pod-cidr", "loopback addresses for pods", func(text string) (err error) {
		o.Runtime.Addresses, err = netip.ParsePrefix(text)
		return err
	})
	flags.Func("image", "what an image runs, `NAME=PROGRAM`; may be repeated", func(text string) error {
		name, program, err := container.ParseImage(text)
		if err == nil {
			o.Runtime.Images[name] = program
		}
		return err
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet: finding this binary:", err)
		return 1
	}
	o.Runtime.RunAs = []string{executable, RunAs}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := node.Serve(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		return 1
	}
	return 0
}
