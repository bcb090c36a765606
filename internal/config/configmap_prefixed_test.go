package config

import (
	"strings"
	"testing"
)

func TestConfigMapsOfAReleaseAreReadWhileThereIsNoOther(t *testing.T) {
	prefixed := []string{"wva-workload-variant-autoscaler-service-classes-config", "blue-variantautoscaling-config", "wva-saturation-scaling-config", "unrelated", "kube-root-ca.crt"}
	names := PublishedNames().WithPrefixed(prefixed)
	for name, want := range map[string]Kind{
		"wva-workload-variant-autoscaler-service-classes-config": KindServiceClasses,
		"blue-variantautoscaling-config":                         KindSettings,
		"wva-saturation-scaling-config":                          KindSaturation, // which is published by itself
		"unrelated":                                              "",
	} {
		if got, _ := names.KindOf(name); got != want {
			t.Errorf("%s: got kind %q, want %q", name, got, want)
		}
	}
	if got := len(names[KindSaturation]); got != len(PublishedNames()[KindSaturation]) {
		t.Errorf("got %d names of saturation, want none added", got)
	}
	store, err := NewStore(StoreOptions{SystemNamespace: systemNamespace, Names: names})
	if err != nil {
		t.Fatal(err)
	}
	if found := store.Apply([]Source{system("blue-variantautoscaling-config", "LOG_LEVEL", "warn")}).Findings; len(found) > 0 {
		t.Errorf("got %v, want none", found)
	}
	if got := store.Snapshot().Settings().LogLevel; got != "warn" {
		t.Errorf("got level %s of the release's ConfigMap, want warn", got)
	}
	found := store.Apply([]Source{system("blue-variantautoscaling-config", "LOG_LEVEL", "warn"), system(settingsMap, "LOG_LEVEL", "error")}).Findings
	if got := store.Snapshot().Settings().LogLevel; got != "error" {
		t.Errorf("got level %s, want that of the published name, error", got)
	}
	if len(found) != 1 || !strings.Contains(found[0].String(), "blue-variantautoscaling-config: is ignored: there is another ConfigMap for the same; in force: "+settingsMap) {
		t.Errorf("got %v, want the release's named as ignored", found)
	}
}

func TestTheConfigMapThatAVariableNamesComesFirst(t *testing.T) {
	o, err := parse(t, map[string]string{"CONFIG_MAP_NAME": "blue-variantautoscaling-config"})
	if err != nil {
		t.Fatal(err)
	}
	o.PrefixedNames = []string{"aqua-variantautoscaling-config", "blue-variantautoscaling-config"}
	got := o.Names()[KindSettings]
	if got[0] != "blue-variantautoscaling-config" || got[len(got)-1] != "aqua-variantautoscaling-config" || len(got) != len(PublishedNames()[KindSettings])+2 {
		t.Errorf("got %v", got)
	}
}
