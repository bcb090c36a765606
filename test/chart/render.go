package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Release is the release for which a chart is rendered.
type Release struct {
	Name, Namespace string
	// Kubernetes is the version of the cluster, "" for v1.37.0.
	Kubernetes string
	// Cluster is where the chart looks up installed objects; nil for none, as in helm template.
	Cluster *rest.Config
	// Upgrade says that the release exists already.
	Upgrade bool
}

// Output is the result of rendering a chart.
type Output struct {
	Objects []*unstructured.Unstructured // by template, in the order of its text
	Notes   string
}

// Render renders a chart as helm install would: it merges values with the defaults, checks them
// against the schema, and gives them to the templates.
func Render(chart *v2.Chart, values map[string]any, release Release) (*Output, error) {
	files, err := execute(chart, values, release, checked)
	if err != nil {
		return nil, err
	}
	out := &Output{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" {
			out.Notes = files[name]
			continue
		}
		objects, err := decode(files[name])
		if err != nil {
			return nil, fmt.Errorf("reading what %s makes: %w\n%s", name, err, files[name])
		}
		out.Objects = append(out.Objects, objects...)
	}
	return out, nil
}

// check says whether values are first checked against the schema, which takes as long as all the
// rest.
type check bool

const (
	checked   check = true
	unchecked check = false
)

// execute returns the text of each rendered template of a chart.
func execute(chart *v2.Chart, values map[string]any, release Release, against check) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	version := release.Kubernetes
	if version == "" {
		version = "v1.37.0"
	}
	kubernetes, err := common.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("rendering for Kubernetes %s: %w", version, err)
	}
	capabilities.KubeVersion = *kubernetes
	if release.Cluster != nil {
		if capabilities.APIVersions, err = servedVersions(release.Cluster); err != nil {
			return nil, err
		}
	}
	options := common.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: !release.Upgrade, IsUpgrade: release.Upgrade}
	merged, err := util.ToRenderValuesWithSchemaValidation(chart, values, options, capabilities, against == unchecked)
	if err != nil {
		return nil, err
	}
	if release.Cluster == nil {
		return engine.Render(chart, merged)
	}
	return engine.RenderWithClient(chart, merged, release.Cluster)
}

// servedVersions returns the versions of the API that a cluster serves.
func servedVersions(cluster *rest.Config) (common.VersionSet, error) {
	c, err := discovery.NewDiscoveryClientForConfig(cluster)
	if err != nil {
		return nil, err
	}
	groups, resources, err := c.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // as Helm: what does not answer has no kinds
		return nil, fmt.Errorf("asking which versions of the API are served: %w", err)
	}
	versions := map[string]bool{}
	for _, group := range groups {
		for _, version := range group.Versions {
			versions[version.GroupVersion] = true
		}
	}
	for _, list := range resources {
		for _, resource := range list.APIResources {
			versions[list.GroupVersion+"/"+resource.Kind] = true
		}
	}
	return slices.Sorted(maps.Keys(versions)), nil
}

// decode returns the objects of a text with YAML documents.
func decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		var content map[string]any
		switch err := decoder.Decode(&content); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(content) > 0:
			objects = append(objects, &unstructured.Unstructured{Object: content})
		}
	}
}

// Identity returns the kind, namespace and name of an object.
func Identity(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
}
