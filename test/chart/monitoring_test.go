package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestDashboardsAndRulesAreThoseOfMonitoring(t *testing.T) {
	out := mustRender(t, load(t), values(t, `
monitoring:
  dashboards: {enabled: true, namespace: grafana, labels: {team: serving}, annotations: {grafana_folder: Serving}}
  rules: {enabled: true, labels: {release: kube-prometheus-stack}}
`), standard)
	m := find[corev1.ConfigMap](t, out.Objects, "ConfigMap/grafana/workload-variant-autoscaler-dashboards")
	if m.Labels["grafana_dashboard"] != "1" || m.Labels["team"] != "serving" || m.Annotations["grafana_folder"] != "Serving" {
		t.Errorf("got labels %v and annotations %v", m.Labels, m.Annotations)
	}
	want := map[string]string{}
	for _, file := range list(t, root+"/monitoring/dashboards") {
		want["wva-"+filepath.Base(file)] = string(read(t, file))
	}
	if diff := cmp.Diff(want, m.Data); diff != "" || len(want) == 0 {
		t.Errorf("the dashboards (- monitoring, + chart)\n%s", diff)
	}

	files := list(t, root+"/monitoring/rules")
	if len(files) == 0 {
		t.Fatal("no rules")
	}
	for _, file := range files {
		name := "workload-variant-autoscaler-" + strings.TrimSuffix(filepath.Base(file), ".yaml")
		i := slices.Index(identities(out), "PrometheusRule/"+standard.Namespace+"/"+name)
		if i < 0 {
			t.Errorf("no PrometheusRule %s among %v", name, identities(out))
			continue
		}
		got := out.Objects[i]
		if got.GetLabels()["release"] != "kube-prometheus-stack" {
			t.Errorf("%s: got labels %v", name, got.GetLabels())
		}
		var of map[string]any
		if err := yaml.Unmarshal(read(t, file), &of); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(of["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s (- monitoring, + chart)\n%s", name, diff)
		}
	}
}

func TestNothingIsMadeForMonitoringUnlessItIsAskedFor(t *testing.T) {
	for _, text := range []string{"", "controller: {enabled: false}\nmonitoring: {dashboards: {enabled: true}, rules: {enabled: true}}"} {
		for _, identity := range identities(mustRender(t, load(t), values(t, text), standard)) {
			if strings.HasPrefix(identity, "PrometheusRule/") || strings.HasSuffix(identity, "-dashboards") {
				t.Errorf("values %q make %s", text, identity)
			}
		}
	}
}
