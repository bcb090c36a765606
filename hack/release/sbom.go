package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom writes the list of the modules linked into a program, from its build information: not all
// that go.mod names.
func (s source) sbom(program, name, path string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("listing the modules of %s: %w", name, err)
	}
	purl := func(module, version string) string { return "pkg:golang/" + module + "@" + version }
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: s.at.Format(time.RFC3339), Component: &cdx.Component{
		BOMRef: purl(info.Main.Path, s.version), Type: cdx.ComponentTypeApplication, Name: name, Version: s.version, PackageURL: purl(info.Main.Path, s.version),
		Properties: &[]cdx.Property{{Name: "commit", Value: s.commit}, {Name: "go", Value: info.GoVersion}},
	}}
	components := []cdx.Component{{
		BOMRef: purl("std", info.GoVersion), Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: purl("std", info.GoVersion),
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, cdx.Component{
			BOMRef: purl(m.Path, m.Version), Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version),
		})
	}
	bom.Components = &components
	return writeFile(path, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
