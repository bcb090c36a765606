package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// explainFlags are the flags of "wva explain".
type explainFlags struct {
	kubeconfig, namespace string
	manager, caFile       string
	output                string
}

func newExplainCommand() *cobra.Command {
	var f explainFlags
	command := &cobra.Command{
		Use:   "explain VA",
		Short: "Say why a VariantAutoscaling has the replicas that it has",
		Long: `Explain prints the steps of the last decision for a VariantAutoscaling, what
blocks growth or reduction, and the age of what was known.

It asks the manager that leads, at the address given by --manager or WVA_MANAGER
(its authenticated metrics port), with the credentials of the kubeconfig. Where
the manager cannot be reached, it prints what the object's status and events
hold, and says so.

The exit status is 0 when the decision was explained by the manager, 1 when only
status and events could be shown, or nothing.`,
		Example: "  wva explain llama-8b-l40s -n demo --manager https://127.0.0.1:8443",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: explain takes the name of one VariantAutoscaling, have %q", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			return f.run(command.Context(), command.OutOrStdout(), command.ErrOrStderr(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else the usual place)")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: that of the kubeconfig's context)")
	flags.StringVar(&f.manager, "manager", os.Getenv("WVA_MANAGER"), "base URL of the manager's metrics port (default: WVA_MANAGER)")
	flags.StringVar(&f.caFile, "manager-ca", "", "file with the CA of the manager's certificate (default: the cluster's CA)")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	return command
}

func (f explainFlags) run(ctx context.Context, out, warnings io.Writer, name string) error {
	if f.output != "table" && f.output != "json" {
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	if f.kubeconfig == "" {
		if err := config.CheckKubeconfig(os.LookupEnv); err != nil {
			return fmt.Errorf("reading the kubeconfig: %w", err)
		}
	}
	restConfig, err := loader.ClientConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if f.namespace == "" {
		if f.namespace, _, err = loader.Namespace(); err != nil {
			return fmt.Errorf("reading the kubeconfig: %w", err)
		}
	}
	e, err := f.ask(ctx, restConfig, name)
	if err == nil {
		return f.print(out, e)
	}
	fmt.Fprintf(warnings, "wva: %v\nwva: what follows is from the object's status and events, and may be old\n", err)
	if err := fromStatus(ctx, out, restConfig, client.ObjectKey{Namespace: f.namespace, Name: name}); err != nil {
		return err
	}
	return errFinding
}

func (f explainFlags) print(out io.Writer, e explain.Explanation) error {
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	_, err := io.WriteString(out, explain.Report(e, time.Now()))
	return err
}

// ask gets the explanation from the manager.
func (f explainFlags) ask(ctx context.Context, config *rest.Config, name string) (explain.Explanation, error) {
	var e explain.Explanation
	if f.manager == "" {
		return e, errors.New("no manager to ask: give its address with --manager or WVA_MANAGER")
	}
	roots, err := f.roots(config)
	if err != nil {
		return e, err
	}
	const patience = 10 * time.Second
	httpClient := &http.Client{Timeout: patience, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	url := strings.TrimSuffix(f.manager, "/") + "/debug/decisions/" + f.namespace + "/" + name
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	if config.BearerToken != "" {
		req.Header.Set("Authorization", "Bearer "+config.BearerToken)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return e, fmt.Errorf("asking the manager: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return e, fmt.Errorf("asking the manager: %s: %.300s", resp.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("reading the manager's answer: %w", err)
	}
	return e, nil
}

// roots returns the CAs that the manager's certificate may be signed by.
func (f explainFlags) roots(config *rest.Config) (*x509.CertPool, error) {
	pem := config.CAData
	file := f.caFile
	if file == "" && len(pem) == 0 {
		file = config.CAFile
	}
	if file != "" {
		var err error
		if pem, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the manager's CA: %w", err)
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(pem)
	return roots, nil
}

// fromStatus prints what the API server holds of the last decision.
func fromStatus(ctx context.Context, out io.Writer, config *rest.Config, key client.ObjectKey) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	var va v1alpha1.VariantAutoscaling
	if err := c.Get(ctx, key, &va); err != nil {
		return fmt.Errorf("reading VariantAutoscaling %s: %w", key, err)
	}
	fmt.Fprintf(out, "%s: %s\n", key, va.Spec.ModelID)
	if d := va.Status.DesiredOptimizedAlloc; d != nil {
		fmt.Fprintf(out, "  decision   %d replicas", d.NumReplicas)
		if u := d.LastUpdate; u != nil && u.UpdateTime != nil {
			fmt.Fprintf(out, ", since %s: %s", u.UpdateTime.Format(time.RFC3339), u.Reason)
		}
		fmt.Fprintln(out)
	}
	for _, condition := range va.Status.Conditions {
		fmt.Fprintf(out, "  %-26s %-6s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	var events corev1.EventList
	if err := c.List(ctx, &events, client.InNamespace(key.Namespace), client.MatchingFields{"involvedObject.name": key.Name, "involvedObject.kind": "VariantAutoscaling"}); err != nil {
		return fmt.Errorf("listing events of %s: %w", key, err)
	}
	for _, e := range events.Items {
		fmt.Fprintf(out, "  event      %s %s: %s\n", lastSeen(e).Format(time.RFC3339), e.Reason, e.Message)
	}
	return nil
}

// lastSeen returns when an event last happened, in whichever of the two events
// APIs it was told.
func lastSeen(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
