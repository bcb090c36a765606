package soak

import (
	"fmt"
	"testing"
	"time"
	"os"
	"strconv"
)

func TestExplore(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	var needs Needs
	hours := time.Duration(0)
	began := time.Now()
	count := map[string]int{}
	for seed := from; seed < from+n; seed++ {
		c := Draw(uint64(seed))
		if err := c.Validate(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		hours += c.Length
		for _, v := range Judge(c, &needs) {
			f := ""
			for _, x := range c.Faults { f += " " + string(x.Kind) }
			count[string(v.Rule)+" "+c.Engine]++
			if os.Getenv("V") != "" {
				fmt.Printf("seed %d %s [%s] %d variants: %s\n", seed, c.Engine, f, len(c.Variants), v)
			}
		}
	}
	fmt.Println(hours, time.Since(began), count)
}
