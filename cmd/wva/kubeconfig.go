package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// readKubeconfig reads the kubeconfig in a file, "" for that of KUBECONFIG or the home folder, and
// returns the namespace of its context.
func readKubeconfig(file string) (cluster *rest.Config, namespace string, err error) {
	if file == "" {
		if err := config.CheckKubeconfig(os.LookupEnv); err != nil {
			return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	cluster, err = loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", errors.New("no cluster is named: neither by --kubeconfig, nor by KUBECONFIG, nor in ~/.kube/config")
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return cluster, namespace, nil
}
