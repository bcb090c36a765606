package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// readChart reads the chart and sets its version to that of the release, which is also the tag of
// the image that it pulls.
func (s source) readChart() (*v2.Chart, error) {
	folder := filepath.Join(s.root, "charts", "workload-variant-autoscaler")
	c, err := loader.LoadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading the chart %s: %w", folder, err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(s.version, "v"), s.version
	c.ModTime, c.SchemaModTime = s.at, s.at
	for _, files := range [][]*common.File{c.Templates, c.Files, c.Raw} {
		for _, f := range files {
			f.ModTime = s.at
		}
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("reading the chart %s: %w", folder, err)
	}
	return c, nil
}

// imageOfChart returns the image that a chart pulls by default.
func imageOfChart(c *v2.Chart) (string, error) {
	values, err := common.Values(c.Values).Table("controller.image")
	if err != nil {
		return "", fmt.Errorf("looking for controller.image in the values of the chart: %w", err)
	}
	repository, ok := values["repository"].(string)
	if !ok || repository == "" {
		return "", fmt.Errorf("looking for controller.image.repository in the values of the chart: found %v, want a name", values["repository"])
	}
	return repository + ":" + c.Metadata.AppVersion, nil
}

// writeChart packages a chart into a folder.
func writeChart(c *v2.Chart, out string) error {
	if _, err := chartutil.Save(c, out); err != nil {
		return fmt.Errorf("packaging the chart: %w", err)
	}
	return nil
}
