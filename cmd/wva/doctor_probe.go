package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// probeWithin bounds a probe without its request: an HPA reads every 15 s, and for a
	// ScaledObject KEDA reads as well.
	probeWithin = 90 * time.Second
	// removeWithin bounds the removal of the probe's objects, also after an interruption.
	removeWithin = 15 * time.Second
	// probeDoubt is how long a scaler may report that it reads nothing, or may have read without
	// setting replicas, before that counts. It is longer than the 15 s between two reads of an HPA.
	probeDoubt = 20 * time.Second
	// probeEvery is the time between two looks at the objects of the probe.
	probeEvery = 500 * time.Millisecond
)

// probing is one probe of a variant.
type probing struct {
	*examination

	of       *doctor.Variant
	progress io.Writer
	out      *doctor.Probe
	begun    time.Time // of the current step

	scaler  scaling.Scaler
	metric  string           // read by an HPA, "" for a ScaledObject
	desired scaling.Replicas // of the decision
	sends   sending
}

// sending is what a probe sends: its scaler must change its target from one number to another.
type sending struct {
	from, to int32
	// tagged says that the manager answers with the number of the probe; else to is the decision.
	tagged bool
}

// probe probes the way of the decision on the only variant of the case, and then sends a request if
// there is a gateway. It removes every object that it created before it returns. An object that it
// cannot remove is a finding. Its error is the interruption by ctx.
func (e *examination) probe(ctx context.Context, progress io.Writer) error {
	of := &e.Variants[0]
	p := &probing{examination: e, of: of, progress: progress, out: &doctor.Probe{Variant: scaling.VariantKey{Namespace: of.Object.Namespace, Name: of.Object.Name}}}
	e.Probe = p.out
	fmt.Fprintf(progress, "Probing %s: ", of)
	p.begun = time.Now()
	p.way(ctx)
	if f := e.gateway; f != "" && ctx.Err() == nil {
		p.request(ctx, f)
	}
	fmt.Fprintln(progress)
	if ctx.Err() == nil {
		return nil
	}
	for _, s := range p.out.Steps {
		if s.Step == doctor.ProbeRemoved {
			return fmt.Errorf("the probe was interrupted: %s", strings.Join(s.Says, "; "))
		}
	}
	return errors.New("the probe was interrupted before it made anything")
}

// did notes the result of a step, and begins the next one.
func (p *probing) did(step doctor.ProbeStep, result doctor.ProbeResult, says ...string) {
	p.add(doctor.Probed{Step: step, Result: result, Says: says})
}

func (p *probing) add(s doctor.Probed) {
	now := time.Now()
	s.Seconds = now.Sub(p.begun).Seconds()
	p.begun = now
	p.out.Steps = append(p.out.Steps, s)
	fmt.Fprintf(p.progress, "%s %s (%.1f s) ", s.Step, s.Result, s.Seconds)
}

// passed and failed note the usual results of a step.
func (p *probing) passed(step doctor.ProbeStep, says string) { p.did(step, doctor.ProbePassed, says) }

func (p *probing) failed(step doctor.ProbeStep, evidence ...string) {
	p.add(doctor.Failing(step, map[string]string{
		"SCALERKIND": strings.ToLower(p.scaler.Kind), "SCALER": p.scaler.Name, "METRIC": cmp.Or(p.metric, decisionMetric),
	}, evidence...))
}

// way follows the way of the decision until a step fails.
func (p *probing) way(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, probeWithin)
	defer stop()
	if p.of.Scalers.InForce() == scaling.ActuationScale {
		p.settable(ctx)
		return
	}
	if why := p.hindered(); why != "" {
		p.failed(doctor.ProbePrepared, why)
		return
	}
	p.scaler = p.of.Scalers.List[0]
	made, why := p.shape(ctx)
	if why != "" {
		p.failed(doctor.ProbePrepared, why)
		return
	}
	if !p.prepare(ctx, made) || !p.allowed(ctx) || !p.decided() || !p.served(ctx, made) {
		return
	}
	p.follow(ctx, made)
}

// hindered returns why a variant cannot be probed, "" if it can.
func (p *probing) hindered() string {
	v := p.of
	target := v.Object.Target()
	switch all := v.Scalers.List; {
	case !v.Scalers.Known:
		return "its scalers could not be read: " + cmp.Or(v.Scalers.Fault, "see WVA0102")
	case v.Rivals != nil && v.Rivals[0] != p.out.Variant:
		return fmt.Sprintf("its target is scaled by the decision on %s/%s", v.Rivals[0].Namespace, v.Rivals[0].Name)
	case v.Resolved.Advisory, p.Answer.Known[p.out.Variant].Variant.Advisory:
		return "decisions on it are advice, which no scaler is to read"
	case len(all) == 0:
		return explain.NoScaler(scaling.TargetRef(target))
	case len(all) > 1:
		return explain.Rivals(all)
	case all[0].Paused:
		return explain.ScalerPaused(all[0])
	}
	return ""
}

// decided reads the decision, from the manager or else from the status.
func (p *probing) decided() bool {
	x, known := p.Answer.Known[p.out.Variant]
	switch status := p.of.Object.Status.DesiredOptimizedAlloc; {
	case known && x.Decided:
		p.desired = x.Decision.Target()
		p.passed(doctor.ProbeDecided, fmt.Sprintf("the manager has decided on %s, in cycle %s", p.desired.Text(), x.Cycle))
	case status != nil:
		p.desired = scaling.Replicas(status.NumReplicas)
		p.passed(doctor.ProbeDecided, fmt.Sprintf("its status has %s (%s)", p.desired.Text(), p.unanswered()))
	default:
		p.failed(doctor.ProbeDecided, p.unanswered(), "its status has no decision")
		return false
	}
	return true
}

// unanswered returns why the manager returns no decision.
func (p *probing) unanswered() string {
	switch {
	case !p.Answer.Reached && p.Answer.Why != "":
		return p.Answer.Why
	case !p.Answer.Reached:
		return "no manager answers"
	}
	return p.Answer.From + " has no decision on the variant"
}

// follow creates the objects, looks at them until the number has arrived or cannot arrive any more,
// and removes them.
func (p *probing) follow(ctx context.Context, made shaped) {
	mine := true
	defer func() {
		if !mine {
			return
		}
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer stop()
		p.remove(ctx, made)
	}()
	err := p.create(ctx, &made)
	mine = !errors.Is(err, errAnotherProbe)
	if err != nil {
		if ctx.Err() == nil {
			p.failed(doctor.ProbePrepared, oneLine(err))
		}
		return
	}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for w := (waits{}); ; {
		if seen, err := p.look(ctx, made); err == nil { // else the next look may succeed
			w.last = seen
			if p.judge(ctx, &w, time.Now()) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				p.failed(doctor.ProbeRead, fmt.Sprintf("nothing has arrived within %s; %s of the probe says: %s", probeWithin, p.scaler.Kind, cmp.Or(w.last.says, "nothing, which is so where no controller looks at it")))
			}
			return
		}
	}
}

// waits is the last state of a probe in progress.
type waits struct {
	last sight
	// silent is since when its scaler reports that it reads nothing, and read since when it has
	// read a value; zero for neither.
	silent, read time.Time
}

// judge evaluates the last look, made at now, and reports whether the probe is done.
func (p *probing) judge(ctx context.Context, w *waits, now time.Time) (done bool) {
	seen := w.last
	moved := seen.replicas != p.sends.from
	if (moved || seen.reads) && w.read.IsZero() {
		w.read = now
		p.passed(doctor.ProbeRead, fmt.Sprintf("the %s of the probe reads it", p.scaler.Kind))
	}
	switch {
	case moved:
		p.arrived(ctx, seen.replicas)
		return true
	case !w.read.IsZero():
		if now.Sub(w.read) <= probeDoubt {
			return false
		}
		p.failed(doctor.ProbeSet, fmt.Sprintf("the %s of the probe has read a value and left %d replicas for %s, want %d", p.scaler.Kind, p.sends.from, probeDoubt, p.sends.to), cmp.Or(seen.limits, seen.says))
		return true
	case seen.says == "":
		w.silent = time.Time{}
	case w.silent.IsZero():
		w.silent = now
	case now.Sub(w.silent) > probeDoubt:
		p.failed(doctor.ProbeRead, fmt.Sprintf("the %s of the probe says for %s: %s", p.scaler.Kind, probeDoubt, seen.says))
		return true
	}
	return false
}

// explained reads the manager's current decision.
func (p *probing) explained(ctx context.Context) (explain.Explanation, error) {
	var x explain.Explanation
	err := p.ask(ctx, p.config, p.client, "/"+p.out.Variant.Namespace+"/"+p.out.Variant.Name, &x)
	if err == nil && !x.Decided {
		err = errors.New("nothing is decided")
	}
	return x, err
}

// arrived judges the number that the scaler of the probe has set.
func (p *probing) arrived(ctx context.Context, got int32) {
	from, to := p.sends.from, p.sends.to
	towards := from < got && got < to || to < got && got < from
	if !p.sends.tagged && !towards && got != to { // the decision may have changed meanwhile
		if x, err := p.explained(ctx); err == nil {
			to = max(1, int32(x.Decision.Target()))
		}
	}
	switch {
	case got == to:
		p.passed(doctor.ProbeSet, fmt.Sprintf("the %s of the probe has set the target of the probe from %d to %d", p.scaler.Kind, from, got))
	case towards:
		p.passed(doctor.ProbeSet, fmt.Sprintf("the %s of the probe has set the target of the probe from %d to %d, its first step to %d by its behavior", p.scaler.Kind, from, got, to))
	default:
		p.failed(doctor.ProbeSet, fmt.Sprintf("the %s of the probe has set %d replicas, want %d: its selector or query reads something else besides", p.scaler.Kind, got, to))
	}
}

// sight is one look at the objects of a probe.
type sight struct {
	replicas int32  // of the target
	reads    bool   // the scaler reports that it has read a value
	says     string // what the scaler reports about reading, "" for nothing yet
	limits   string // what it reports about limits
}

// look reads the objects of a probe.
func (p *probing) look(ctx context.Context, made shaped) (sight, error) {
	target, hpa := made.target.DeepCopy(), &autoscalingv2.HorizontalPodAutoscaler{}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(target), target); err != nil {
		return sight{}, err
	}
	out := sight{replicas: p.sends.from}
	if target.Spec.Replicas != nil {
		out.replicas = *target.Spec.Replicas
	}
	name := made.name
	if made.keda != nil {
		name = kedaHPA + name
		out.says = kedaSays(ctx, p.client, made.keda)
	}
	err := p.client.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: name}, hpa)
	if made.keda != nil && apierrors.IsNotFound(err) {
		out.says = cmp.Or(out.says, "KEDA has made no HorizontalPodAutoscaler of it")
		return out, nil
	}
	if err != nil {
		return out, err
	}
	for _, c := range hpa.Status.Conditions {
		text := fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, oneLine(errors.New(c.Message)))
		switch {
		case c.Type == autoscalingv2.ScalingActive:
			out.reads, out.says = c.Status == "True", text
		case c.Type == autoscalingv2.ScalingLimited && c.Status == "True", c.Type == autoscalingv2.AbleToScale && c.Status == "False":
			out.limits = text
		}
	}
	return out, nil
}
