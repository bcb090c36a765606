package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestNamesOfConfigMapsAreLookedForWhereTheyMayBeListed: a refusal asks for nothing that would be refused.
func TestNamesOfConfigMapsAreLookedForWhereTheyMayBeListed(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "release-serviceclass"}}
	for name, tt := range map[string]struct {
		code    int
		allowed bool
		want    []string
		fails   bool
	}{
		"may list":            {http.StatusCreated, true, []string{"release-serviceclass"}, false},
		"may not list":        {http.StatusCreated, false, nil, false},
		"may not ask":         {http.StatusForbidden, false, nil, false},
		"is not answered now": {http.StatusInternalServerError, false, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var review authorizationv1.SelfSubjectAccessReview
				review.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"))
				review.Status.Allowed = tt.allowed
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.code)
				if err := json.NewEncoder(w).Encode(review); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			kube := connection{
				config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}},
				reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build(),
			}
			got, err := configMapNames(t.Context(), kube, "system", logr.Discard())
			if !slices.Equal(got, tt.want) || (err != nil) != tt.fails {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
