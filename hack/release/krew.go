package main

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// downloads is the URL of the archives of releases.
const downloads = "https://github.com/llm-d-incubation/workload-variant-autoscaler/releases/download/"

// krew writes the manifest of the kubectl plugin (krew.googlecontainertools.github.com/v1alpha2).
func (s source) krew(path string, archives []archive) error {
	var platforms []map[string]any
	for _, a := range archives {
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": a.os, "arch": a.arch}},
			"uri":      downloads + s.version + "/" + a.name, "sha256": a.sum, "bin": "kubectl-wva",
			"files": []map[string]any{{"from": "wva", "to": "kubectl-wva"}, {"from": "LICENSE", "to": "."}},
		})
	}
	content, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]any{"name": "wva"},
		"spec": map[string]any{
			"version": s.version, "homepage": "https://github.com/llm-d-incubation/workload-variant-autoscaler",
			"shortDescription": "Explain and plan the autoscaling of LLM inference",
			"description": "Says why the Workload Variant Autoscaler decided what it decided, makes decisions\n" +
				"again from records, plans with queueing models, and simulates policies.\n",
			"platforms": platforms,
		},
	})
	if err != nil {
		return fmt.Errorf("writing the krew manifest: %w", err)
	}
	return writeFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
