package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/loadgen"
)

// summarize prints what happened and returns an error unless every model's replicas rose and fell,
// moved by HPAs that have no other metric than ours.
func (s *scene) summarize(ctx context.Context) error {
	rescales, err := s.rescales(ctx)
	if err != nil {
		return err
	}
	fmt.Println("\nWhat the HPAs did, on wva_desired_replicas alone:")
	for _, r := range rescales {
		message, _, _ := strings.Cut(r.Message, "(&LabelSelector")
		fmt.Printf("  %s  %-16s %s\n", r.LastTimestamp.Format("15:04:05"), r.InvolvedObject.Name, message)
	}
	fmt.Println()
	table := console.Table{Columns: []console.Column{
		console.Left("VARIANT"), console.Right("READY AT FIRST"), console.Right("MOST"), console.Right("AT LAST"), console.Left("ROSE"), console.Left("FELL"),
	}}
	models := map[string]followed{}
	for _, v := range s.variants {
		r := s.seen[v.Name]
		if r == nil {
			return fmt.Errorf("%s never had a Ready replica", v.Name)
		}
		f := r.because(rescales, v.Name)
		m := models[v.ModelID]
		models[v.ModelID] = followed{m.rose || f.rose, m.fell || f.fell}
		table.Rows = append(table.Rows, []string{v.Name, fmt.Sprint(r.first), fmt.Sprint(r.most), fmt.Sprint(r.last), yes(f.rose), yes(f.fell)})
	}
	if err := table.Write(os.Stdout); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	fmt.Println()
	for _, l := range s.loaders {
		fmt.Println(l.told())
	}
	fmt.Println()
	var errs []error
	for _, model := range slices.Sorted(maps.Keys(models)) {
		if m := models[model]; !m.rose || !m.fell {
			errs = append(errs, fmt.Errorf("the replicas of %s did not rise and fall on our metric (rose: %s, fell: %s)", model, yes(m.rose), yes(m.fell)))
		}
	}
	if len(errs) == 0 {
		fmt.Println("Every model's replicas rose with the load and fell after it, because of our metric.")
	}
	return errors.Join(errs...)
}

// told ends the load and returns the latencies of its requests in words.
func (l *loader) told() string {
	l.process.Stop()
	var seen loadgen.Summary
	data, err := os.ReadFile(l.process.Log)
	if err == nil {
		err = json.Unmarshal(data[max(0, bytes.IndexByte(data, '{')):], &seen)
	}
	if err != nil {
		return fmt.Sprintf("%s: the load left no summary: %v", l.model, err)
	}
	text := fmt.Sprintf("%s: %d requests, %d completed; TTFT p50 %.0f ms, p90 %.0f ms; ITL p50 %.0f ms, p90 %.0f ms",
		l.model, seen.Requests, seen.Completed, seen.TTFT.P50, seen.TTFT.P90, seen.ITL.P50, seen.ITL.P90)
	if seen.Attainment != nil {
		text += fmt.Sprintf("; %.0f %% within TTFT %s and ITL %s", 100**seen.Attainment, loadTTFT, loadITL)
	}
	return text
}

// followed says in which directions an HPA moved replicas.
type followed struct{ rose, fell bool }

// because returns which movements of a variant an HPA made. The message of a rise names the metric;
// that of a fall says that all are below target, and ours is the only one.
func (r *replicas) because(rescales []corev1.Event, name string) followed {
	did := func(message string) bool {
		return slices.ContainsFunc(rescales, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == name && strings.Contains(e.Message, message)
		})
	}
	return followed{rose: r.rose && did("wva_desired_replicas"), fell: r.fell && did("below target")}
}

// rescales returns the rescales of the demonstration's HPAs, oldest first.
func (s *scene) rescales(ctx context.Context) ([]corev1.Event, error) {
	var events corev1.EventList
	if err := s.bed.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	out := slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.Kind != "HorizontalPodAutoscaler" || e.Reason != "SuccessfulRescale" || e.LastTimestamp.Time.Before(s.started)
	})
	slices.SortFunc(out, func(a, b corev1.Event) int {
		return cmp.Or(a.LastTimestamp.Compare(b.LastTimestamp.Time), strings.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name))
	})
	return out, nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
