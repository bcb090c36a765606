// Command manager is the controller of the Workload Variant Autoscaler: it
// decides, every few seconds, how many replicas each variant of each model
// should run, publishes that for HPA and KEDA, and says why.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no authorities of a system
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/logging"
)

func main() {
	switch err := run(ctrl.SetupSignalHandler()); {
	case err == nil, errors.Is(err, config.ErrAnswered):
	default:
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	operator, err := config.Parse(os.Args[1:], os.LookupEnv, os.Stdout)
	if err != nil {
		return err
	}
	if err := config.CheckKubeconfig(os.LookupEnv); err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	level, err := logging.NewLevel(operator.LogLevel)
	if err != nil {
		return err
	}
	log := logging.New(os.Stderr, level)
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("kubernetes"))
	for _, warning := range operator.Warnings() {
		log.Info("a setting does not do what one might think", "reason", warning)
	}
	kube, err := newConnection(operator)
	if err != nil {
		return err
	}
	m, err := assemble(ctx, environment{operator: operator, kube: kube, log: log, level: level})
	if err != nil {
		return err
	}
	return m.Start(logr.NewContext(ctx, log))
}
