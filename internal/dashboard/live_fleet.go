package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
)

// ask reads the whole fleet. Where the user may not read that, it reads each namespace that the
// user may read.
func (l *Live) ask(ctx context.Context, m Manager) (history.Fleet, error) {
	if len(l.options.Named) > 0 {
		return l.askEach(ctx, m, scope{names: l.options.Named})
	}
	if l.options.Clock.Now().Before(l.scope.until) {
		return l.askEach(ctx, m, l.scope)
	}
	var all history.Fleet
	err := getFleet(ctx, m, fleetPath, &all)
	if err == nil || !forbidden(err) || l.options.Namespaces == nil {
		all.Refused = []string{}
		return all, err
	}
	names, notes, err := l.options.Namespaces(ctx)
	if err != nil {
		return all, fmt.Errorf("looking for the namespaces that may be read: %w", err)
	}
	l.scope = scope{l.options.Clock.Now().Add(scopeFor), names, notes}
	return l.askEach(ctx, m, l.scope)
}

// askEach reads the fleet of each namespace of a scope.
func (l *Live) askEach(ctx context.Context, m Manager, of scope) (history.Fleet, error) {
	names, notes := of.names, append([]string{}, of.refused...)
	out := history.Fleet{Models: []history.Model{}, Refused: notes}
	read := 0
	for _, name := range names {
		var one history.Fleet
		err := getFleet(ctx, m, fleetPath+"/"+url.PathEscape(name), &one)
		if forbidden(err) {
			out.Refused = append(out.Refused, fmt.Sprintf("namespace %s: %v", name, err))
			continue
		}
		if err != nil {
			return out, err
		}
		if read++; read == 1 || one.At.After(out.At.Time) {
			out.At, out.Cycle, out.Interval = one.At, one.Cycle, one.Interval
		}
		if out.From.IsZero() || one.From.Before(out.From.Time) {
			out.From = one.From
		}
		out.Models = append(out.Models, one.Models...)
	}
	if read == 0 {
		return out, errors.New("there is no namespace that you may read: " + strings.Join(out.Refused, "; "))
	}
	slices.SortStableFunc(out.Models, func(a, b history.Model) int {
		return cmp.Or(cmp.Compare(b.Look, a.Look), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Model, b.Model))
	})
	return out, nil
}

// getFleet reads a fleet.
func getFleet(ctx context.Context, m Manager, path string, into *history.Fleet) error {
	err := m.Get(ctx, path, into)
	if hasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%w; want a manager of this version: older ones have no %s", err, fleetPath)
	}
	return err
}

// forbidden reports whether the manager refused a question because the user lacks the right.
func forbidden(err error) bool { return hasStatus(err, http.StatusForbidden) }

// hasStatus reports whether an error is an answer of the manager with this status.
func hasStatus(err error, status int) bool {
	var of interface{ StatusCode() int }
	return errors.As(err, &of) && of.StatusCode() == status
}
