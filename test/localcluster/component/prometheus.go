package component

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/localcluster/monitor"
)

func runPrometheus(args []string) int {
	flags := flag.NewFlagSet(Prometheus, flag.ContinueOnError)
	var o monitor.Options
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:9090", "address to serve on")
	flags.StringVar(&o.ConfigFile, "config", "prometheus.yml", "configuration file")
	flags.StringVar(&o.DataDir, "data-dir", "data", "folder of the time series database")
	flags.DurationVar(&o.Retention, "retention", 24*time.Hour, "how long samples are kept")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := monitor.Serve(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		return 1
	}
	return 0
}
