package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if text, ok := os.LookupEnv(serveModels); ok {
		models, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("reading %s: %w", serveModels, err)
		}
		return serve(models)
	}
	ctx := context.Background()
	if err := table(ctx, os.Stdout, []int{10, 100, 1000}); err != nil {
		return err
	}
	return questions(ctx, os.Stdout, 1000)
}
