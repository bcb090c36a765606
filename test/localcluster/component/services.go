package component

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/services"
)

func runServices(args []string) int {
	flags := flag.NewFlagSet(Services, flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "path of a kubeconfig")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := services.Serve(ctx, services.Options{Kubeconfig: *kubeconfig, Logger: logger}); err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		return 1
	}
	return 0
}
