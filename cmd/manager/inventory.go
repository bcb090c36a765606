package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/stock"
)

// stockOptions say what a stock of accelerators goes by.
type stockOptions struct {
	inventory config.Inventory
	interval  func() time.Duration // between cycles, as it is now
	learnt    func()               // called when the stock becomes known; must not block
}

// idleIntervals is for how many intervals no cycle may ask for the stock before
// its watches end. One that is late, or waits for a slow source, is no sign that
// nothing is limited any more.
const idleIntervals = 3

// newStock returns what counts the accelerators of the cluster while cycles ask
// for them: nodes are neither watched nor is the permission to needed before. Run
// it where cycles run.
func newStock(kube connection, o stockOptions) (*stock.Stock, error) {
	selector, err := labels.Parse(o.inventory.NodeSelector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of nodes: %w", err)
	}
	to := rest.CopyConfig(kube.config)
	to.Timeout = 0 // that is for requests, and a watch lasts
	source, err := client.NewWithWatch(to, client.Options{Scheme: kube.scheme})
	if err != nil {
		return nil, fmt.Errorf("reaching the API server for nodes: %w", err)
	}
	return stock.New(stock.Options{
		Client: source, Clock: clock.RealClock{}, Learnt: o.learnt,
		NodeSelector: selector, Vendors: o.inventory.Domains(),
		Idle: func() time.Duration { return idleIntervals * o.interval() },
	}), nil
}
