package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// labelOfKServe is the label by which the controller of KServe deletes VariantAutoscalings at its
// start.
const labelOfKServe, valueOfKServe = "app.kubernetes.io/part-of", "llminferenceservice"

// generated is what the controller of KServe generates for one service.
type generated struct {
	file, namespace string
	objects         []*unstructured.Unstructured
}

// kserve has what KServe generates decided on as it is, with nothing written to it.
func (s *stage) kserve(t *testing.T) {
	files, err := filepath.Glob("../../internal/discovery/testdata/kserve/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var all []generated
	s.written()
	for _, file := range files {
		g := readGenerated(t, file)
		all = append(all, g)
		s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}})
		for _, o := range g.objects {
			s.create(t, o)
		}
	}
	for _, g := range all {
		t.Run(g.file, func(t *testing.T) { s.served(t, g) })
	}
	s.settleWith(t, func(write string) { // what has been written on the way is looked at, too
		namespace, ours := strings.CutPrefix(write, "PUT /apis/llmd.ai/v1alpha1/namespaces/kserve-")
		if strings.Contains(write, "/namespaces/kserve-") && !strings.Contains(write, "/events") && (!ours || !strings.HasSuffix(namespace, "/status")) {
			t.Errorf("the manager wrote %s", write)
		}
	})
	for _, g := range all {
		for _, o := range g.objects {
			is := &unstructured.Unstructured{}
			is.SetGroupVersionKind(o.GroupVersionKind())
			if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(o), is); err != nil {
				t.Fatal(err)
			}
			if is.GetGeneration() != o.GetGeneration() {
				t.Errorf("%s: %s %s has changed", g.file, o.GetKind(), o.GetName())
			}
		}
	}
	var kept corev1.ConfigMapList
	err = s.client.List(t.Context(), &kept, client.InNamespace(systemNamespace), client.MatchingLabels{labelOfKServe: valueOfKServe})
	if err != nil || len(kept.Items) > 0 {
		t.Errorf("%d ConfigMaps of the manager have the label by which KServe deletes, %v", len(kept.Items), err)
	}
	t.Run("ItsUpgradeLeavesNoGap", s.kserveUpgrade)
}

func TestNothingThatIsShippedHasTheLabelByWhichKServeDeletes(t *testing.T) {
	for _, folder := range []string{"../../config", "../../charts", "../../deploy", "../../internal/store"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), valueOfKServe) {
				t.Errorf("%s has %s: KServe deletes VariantAutoscalings whose label %s it is", path, valueOfKServe, labelOfKServe)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// served checks what is said and published of the variants of one service.
func (s *stage) served(t *testing.T, g generated) {
	alone := strings.Contains(g.file, "decode-alone") // prefill has no scaler
	for _, scaler := range g.of("HorizontalPodAutoscaler", "ScaledObject") {
		target := text(scaler, "spec", "scaleTargetRef", "name")
		variant, byObject := scaler.GetName(), false
		for _, va := range g.of(v1alpha1.Kind) {
			if text(va, "spec", "scaleTargetRef", "name") == target {
				variant, byObject = va.GetName(), true
			}
		}
		var replicas int64
		for _, o := range g.of("Deployment", "LeaderWorkerSet") {
			if o.GetName() == target {
				replicas, _, _ = unstructured.NestedInt64(o.Object, "spec", "replicas")
			}
		}
		asks := asksFor(t, scaler)
		s.eventuallyOr(t, func() string {
			return fmt.Sprintf("%s %s reads %d replicas as %s; published are %v", scaler.GetKind(), scaler.GetName(), replicas, asks, s.desiredIn(t, g.namespace))
		}, func() bool { return s.desiredIn(t, g.namespace)[asks] == fmt.Sprint(replicas) })
		want := "replica"
		if alone {
			want = "which no variant of the model scales, the role prefill"
		}
		s.eventuallyOr(t, func() string {
			return fmt.Sprintf("wva explain %s says %q; it says %s", variant, want, s.explained(t, g.namespace, variant))
		}, func() bool { return strings.Contains(s.explained(t, g.namespace, variant), want) })
		switch {
		case byObject && alone:
			s.eventually(t, "the condition says that "+variant+" is held", func() bool {
				var va v1alpha1.VariantAutoscaling
				if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: g.namespace, Name: variant}, &va); err != nil {
					t.Fatal(err)
				}
				c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionOptimizationReady))
				return c != nil && c.Reason == string(v1alpha1.ReasonHeld) && strings.Contains(c.Message, want)
			})
		case !byObject:
			reason := ""
			if alone {
				reason = "Held"
			}
			s.eventuallyOr(t, func() string {
				return fmt.Sprintf("an event of %s says %q; there are %s", variant, want, s.eventsIn(t, g.namespace, scaler.GetKind()+" "+scaler.GetName(), ""))
			}, func() bool {
				return strings.Contains(s.eventsIn(t, g.namespace, scaler.GetKind()+" "+scaler.GetName(), reason), want)
			})
		}
	}
}

// kserveUpgrade has KServe delete its VariantAutoscaling, as it does once it has annotated its HPA:
// what the HPA reads is there all the time.
func (s *stage) kserveUpgrade(t *testing.T) {
	const namespace, asks = "kserve-upgrade-hpa", "chat-kserve-hpa"
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat-kserve-va"}}
	if err := s.client.Delete(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	looks := 0
	for end := time.Now().Add(time.Minute); s.desiredIn(t, namespace)["chat-kserve-va"] != ""; looks++ {
		if got := s.desiredIn(t, namespace)[asks]; got != "2" {
			t.Fatalf("at look %d the HPA reads %q, want 2 as before", looks, got)
		}
		if time.Now().After(end) {
			t.Fatal("the object that is gone is still published")
		}
	}
	if got := s.desiredIn(t, namespace)[asks]; got != "2" {
		t.Errorf("as a variant the HPA reads %q, want 2", got)
	}
	s.settle(t)
}

// readGenerated reads a file into a namespace of its own.
func readGenerated(t *testing.T, file string) generated {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".yaml")
	g := generated{file: name, namespace: "kserve-" + strings.ReplaceAll(name, ".", "-")}
	data = []byte(strings.NewReplacer("namespace: serving", "namespace: "+g.namespace, `namespace="serving"`, `namespace="`+g.namespace+`"`).Replace(string(data)))
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return g
		}
		o := &unstructured.Unstructured{}
		if err := errors.Join(err, yaml.Unmarshal(document, &o.Object)); err != nil {
			t.Fatal(file, err)
		}
		o.SetUID("")                          // the API server gives one
		if o.GetKind() == "LeaderWorkerSet" { // what its controller says of it
			o.Object["status"] = map[string]any{"hpaPodSelector": "leaderworkerset.sigs.k8s.io/name=" + o.GetName() + ",leaderworkerset.sigs.k8s.io/worker-index=0"}
		}
		g.objects = append(g.objects, o)
	}
}

// of returns the objects of some kinds.
func (g generated) of(kinds ...string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range g.objects {
		for _, kind := range kinds {
			if o.GetKind() == kind {
				out = append(out, o)
			}
		}
	}
	return out
}

func text(o *unstructured.Unstructured, path ...string) string {
	out, _, _ := unstructured.NestedString(o.Object, path...)
	return out
}

// asksFor returns the variant name by which a scaler of KServe reads its decision.
func asksFor(t *testing.T, scaler *unstructured.Unstructured) string {
	t.Helper()
	data, err := json.Marshal(scaler.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(strings.ReplaceAll(string(data), `\"`, `"`), "variant_name")
	name, _, ends := strings.Cut(strings.TrimLeft(after, `":=`), `"`)
	if !found || !ends {
		t.Fatalf("%s %s names no variant: %s", scaler.GetKind(), scaler.GetName(), data)
	}
	return name
}

// explained returns what wva explain prints of a variant, "" where there is nothing.
func (s *stage) explained(t *testing.T, namespace, name string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.debug+"/debug/decisions/"+namespace+"/"+name, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var e explain.Explanation
	if resp.StatusCode != http.StatusOK || json.NewDecoder(resp.Body).Decode(&e) != nil {
		return ""
	}
	return explain.Report(e, time.Now())
}

// desiredIn returns the published decisions of a namespace, by variant. Two of one variant, which
// are an error to KEDA, fail the test.
func (s *stage) desiredIn(t *testing.T, namespace string) map[string]string {
	t.Helper()
	return s.published(t, metrics.DesiredReplicas, namespace)
}

// published returns the values of a metric of variants in a namespace, by variant.
func (s *stage) published(t *testing.T, name, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range family(t, name) {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels[metrics.LabelNamespace] != namespace {
			continue
		}
		if _, twice := out[labels[metrics.LabelVariant]]; twice {
			t.Errorf("%s/%s has two series of %s", namespace, labels[metrics.LabelVariant], name)
		}
		out[labels[metrics.LabelVariant]] = fmt.Sprint(m.GetGauge().GetValue())
	}
	return out
}

// kindsOfKServe are the kinds that a cluster with KServe has: as far as a manager reads them.
func kindsOfKServe() []*apiextensionsv1.CustomResourceDefinition {
	anything := true
	define := func(group, version, kind string, scales bool) *apiextensionsv1.CustomResourceDefinition {
		plural := strings.ToLower(kind) + "s"
		out := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: &anything,
					}},
				}},
			},
		}
		if strings.HasSuffix(group, ".x-k8s.io") {
			out.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a part of it for a test"}
		}
		if scales {
			selector := ".status.hpaPodSelector"
			out.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
				SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: &selector,
			}}
		}
		return out
	}
	return []*apiextensionsv1.CustomResourceDefinition{
		define("keda.sh", "v1alpha1", "ScaledObject", false), define("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", true),
	}
}
