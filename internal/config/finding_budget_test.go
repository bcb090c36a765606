package config

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOfTheFindingsOfANamespaceTheFirstAreTold(t *testing.T) {
	var all []Finding
	for i := range 5 {
		all = append(all, Finding{Namespace: "many", ConfigMap: "c", Key: fmt.Sprint(i)}, Finding{Namespace: fmt.Sprint("few-", i), ConfigMap: "c"})
	}
	told, left := Within(3, all)
	var of []string
	for _, f := range told {
		if f.Namespace == "many" {
			of = append(of, f.Key+f.Problem)
		}
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "2 more findings about ConfigMaps of the namespace are not listed (WVA_NAMESPACE_FINDINGS)"}, of); diff != "" {
		t.Errorf("told of the namespace with many (-want +got):\n%s", diff)
	}
	if len(told) != 4+5 || len(left) != 1 || left["many"] != 2 {
		t.Errorf("%d are told and %v left out, want 9 and 2 of many", len(told), left)
	}
	if told, left := Within(5, all); len(told) != len(all) || len(left) != 0 {
		t.Errorf("within the limit %d are told and %v left out, want all", len(told), left)
	}
}
