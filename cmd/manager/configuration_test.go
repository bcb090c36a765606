package main

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusing is a cluster that answers each list with an error.
type refusing struct {
	client.Reader
	err error
}

func (r refusing) List(context.Context, client.ObjectList, ...client.ListOption) error { return r.err }

func TestAManagerThatMayNotListConfigMapsStartsWithThePublishedNames(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role"))
	if names, err := configMapNames(t.Context(), refusing{err: forbidden}, "system", logr.Discard()); len(names) > 0 || err != nil {
		t.Errorf("without the right: %q, %v, want no names and no error", names, err)
	}
	if _, err := configMapNames(t.Context(), refusing{err: errors.New("boom")}, "system", logr.Discard()); err == nil {
		t.Error("an API server that does not answer gives no error")
	}
}
