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

// stockOptions configure a stock of accelerators.
type stockOptions struct {
	inventory config.Inventory
	interval  func() time.Duration // between cycles, at present
	learnt    func()               // called when the stock becomes known; must not block
}

// idleIntervals is the number of intervals without a question for the stock after which its watches
// end. A cycle that is late, or waits for a slow source, does not mean that limited mode is off.
const idleIntervals = 3

// newStock returns a counter of the accelerators of the cluster. It watches nodes, and needs the
// permission to, only while cycles ask for them. Run it where cycles run.
func newStock(kube connection, o stockOptions) (*stock.Stock, error) {
	selector, err := labels.Parse(o.inventory.NodeSelector)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of nodes: %w", err)
	}
	to := rest.CopyConfig(kube.config)
	to.Timeout = 0 // the timeout is for requests, but a watch lasts
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
