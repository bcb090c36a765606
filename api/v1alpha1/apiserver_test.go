package v1alpha1_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// TestOnAPIServer holds on a real API server what the tests beside it hold with
// its libraries, and what those cannot show. Its parts share one local cluster.
func TestOnAPIServer(t *testing.T) {
	c := &cluster{apitest.Start(t)}
	t.Run("ValidationExamples", c.validationExamples)
	t.Run("Manifests", c.manifests)
	t.Run("Spec", c.spec)
	t.Run("SpecDefaults", c.specDefaults)
	t.Run("Golden", c.golden)
	t.Run("Status", c.status)
	t.Run("PrinterColumns", c.printerColumns)
	t.Run("OlderDefinitions", c.older)
}

// cluster is a local cluster under test.
type cluster struct{ *testbed.Bed }

// kubectl runs a kubectl command in the root of the repository and returns what
// it wrote, errors last.
func (c *cluster) kubectl(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.State.Kubectl, args...)
	cmd.Dir, cmd.Env = c.Root, append(os.Environ(), "KUBECONFIG="+c.State.Kubeconfig)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// refusal returns what the server has against an object, "" for nothing.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// manifests applies every valid manifest as a user does. Strict: a field that
// the definition does not have is an error.
func (c *cluster) manifests(t *testing.T) {
	args := []string{"apply", "--validate=strict"}
	for _, name := range validManifests() {
		file, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", file)
		c.makeNamespace(t, parse(t, documents(t, name)[0]))
	}
	for _, what := range []string{"first time", "again"} {
		if out, err := c.kubectl(t, args...); err != nil {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
}

// makeNamespace makes the namespace that an object wants to be in.
func (c *cluster) makeNamespace(t *testing.T, obj map[string]any) {
	t.Helper()
	namespace, _, _ := unstructured.NestedString(obj, "metadata", "namespace")
	if namespace == "" {
		return
	}
	if err := c.Apply(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
}

// validationExamples runs the commands that the document shows and compares
// what they write; "..." stands for the rest of a line.
func (c *cluster) validationExamples(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(samples, "VALIDATION_EXAMPLES.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split(block, "$ kubectl ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			got, _ := c.kubectl(t, strings.Fields(command)...) // a refusal is among what is shown
			if !matches(got, want) {
				t.Errorf("kubectl %s\ngot:\n%s\nwant:\n%s", command, got, want)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Error("the document shows no command")
	}
}

// matches reports whether output is what was shown, line by line; spaces count
// as one.
func matches(got, want string) bool {
	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	g, w := lines(got), lines(want)
	return slices.EqualFunc(g, w, func(g, w string) bool {
		g, w = strings.Join(strings.Fields(g), " "), strings.Join(strings.Fields(w), " ")
		begin, open := strings.CutSuffix(w, "...")
		return g == w || open && strings.HasPrefix(g, begin)
	})
}

// spec holds every row of the contract's table of the spec, when an object is
// created and when it is changed.
func (c *cluster) spec(t *testing.T) {
	existing := &unstructured.Unstructured{Object: object(t, "existing", "")}
	if err := c.Client.Create(t.Context(), existing); err != nil {
		t.Fatal(err)
	}
	rows := statements()
	for _, field := range slices.Sorted(maps.Keys(rows)) {
		t.Run(field, func(t *testing.T) {
			for name, want := range rows[field] {
				t.Run(name, func(t *testing.T) {
					obj := &unstructured.Unstructured{Object: object(t, "new", want.spec)}
					want.check(t, refusal(c.Client.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))))

					obj = &unstructured.Unstructured{Object: object(t, "existing", want.spec)}
					obj.SetResourceVersion(existing.GetResourceVersion())
					want.check(t, refusal(c.Client.Update(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict"))))
				})
			}
		})
	}
	t.Run("bounds that one half of a change breaks", func(t *testing.T) {
		patch := func(spec string) string {
			raw := client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+spec+`}`))
			return refusal(c.Client.Patch(t.Context(), existing.DeepCopy(), raw))
		}
		statement{want: accepted}.check(t, patch(`{"minReplicas":2}`))
		statement{want: celOfBounds}.check(t, patch(`{"maxReplicas":1}`))
		statement{want: accepted}.check(t, patch(`{"minReplicas":1,"maxReplicas":1}`))
		statement{want: celOfBounds}.check(t, patch(`{"minReplicas":3}`))
	})
	t.Run("no model", func(t *testing.T) {
		obj := &unstructured.Unstructured{Object: object(t, "new", "")}
		unstructured.RemoveNestedField(obj.Object, "spec", "modelID")
		statement{want: "spec.modelID: Required"}.check(t, refusal(c.Client.Create(t.Context(), obj)))
	})
}

func (c *cluster) specDefaults(t *testing.T) {
	obj := &unstructured.Unstructured{Object: object(t, "defaults", "")}
	if err := c.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"modelID": "m", "variantCost": "10", "minReplicas": int64(0)}
	if diff := cmp.Diff(obj.Object["spec"], any(want)); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func (c *cluster) golden(t *testing.T) {
	for _, g := range goldenAdmissions(t) {
		obj := &unstructured.Unstructured{Object: object(t, "new", goldenSpec(t, g.Inputs))}
		errs := refusal(c.Client.Create(t.Context(), obj, client.DryRunAll))
		if (errs == "") != g.Expected.Accepted || !strings.Contains(errs, g.Expected.MessageContains) {
			t.Errorf("%s: %v: got %q, want accepted %v, %q", g.ID, g.Inputs, errs, g.Expected.Accepted, g.Expected.MessageContains)
		}
	}
}
