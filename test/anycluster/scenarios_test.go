//go:build anycluster

package anycluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replicasFollowTheLoad: seven requests/s are more than a replica of the profile
// serves, about five.
func replicasFollowTheLoad(t *testing.T) {
	url := serve(t, Saturation, saturatedModel, "llama-8b-l40s")
	begun := time.Now()
	stop := load(t, Saturation, url, saturatedModel, "constant(7,1200s)")
	eventually(t, func(ctx context.Context) string { return ready(ctx, Saturation, 2) })
	up := time.Since(begun)
	eventually(t, func(ctx context.Context) string { return noEvent(ctx, Saturation, "ScaledUp", "") })
	stop()
	begun = time.Now()
	eventually(t, func(ctx context.Context) string { return told(ctx, Saturation, 1) })
	t.Logf("a second replica served %s after the load began; one was left %s after it ended", round(up), round(time.Since(begun)))
	eventually(t, func(ctx context.Context) string { return noEvent(ctx, Saturation, "ScaledDown", "") })
}

// objectivesSizeAModel: by its profile a replica holds the objective at 0.62
// requests/s, so 1.6 need three.
func objectivesSizeAModel(t *testing.T) {
	url := serve(t, Model, sizedModel, "llama-70b-a100")
	eventually(t, func(ctx context.Context) string { return is(ctx, Model, "ConfigurationValid", "True") })
	begun := time.Now()
	stop := load(t, Model, url, sizedModel, "gamma(1.6,1200s,cv=0.05)")
	eventually(t, func(ctx context.Context) string { return ready(ctx, Model, 3) })
	t.Logf("the third replica served %s after the load began", round(time.Since(begun)))
	eventually(t, func(ctx context.Context) string {
		return noEvent(ctx, Model, "ScaledUp", fmt.Sprintf("ITL of %d ms at the mean limits the rate", wantedITL))
	})
	stop()
}

// anIdleModelSleepsAndWakes: a gateway holds the requests that find the model at
// zero, and the manager reads its queue.
func anIdleModelSleepsAndWakes(t *testing.T) {
	begun := time.Now() // when it was not Ready yet
	url, err := shared.Serve(t.Context(), Zero, sleepingModel, "llama-8b-l40s")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string {
		now := time.Now()
		missing := ready(ctx, Zero, 1)
		if missing != "" {
			begun = now
		}
		return missing
	})
	gateway, err := shared.Hold(t.Context(), Zero, sleepingModel, url)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string { return told(ctx, Zero, 0) })
	slept := time.Since(begun)
	if slept < retention {
		t.Errorf("it went to zero at most %s after it was Ready, want at least %s", slept, retention)
	}
	eventually(t, func(ctx context.Context) string { return noEvent(ctx, Zero, "ScaledToZero", "") })
	eventually(t, func(ctx context.Context) string { return gone(ctx, Zero) })

	begun = time.Now()
	job, err := shared.Load(t.Context(), Zero, "request", gateway, sleepingModel, "gamma(2,1s,cv=0.05)")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) string { return done(ctx, t, job) })
	t.Logf("to zero %s after it was Ready; the requests that found it there were answered %s after their Job was made", round(slept), round(time.Since(begun)))
	eventually(t, func(ctx context.Context) string { return noEvent(ctx, Zero, "ScaledFromZero", "RequestsWaiting") })
	text, err := shared.Output(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var summary struct{ Sent, Completed int }
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		t.Fatalf("reading the summary of the load: %v:\n%s", err, text)
	}
	if summary.Sent == 0 || summary.Completed != summary.Sent {
		t.Errorf("%d of %d requests were answered, want all:\n%s", summary.Completed, summary.Sent, text)
	}
}

// anHPAFollowsToTheLetter: bounds leave the variant no choice, and an HPA without
// tolerance sets just these replicas, up and down.
func anHPAFollowsToTheLetter(t *testing.T) {
	serve(t, Kind, boundModel, "llama-8b-l40s")
	for _, n := range []int32{3, 4, 2} {
		eventually(t, func(ctx context.Context) string { return bind(ctx, Kind, n) })
		begun := time.Now()
		eventually(t, func(ctx context.Context) string { return published(ctx, Kind, n) })
		eventually(t, func(ctx context.Context) string { return read(ctx, Kind, n) })
		eventually(t, func(ctx context.Context) string { return told(ctx, Kind, n) })
		t.Logf("%d replicas %s after they were decided", n, round(time.Since(begun)))
	}
	eventually(t, func(ctx context.Context) string { return is(ctx, Kind, "ScalerFollowing", "True") })
}

// openShiftAdmitsAndMeasures: the values for OpenShift as they are, restricted-v2 for
// every pod, and metrics that Thanos tells.
func openShiftAdmitsAndMeasures(t *testing.T) {
	if err := shared.InstallOpenShift(t.Context()); err != nil {
		t.Fatal(err)
	}
	url := serve(t, OpenShift, openShiftModel, "llama-8b-l40s")
	var pods corev1.PodList
	if err := shared.Client.List(t.Context(), &pods, client.InNamespace(shared.Namespace(OpenShift))); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if scc := p.Annotations["openshift.io/scc"]; scc != "restricted-v2" {
			t.Errorf("pod %s was admitted by SCC %q, want restricted-v2", p.Name, scc)
		}
	}
	stop := load(t, OpenShift, url, openShiftModel, "constant(7,1200s)")
	eventually(t, func(ctx context.Context) string { return ready(ctx, OpenShift, 2) })
	eventually(t, func(ctx context.Context) string { return noEvent(ctx, OpenShift, "ScaledUp", "") })
	stop()
}

// bind leaves a scenario's variant no choice but n replicas.
func bind(ctx context.Context, l Label, n int32) string {
	va, err := shared.Autoscaling(ctx, l)
	if err != nil {
		return err.Error()
	}
	before := va.DeepCopy()
	va.Spec.MinReplicas, va.Spec.MaxReplicas = n, &n
	if err := shared.Client.Patch(ctx, va, client.MergeFrom(before)); err != nil {
		return err.Error()
	}
	return ""
}

// published says that the API server serves another decision than n, or returns "".
func published(ctx context.Context, l Label, n int32) string {
	path := "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + shared.Namespace(l) + "/wva_desired_replicas"
	body, err := shared.Clients.Discovery().RESTClient().Get().AbsPath(path).Param("labelSelector", "variant_name="+string(l)).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	if want := fmt.Sprintf(`"value":"%d"`, n); strings.Count(string(body), want) != 1 {
		return fmt.Sprintf("External Metrics say %s, want %s once", body, want)
	}
	return ""
}

// read says that a scenario's HPA has read another decision than n, or returns "".
func read(ctx context.Context, l Label, n int32) string {
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := shared.Client.Get(ctx, client.ObjectKey{Namespace: shared.Namespace(l), Name: string(l)}, h); err != nil {
		return err.Error()
	}
	if h.Status.DesiredReplicas != n {
		return fmt.Sprintf("the HPA wants %d replicas, want %d: %+v", h.Status.DesiredReplicas, n, h.Status.Conditions)
	}
	return ""
}

// gone says that a pod of a scenario's variant is there, or returns "".
func gone(ctx context.Context, l Label) string {
	var pods corev1.PodList
	if err := shared.Client.List(ctx, &pods, client.InNamespace(shared.Namespace(l)), client.MatchingLabels{"app": string(l)}); err != nil {
		return err.Error()
	}
	if len(pods.Items) > 0 {
		return fmt.Sprintf("pod %s is there", pods.Items[0].Name)
	}
	return ""
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
