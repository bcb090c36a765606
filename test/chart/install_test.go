package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// install runs a script with programs in place of helm, kubectl and kind that
// write down how they were called. kubectl's context is CONTEXT and the cluster has
// DEFINITION, both of env. It returns those calls, with the paths of the
// checkout and of temporary files cut to their last part, and all that was said.
func install(t *testing.T, script string, env []string, args ...string) (calls []string, said string, err error) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	for _, program := range []string{"helm", "kubectl", "kind"} {
		text := "#!/bin/sh\nif [ \"$1\" = config ]; then echo $CONTEXT; test -n \"$CONTEXT\"; exit; fi\n" +
			"if [ \"$1\" = get ]; then echo $DEFINITION; exit; fi\necho " + program + " \"$@\" >> " + log + "\n"
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "deploy", script, "install.sh"), args...)
	cmd.Env = append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CONTEXT=here"}, env...)
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(log)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		for i, word := range words {
			switch {
			case strings.HasPrefix(filepath.Base(word), "tmp.") && words[i-1] == "--values": // of mktemp
				words[i] = "FILE"
			case strings.HasPrefix(word, "/"):
				words[i] = filepath.Base(word)
			}
		}
		calls = append(calls, strings.Join(words, " "))
	}
	return calls, string(out), err
}

func TestInstallScriptsDoWhatTheySay(t *testing.T) {
	const (
		definition = "kubectl apply --server-side --force-conflicts -f crds"
		folder     = "workload-variant-autoscaler" // of the chart
		upgrade    = "helm upgrade workload-variant-autoscaler " + folder + " --install --namespace workload-variant-autoscaler-system "
		create     = "--create-namespace"
		wait       = "kubectl rollout status deployment --namespace workload-variant-autoscaler-system --selector app.kubernetes.io/instance=workload-variant-autoscaler --timeout 5m"
	)
	for _, test := range []struct {
		name, script string
		env, args    []string
		want         []string
	}{
		{"installed", "kubernetes", nil, nil, []string{definition, upgrade + create, wait}},
		{"with further arguments", "kubernetes", nil, []string{"--values", "mine.yaml", "--", "--set", "a=b"}, []string{definition, upgrade + create + " --values mine.yaml --set a=b", wait}},
		{"elsewhere", "kubernetes", nil, []string{"--namespace", "n", "--release", "r"}, []string{definition, "helm upgrade r workload-variant-autoscaler --install --namespace n " + create, "kubectl rollout status deployment --namespace n --selector app.kubernetes.io/instance=r --timeout 5m"}},
		{"tried", "kubernetes", []string{"DEFINITION=there"}, []string{"--dry-run"}, []string{upgrade + "--dry-run=server"}},
		{"tried without the definition", "kubernetes", nil, []string{"--dry-run"}, []string{upgrade + "--dry-run=client"}},
		{"removed", "kubernetes", nil, []string{"--remove"}, []string{"helm uninstall workload-variant-autoscaler --namespace workload-variant-autoscaler-system"}},
		{"removal tried", "kubernetes", nil, []string{"--remove", "--dry-run"}, nil},
		{"on OpenShift", "openshift", nil, nil, []string{definition, upgrade + create + " --values openshift-values.yaml", wait}},
		{"in kind", "kind", nil, nil, []string{definition, upgrade + create + " --values kind-values.yaml", wait}},
		{"in kind with an image", "kind", []string{"IMG=r.io:5000/wva:dev", "CLUSTER=c"}, nil, []string{
			"kind load docker-image r.io:5000/wva:dev --name c", definition, upgrade + create + " --values kind-values.yaml --values FILE", wait,
		}},
		{"in kind with an archive", "kind", []string{"IMG=r.io:5000/wva:dev", "IMG_ARCHIVE=image.tar"}, nil, []string{
			"kind load image-archive image.tar --name kind", definition, upgrade + create + " --values kind-values.yaml --values FILE", wait,
		}},
		{"in kind, tried", "kind", []string{"IMG=r.io:5000/wva:dev", "DEFINITION=there"}, []string{"--dry-run"}, []string{upgrade + "--dry-run=server --values kind-values.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, said, err := install(t, test.script, test.env, test.args...)
			if err != nil {
				t.Fatalf("%s\n%s", err, said)
			}
			if diff := cmp.Diff(test.want, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstallScriptsRefuseWhatTheyDoNotKnow(t *testing.T) {
	for _, test := range []struct {
		name, script string
		env, args    []string
		want         string
	}{
		{"an argument", "kubernetes", nil, []string{"--dryrun"}, "unknown argument --dryrun (see --help)"},
		{"no value", "openshift", nil, []string{"--namespace"}, "--namespace needs a value"},
		{"no cluster", "kubernetes", []string{"CONTEXT="}, nil, "kubectl points to no cluster"},
		{"an archive without its name", "kind", []string{"IMG_ARCHIVE=image.tar"}, nil, "IMG_ARCHIVE is set and IMG is not"},
		{"an image without a tag", "kind", []string{"IMG=r.io:5000/wva"}, nil, "IMG is r.io:5000/wva; want repository:tag"},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, said, err := install(t, test.script, test.env, test.args...)
			if err == nil || !strings.Contains(said, test.want) || calls != nil {
				t.Errorf("got %v and calls %v, want %q and none:\n%s", err, calls, test.want, said)
			}
		})
	}
}
