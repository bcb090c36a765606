package analyzer_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// a100 is the published profile of an 8B model on one A100.
func a100() analyzer.QueueAnalyzer {
	q, err := analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: 64,
		MaxQueue: 64 * analyzer.QueuePerBatch,
		Service:  analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.1},
		Size:     analyzer.RequestSize{InputTokens: 128, OutputTokens: 128},
	})
	if err != nil {
		panic(err)
	}
	return q
}

func ExampleQueueAnalyzer_Analyze() {
	m, err := a100().Analyze(8) // requests/s
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("TTFT %.0f ms, of which %.0f ms wait; ITL %.1f ms; %.1f of 64 requests in the batch\n",
		m.TTFT, m.Wait, m.ITL, m.InService)
	// Output: TTFT 615 ms, of which 26 ms wait; ITL 39.3 ms; 44.6 of 64 requests in the batch
}

func ExampleQueueAnalyzer_Size() {
	s, err := a100().Size(analyzer.Targets{TTFT: 1000, TTFTPercentile: 0.95, ITL: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f requests/s: TTFT allows %.2f, ITL %.2f\n", s.Rate, s.RateTTFT, s.RateITL)
	fmt.Println("replicas for 60 requests/s:", math.Ceil(60/s.Metrics.Throughput))
	// Output:
	// 8.17 requests/s: TTFT allows 8.17, ITL 9.44
	// replicas for 60 requests/s: 8
}

func ExampleQueueAnalyzer_Size_outOfReach() {
	_, err := a100().Size(analyzer.Targets{ITL: 15})
	if target, ok := errors.AsType[*analyzer.TargetError](err); ok {
		fmt.Printf("%s of %v ms: at best %.2f ms\n", target.Target, target.Wanted, target.Best)
	}
	// Output: ITL of 15 ms: at best 20.99 ms
}

func ExampleQueueAnalyzer_PercentileTTFT() {
	for _, p := range []float64{0.5, 0.9, 0.99} {
		ttft, err := a100().PercentileTTFT(8.5, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v of the requests within %.0f ms\n", p, ttft)
	}
	// Output:
	// 0.5 of the requests within 671 ms
	// 0.9 of the requests within 1263 ms
	// 0.99 of the requests within 3680 ms
}

func ExampleQueueAnalyzer_Published() {
	q := a100()
	_, most := q.RateRange()
	right, err := q.Size(analyzer.Targets{TPS: 800})
	if err != nil {
		fmt.Println(err)
		return
	}
	published, err := q.Published().Size(analyzer.Targets{TPS: 800})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("800 tokens/s need %.2f requests/s of at most %.2f; published: %.2f\n", right.RateTPS, most, published.Rate)
	// Output: 800 tokens/s need 6.25 requests/s of at most 9.44; published: 8.50
}

func ExampleMM1KModel() {
	m, err := analyzer.MM1KModel{ArrivalRate: 3, ServiceRate: 4, Capacity: 50}.Solve()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("wait %.3f, blocking %.1e\n", m.Wait, m.Blocking)
	// Output: wait 0.750, blocking 1.4e-07
}

func ExampleMM1StateDependent() {
	m, err := analyzer.NewMM1StateDependent([]float64{1, 1.8, 2.4}, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := m.Solve(1.2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f in service, %.3f waiting\n", s.InService, s.QueueLength)
	// Output: 1.367 in service, 0.203 waiting
}

func ExampleMG1Model() {
	for _, scv := range []float64{0, 1, 4} {
		m, err := analyzer.MG1Model{ArrivalRate: 0.4, ServiceTime: 2, SCV: scv}.Solve()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("SCV %v: wait %.0f\n", scv, m.Wait)
	}
	// Output:
	// SCV 0: wait 4
	// SCV 1: wait 8
	// SCV 4: wait 20
}
