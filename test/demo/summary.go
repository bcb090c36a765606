package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

// summarize says what happened and returns an error unless every model's
// replicas rose and fell, moved by HPAs that have no other metric than ours.
func (s *scene) summarize(ctx context.Context) error {
	rescales, err := s.rescales(ctx)
	if err != nil {
		return err
	}
	fmt.Println("\nWhat the HPAs did, on wva_desired_replicas alone:")
	for _, r := range rescales {
		fmt.Printf("  %s  %-16s %s\n", r.LastTimestamp.Format("15:04:05"), r.InvolvedObject.Name, r.Message)
	}
	table := console.Table{Columns: []console.Column{
		console.Left("VARIANT"), console.Right("READY AT FIRST"), console.Right("MOST"), console.Right("AT LAST"), console.Left("ROSE"), console.Left("FELL"),
	}}
	followed := map[string]struct{ rose, fell bool }{}
	for _, v := range s.variants {
		r := s.seen[v.Name]
		if r == nil {
			return fmt.Errorf("%s never had a Ready replica", v.Name)
		}
		up := r.rose && slices.ContainsFunc(rescales, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == v.Name && strings.Contains(e.Message, "wva_desired_replicas")
		})
		down := r.fell && slices.ContainsFunc(rescales, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == v.Name && strings.Contains(e.Message, "below target")
		})
		m := followed[v.ModelID]
		m.rose, m.fell = m.rose || up, m.fell || down
		followed[v.ModelID] = m
		table.Rows = append(table.Rows, []string{v.Name, fmt.Sprint(r.first), fmt.Sprint(r.most), fmt.Sprint(r.last), yes(up), yes(down)})
	}
	fmt.Println()
	if err := table.Write(os.Stdout); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	fmt.Println()
	var errs []error
	for _, v := range s.variants {
		if m, ok := followed[v.ModelID]; ok {
			if !m.rose || !m.fell {
				errs = append(errs, fmt.Errorf("the replicas of %s did not rise and fall on our metric (rose: %s, fell: %s)", v.ModelID, yes(m.rose), yes(m.fell)))
			}
			delete(followed, v.ModelID)
		}
	}
	if len(errs) == 0 {
		fmt.Println("Every model's replicas rose with the load and fell after it, because of our metric.")
	}
	return errors.Join(errs...)
}

// rescales returns what the HPAs of the demonstration did, oldest first.
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
