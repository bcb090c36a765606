package scale

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestATargetOfTheClusterIsNeitherReadNorScaled: the manager may scale any kind; the author of a
// VariantAutoscaling may only scale objects of a namespace.
func TestATargetOfTheClusterIsNeitherReadNorScaled(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"shared","namespace":"team"},"spec":{"replicas":40}}`)
	}))
	defer server.Close()
	group := schema.GroupVersion{Group: "platform.example", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{group})
	mapper.Add(group.WithKind("NodePool"), meta.RESTScopeRoot)
	mapper.Add(group.WithKind("Pool"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: runtime.NewScheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	scales := New(c)
	target := scaling.TargetRef{APIVersion: group.String(), Kind: "NodePool", Name: "shared"}
	_, reading := scales.Scale(t.Context(), "team", target)
	setting := scales.SetScale(t.Context(), target, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shared"}})
	for _, err := range []error{reading, setting} {
		if !errors.Is(err, scaling.ErrClusterScoped) || len(asked) > 0 {
			t.Errorf("the error is %v after %q, want ErrClusterScoped and no request", err, asked)
		}
	}
	target.Kind = "Pool"
	scale, err := scales.Scale(t.Context(), "team", target)
	if err != nil || scale.Spec.Replicas != 40 {
		t.Fatalf("a target of a namespace has the scale %v, %v; want 40 replicas", scale, err)
	}
	if err := scales.SetScale(t.Context(), target, scale); err != nil {
		t.Errorf("a target of a namespace: %v", err)
	}
}
