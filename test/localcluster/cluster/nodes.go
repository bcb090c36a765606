package cluster

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
)

// accelerator is a kind of GPU that fake nodes have.
type accelerator struct {
	short     string // for node names
	product   string // label of NVIDIA's GPU feature discovery
	memoryMiB int    // of one GPU, as its label nvidia.com/gpu.memory has it
}

const (
	nodesPerAccelerator = 2
	gpusPerNode         = 8
)

var accelerators = [...]accelerator{
	{"h100", "NVIDIA-H100-80GB-HBM3", 81559},
	{"a100", "NVIDIA-A100-PCIE-80GB", 81920},
	{"l40s", "NVIDIA-L40S", 46068},
}

// object is a Kubernetes object or a part of one.
type object map[string]any

// fakeNode is the annotation of the nodes whose kubelet is KWOK.
const fakeNode = "kwok.x-k8s.io/node"

// localNode is the node whose pods are processes of this machine.
const localNode = "local-0"

// gpuTaint keeps pods that ask for no GPU from nodes with GPUs, as in pools of such nodes. The API
// server's admission adds the toleration to pods that ask for one.
const gpuTaint = "nvidia.com/gpu"

// createNodes registers the nodes, as their kubelets would.
func createNodes(ctx context.Context, c *client) error {
	for _, a := range accelerators {
		for i := range nodesPerAccelerator {
			if err := c.create(ctx, "/api/v1/nodes", node(fmt.Sprintf("%s-%d", a.short, i), a)); err != nil {
				return err
			}
		}
	}
	return c.create(ctx, "/api/v1/nodes", object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": object{
			"name": localNode,
			"labels": object{
				"kubernetes.io/hostname": localNode,
				"kubernetes.io/os":       runtime.GOOS,
				"kubernetes.io/arch":     runtime.GOARCH,
			},
		},
		"status": object{"addresses": []object{{"type": "InternalIP", "address": loopback}, {"type": "Hostname", "address": localNode}}},
	})
}

func node(name string, a accelerator) object {
	resources := object{"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": fmt.Sprint(gpusPerNode)}
	return object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": object{
			"name": name,
			"labels": object{
				"kubernetes.io/hostname": name,
				"kubernetes.io/os":       "linux",
				"kubernetes.io/arch":     "amd64",
				"type":                   "kwok",
				"nvidia.com/gpu.present": "true",
				"nvidia.com/gpu.product": a.product,
				"nvidia.com/gpu.memory":  fmt.Sprint(a.memoryMiB),
				"nvidia.com/gpu.count":   fmt.Sprint(gpusPerNode),
			},
			"annotations": object{fakeNode: "fake"},
		},
		"spec":   object{"taints": []object{{"key": gpuTaint, "value": "present", "effect": "NoSchedule"}}},
		"status": object{"capacity": resources, "allocatable": maps.Clone(resources)},
	}
}

// nodesReady returns nil if every node that the cluster begins with is Ready and takes pods, and
// the default namespace has the service account that pods need.
func nodesReady(ctx context.Context, c *client) error {
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Taints []struct{ Key string } }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := c.list(ctx, "/api/v1/nodes", &nodes); err != nil {
		return err
	}
	ready := 0
	for _, n := range nodes.Items {
		for _, condition := range n.Status.Conditions {
			taken := func(t struct{ Key string }) bool { return t.Key != gpuTaint }
			if condition.Type == "Ready" && condition.Status == "True" && !slices.ContainsFunc(n.Spec.Taints, taken) {
				ready++
			}
		}
	}
	if want := len(accelerators)*nodesPerAccelerator + 1; ready < want {
		return fmt.Errorf("%d of %d nodes are ready", ready, want)
	}
	if err := c.ok(ctx, c.base+"/api/v1/namespaces/default/serviceaccounts/default"); err != nil {
		return fmt.Errorf("looking for the default service account: %w", err)
	}
	return nil
}
