package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// chart packages the chart, with the version of the release and its image.
func (s source) chart(out string) (string, error) {
	folder := filepath.Join(s.root, "charts", "workload-variant-autoscaler")
	c, err := loader.LoadDir(folder)
	if err != nil {
		return "", fmt.Errorf("packaging %s: %w", folder, err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(s.version, "v"), s.version
	c.ModTime, c.SchemaModTime = s.at, s.at
	for _, files := range [][]*common.File{c.Templates, c.Files, c.Raw} {
		for _, f := range files {
			f.ModTime = s.at
		}
	}
	if err := c.Validate(); err != nil {
		return "", fmt.Errorf("packaging %s: %w", folder, err)
	}
	packaged, err := chartutil.Save(c, out)
	if err != nil {
		return "", fmt.Errorf("packaging %s: %w", folder, err)
	}
	return packaged, nil
}
