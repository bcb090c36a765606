package main

import (
	"io"
	"iter"
	"os"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
)

// recordedCycles reads the cycles of a file, or of stdin if its name is "-", as record.Read does.
// If the file cannot be opened, its sequence has only that error.
func recordedCycles(name string, stdin io.Reader) iter.Seq2[record.Cycle, error] {
	if name == "-" {
		return record.Read(stdin)
	}
	return func(yield func(record.Cycle, error) bool) {
		file, err := os.Open(name)
		if err != nil {
			yield(record.Cycle{}, err)
			return
		}
		defer file.Close()
		record.Read(file)(yield)
	}
}
