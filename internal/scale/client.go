// Package scale reads and sets the replicas of a target of any kind through its scale
// subresource: the one client of package discovery, which reads, and of package subresource of
// internal/actuator, which also sets.
package scale

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// FieldOwner is the manager's name in the managed fields of what it changes.
const FieldOwner = client.FieldOwner("workload-variant-autoscaler")

// Client reads and sets scales at an API server. The zero value is not usable; see New. A Client
// is safe for concurrent use where its API is.
type Client struct {
	api API
}

// API is the part of a client.Client that a Client uses.
type API interface {
	client.SubResourceClientConstructor
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// New returns a Client that uses the client of a manager. Each call is one request, once the kind
// is known.
func New(api API) *Client {
	return &Client{api: api}
}

var kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// Scale returns the scale of a target. The error is a NotFound of the API server where the target
// or the subresource does not exist, a NoMatchError of meta where the kind does not, and
// scaling.ErrClusterScoped where the kind has no namespace.
func (c *Client) Scale(ctx context.Context, namespace string, target scaling.TargetRef) (*autoscalingv1.Scale, error) {
	object, err := c.objectOf(namespace, target)
	if err != nil {
		return nil, fmt.Errorf("reading the scale of %s in namespace %s: %w", target, namespace, err)
	}
	answer := &unstructured.Unstructured{}
	answer.SetGroupVersionKind(kind)
	if err := c.api.SubResource("scale").Get(ctx, object, answer); err != nil {
		return nil, fmt.Errorf("reading the scale of %s in namespace %s: %w", target, namespace, err)
	}
	scale := &autoscalingv1.Scale{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, scale); err != nil {
		return nil, fmt.Errorf("decoding the scale of %s in namespace %s: %w", target, namespace, err)
	}
	return scale, nil
}

// SetScale sets the replicas of a target to those of a scale that was read. The error is a Conflict
// of the API server where the target has changed since, and otherwise that of Scale.
func (c *Client) SetScale(ctx context.Context, target scaling.TargetRef, scale *autoscalingv1.Scale) error {
	object, err := c.objectOf(scale.Namespace, target)
	if err != nil {
		return fmt.Errorf("setting the scale of %s in namespace %s: %w", target, scale.Namespace, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(scale)
	if err != nil {
		return fmt.Errorf("encoding the scale of %s in namespace %s: %w", target, scale.Namespace, err)
	}
	body := &unstructured.Unstructured{Object: content}
	body.SetGroupVersionKind(kind)
	if err := c.api.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(body), FieldOwner); err != nil {
		return fmt.Errorf("setting the scale of %s in namespace %s: %w", target, scale.Namespace, err)
	}
	return nil
}

// objectOf returns the object that stands for a target in a request. It refuses
// cluster-scoped kinds: their path would have no namespace, so that the author of any
// object could name them.
func (c *Client) objectOf(namespace string, target scaling.TargetRef) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(target.APIVersion)
	object.SetKind(target.Kind)
	object.SetNamespace(namespace)
	object.SetName(target.Name)
	namespaced, err := c.api.IsObjectNamespaced(object)
	if err != nil {
		return nil, fmt.Errorf("looking up its kind: %w", err)
	}
	if !namespaced {
		return nil, scaling.ErrClusterScoped
	}
	return object, nil
}
