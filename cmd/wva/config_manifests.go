package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
)

// manifests are the objects of some files, as far as they can be checked.
type manifests struct {
	configMaps []config.Source
	variants   []manifest
	others     int
	findings   []checkFinding // about documents that could not be read
}

// manifest is one object as written.
type manifest struct {
	file   string
	object map[string]any
}

// readManifests reads the documents of every file. It returns an error for a file that it cannot
// open. A fault within a file is a finding.
func readManifests(files []string, stdin io.Reader) (manifests, error) {
	var out manifests
	for _, file := range files {
		if err := out.readFile(file, stdin); err != nil {
			return manifests{}, fmt.Errorf("reading the manifests: %w", err)
		}
	}
	return out, nil
}

func (m *manifests) readFile(file string, stdin io.Reader) error {
	return eachDocument(file, stdin, func(at string, document []byte) error {
		m.readDocument(at, document)
		return nil
	})
}

// eachDocument calls do with each YAML document of a file, - for standard input, and its place.
func eachDocument(file string, stdin io.Reader, do func(at string, document []byte) error) error {
	from, name := stdin, "standard input"
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		from, name = opened, file
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(from))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := do(fmt.Sprintf("%s, document %d", name, n), document); err != nil {
			return err
		}
	}
}

func (m *manifests) readDocument(at string, document []byte) {
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		m.refuse(at, "is not YAML: "+oneLine(err))
		return
	}
	if bytes.Equal(asJSON, []byte("null")) {
		return // comments only
	}
	object := map[string]any{}
	// Whole numbers become integers in this package, as in the API server.
	if err := json.Unmarshal(asJSON, &object); err != nil {
		m.refuse(at, "is no object: "+oneLine(err))
		return
	}
	m.add(at, object)
}

func (m *manifests) refuse(at, message string) {
	m.findings = append(m.findings, checkFinding{Severity: config.Refused, File: at, Message: message})
}

// add sorts an object by its kind, and a list by its items.
func (m *manifests) add(at string, object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	items, isList := object["items"].([]any)
	switch {
	case kind == "" || apiVersion == "":
		m.refuse(at, "is no object of Kubernetes: want apiVersion and kind")
	case isList && strings.HasSuffix(kind, "List"):
		for i, item := range items {
			if object, ok := item.(map[string]any); ok {
				m.add(fmt.Sprintf("%s, item %d", at, i+1), object)
				continue
			}
			m.refuse(fmt.Sprintf("%s, item %d", at, i+1), "is no object")
		}
	case kind == "ConfigMap" && apiVersion == "v1":
		m.addConfigMap(at, object)
	case kind == v1alpha1.Kind && group == v1alpha1.GroupVersion.Group:
		if apiVersion != v1alpha1.GroupVersion.String() {
			m.refuse(at, fmt.Sprintf("has apiVersion %q: want %s", apiVersion, v1alpha1.GroupVersion))
			return
		}
		m.variants = append(m.variants, manifest{at, object})
	default:
		m.others++
	}
}

func (m *manifests) addConfigMap(at string, object map[string]any) {
	text, err := json.Marshal(object)
	if err != nil {
		m.refuse(at, "is not read: "+oneLine(err))
		return
	}
	var cm corev1.ConfigMap
	// YAML again would turn numbers into the text that is wanted, which the API server does not do.
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&cm); err != nil {
		m.refuse(at, "is no ConfigMap: "+oneLine(err)+"; values must be text, so quote numbers, true and false")
		return
	}
	if cm.Name == "" {
		m.refuse(at, "is a ConfigMap without metadata.name")
		return
	}
	m.configMaps = append(m.configMaps, config.Source{Namespace: cm.Namespace, Name: cm.Name, Data: cm.Data})
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
