package workload_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

func Example() {
	profile, err := workload.ParseProfile("ramp(0.5->8,60s),constant(8,60s),ramp(8->0.5,30s)")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.1f requests expected in %s, %g/s after 30 s\n",
		profile, profile.ArrivalsBy(profile.Duration()), profile.Duration(), profile.RateAt(30*time.Second))
	lengths, err := workload.ChatLengths(200, 200)
	if err != nil {
		fmt.Println(err)
		return
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for request := range workload.Generate(profile, lengths, rng) {
		fmt.Println(request.At < time.Minute, request.InputTokens > 0, request.OutputTokens > 0)
		break
	}
	// Output:
	// ramp(0.5->8,1m),constant(8,1m),ramp(8->0.5,30s): 862.5 requests expected in 2m30s, 4.25/s after 30 s
	// true true true
}

func ExampleParseProfile_error() {
	_, err := workload.ParseProfile("constant(8,60s),rump(8->1,30s)")
	fmt.Println(err)
	// Output:
	// column 17: "rump" is not a segment, want constant, ramp, step, sine, onoff, flash or gamma
}
