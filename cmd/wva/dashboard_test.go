package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/dashboard"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed/apitest"
)

// dashboardRun is a dashboard that runs.
type dashboardRun struct {
	t      *testing.T
	link   *url.URL
	client *http.Client
	end    func() error // as Ctrl-C does
}

// dashboardOf runs "wva dashboard".
func dashboardOf(t *testing.T, args ...string) *dashboardRun {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	command := newDashboardCommand()
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(args)
	command.SetOut(write)
	command.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() {
		err := command.ExecuteContext(ctx)
		write.CloseWithError(err)
		done <- err
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		stop()
		t.Fatalf("no link is printed: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	link, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	r := &dashboardRun{t: t, link: link, client: &http.Client{Jar: jar}, end: func() error {
		if ended {
			return nil
		}
		ended = true
		stop()
		return <-done
	}}
	t.Cleanup(func() { _ = r.end() })
	return r
}

// get reads a path as JSON into a value, or as it is where it is nil.
func (r *dashboardRun) get(path string, into any) (status int, text string) {
	r.t.Helper()
	at := *r.link
	at.RawQuery = ""
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, strings.TrimSuffix(at.String(), "/")+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(req, into)
}

func (r *dashboardRun) do(req *http.Request, into any) (status int, text string) {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, into); err != nil {
			r.t.Fatalf("%s: %v: %.200s", req.URL.Path, err, body)
		}
	}
	return resp.StatusCode, string(body)
}

// wait waits for the first cycle: events tell of it.
func (r *dashboardRun) wait() history.Fleet {
	r.t.Helper()
	resp, err := r.client.Get("http://" + r.link.Host + "/api/events")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var fleet history.Fleet
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if status, _ := r.get("/api/fleet", &fleet); status == http.StatusOK && fleet.Cycle != "" && !strings.HasPrefix(fleet.Source.Trouble, "the files are being read") {
			return fleet
		}
	}
	r.t.Fatal("the events end without a cycle")
	return history.Fleet{}
}

// recordFile writes the sample of a growing fleet as a record of one cycle.
func recordFile(t *testing.T) (file string, c record.Cycle) {
	t.Helper()
	c = growing(t)
	file = filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(file, append(c.Append(nil), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, c
}

func TestDashboardShowsARecord(t *testing.T) {
	file, c := recordFile(t)
	r := dashboardOf(t, "--record", file, "--no-open")
	if status, _ := r.get("/", nil); status != http.StatusUnauthorized {
		t.Errorf("before the link is opened the page answers %d", status)
	}
	resp, err := r.client.Get(r.link.String())
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Request.URL.RequestURI() != "/" || !strings.Contains(strings.ToLower(string(body)), "<!doctype html>") {
		t.Fatalf("the link leads to %s, which answers %s", resp.Request.URL, resp.Status)
	}
	fleet := r.wait()
	if fleet.Cycle != c.Cycle || fleet.Source.Name != file || len(fleet.Models) != 1 {
		t.Errorf("the fleet is %+v", fleet)
	}
	var decision dashboard.Decision
	d := c.Plan.Decisions[1]
	path := "/api/decision?" + url.Values{"namespace": {d.Variant.Namespace}, "name": {d.Variant.Name}, "cycle": {string(c.Cycle)}}.Encode()
	if status, text := r.get(path, &decision); status != http.StatusOK || !decision.Kept || len(decision.Why) == 0 {
		t.Errorf("the decision answers %d: %.300s", status, text)
	}
	for _, asset := range []string{"/assets/app.js", "/assets/app.css"} {
		if status, text := r.get(asset, nil); status != http.StatusOK || len(text) < 100 {
			t.Errorf("%s answers %d", asset, status)
		}
	}
	if err := r.end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if _, err := net.Dial("tcp", r.link.Host); err == nil {
		t.Error("after its end the port is open")
	}
}

// TestDashboardDecidesAsDecide changes a cycle by a what-if, and its file by hand for "wva decide".
func TestDashboardDecidesAsDecide(t *testing.T) {
	file, c := recordFile(t)
	r := dashboardOf(t, "--record", file, "--no-open")
	resp, err := r.client.Get(r.link.String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.wait()
	v := c.Snapshots[0].Variants[0]
	body := fmt.Sprintf(`{"namespace":%q,"model":%q,"min":{%q:6}}`, v.Model.Namespace, v.Model.ID, v.Key)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.link.Host+"/api/whatif", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", "http://"+r.link.Host)
	var got dashboard.WhatIf
	if status, text := r.do(req, &got); status != http.StatusOK {
		t.Fatalf("%d: %s", status, text)
	}

	var tree map[string]any
	if err := json.Unmarshal(c.Append(nil), &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "plan")
	variant := tree["snapshots"].([]any)[0].(map[string]any)["variants"].([]any)[0].(map[string]any)
	variant["bounds"].(map[string]any)["min"] = 6
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := executed(t, newDecideCommand(), string(text), "-f", "-", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Decisions []struct {
			Variant struct{ Name string }
			Steps   []struct{ To float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	want, found := map[string]float64{}, map[string]float64{}
	for _, d := range plan.Decisions {
		want[d.Variant.Name] = d.Steps[len(d.Steps)-1].To
	}
	for _, v := range got.New.Variants {
		found[v.Name] = v.Desired[0]
	}
	if len(want) != 2 || fmt.Sprint(found) != fmt.Sprint(want) || want[v.Key.Name] != 6 {
		t.Errorf("the what-if decides %v, wva decide %v", found, want)
	}
}

func TestDashboardSaysWhatItTakes(t *testing.T) {
	file, _ := recordFile(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	kubeconfig := kubeconfigOf(t, "http://127.0.0.1:1")
	t.Setenv("PROMETHEUS_BASE_URL", "")
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, tt := range []struct {
		args  []string
		usage bool
		want  string
	}{
		{[]string{file}, true, "dashboard takes no arguments without --record"},
		{[]string{"--record", "-"}, true, "--record -: want a file"},
		{[]string{"--record", file, "--port", "65536"}, true, "--port 65536: want 1 to 65535"},
		{[]string{"--record", file, "-n", "a"}, true, "--record and --namespace: want one of them"},
		{[]string{"--record", file, "--manager", "https://a"}, true, "--record and --manager: want one of them"},
		{[]string{"--record", file, "--prometheus", "https://a"}, true, "--record and --prometheus: want one of them"},
		{[]string{"--record", file, "--prometheus-timeout", "1s"}, true, "--prometheus-timeout has no meaning without --prometheus"},
		{[]string{"--prometheus-timeout", "1s"}, true, "--prometheus-timeout has no meaning without --prometheus"},
		{[]string{"--kubeconfig", kubeconfig, "--prometheus", "http://prometheus"}, true, "--prometheus: HTTPS is required"},
		{[]string{"--record", file + ".absent"}, false, "opening the record: "},
		{[]string{"--record", file, "--port", port}, false, "port " + port + " of 127.0.0.1 is in use by another process: name another with --port"},
		{[]string{"--kubeconfig", file + ".absent"}, false, ""},
	} {
		_, _, err := executed(t, newDashboardCommand(), "", append(tt.args, "--no-open")...)
		if err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

// kubeconfigOf writes a kubeconfig of an API server without credentials.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\n", server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDashboardReadsTheTimeBeforeTheManager follows a manager that began ten minutes ago, with a Prometheus that
// wants a token and has one value.
func TestDashboardReadsTheTimeBeforeTheManager(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	begins, before := now.Add(-10*time.Minute), now.Add(-30*time.Minute).Truncate(time.Minute)
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/fleet") {
			_ = json.NewEncoder(w).Encode(history.Fleet{Cycle: "p-1", Interval: 60, At: history.At(now)})
			return
		}
		_ = json.NewEncoder(w).Encode(history.ModelHistory{Begins: history.At(begins), To: history.At(now)})
	}))
	defer manager.Close()
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-the-user" || r.FormValue("query") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"wva_desired_replicas","variant_name":"a"},"values":[[%d,"3"]]}]}}`, before.Unix())
	}))
	defer prometheus.Close()
	t.Setenv("PROMETHEUS_BEARER_TOKEN", "of-the-user")
	t.Setenv("PROMETHEUS_BASE_URL", prometheus.URL)
	r := dashboardOf(t, "--kubeconfig", kubeconfigOf(t, manager.URL), "--manager", manager.URL, "--allow-insecure-prometheus", "--no-open")
	resp, err := r.client.Get(r.link.String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.wait()
	var h history.ModelHistory
	status, text := r.get(fmt.Sprintf("/api/model?namespace=a&model=m&from=%d", now.Add(-time.Hour).Unix()), &h)
	if status != http.StatusOK || h.Before.Source != prometheus.URL || len(h.Variants) != 1 || !h.Before.From.Equal(before) || h.Variants[0].Desired[0] != 3 {
		t.Errorf("%d: %.600s", status, text)
	}
}

func TestDashboardEndsWhereTheRecordHoldsNoCycle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(file, []byte("nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, err := executed(t, newDashboardCommand(), "", "--record", file, "--no-open")
	if err == nil || !strings.HasPrefix(err.Error(), "there is no cycle in "+file) || !strings.HasPrefix(out, "http://127.0.0.1:") {
		t.Errorf("got %v, printed %q", err, out)
	}
}

// TestDashboardReadsWhatTheUserMayReadOnAPIServer follows a manager that refuses the whole fleet and one
// namespace, as a user of the API server who has rights in two.
func TestDashboardReadsWhatTheUserMayReadOnAPIServer(t *testing.T) {
	const user = "reader"
	c := cluster{apitest.Start(t)}
	for _, namespace := range []string{"mine", "ours", "theirs"} {
		if err := c.Namespace(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		if namespace == "theirs" {
			continue
		}
		in := metav1.ObjectMeta{Namespace: namespace, Name: user}
		role := &rbacv1.Role{ObjectMeta: in, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"llmd.ai"}, Resources: []string{"variantautoscalings"}, Verbs: []string{"get"}}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: in, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		}
		if err := errors.Join(c.Client.Create(t.Context(), role), c.Client.Create(t.Context(), binding)); err != nil {
			t.Fatal(err)
		}
	}
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch namespace := strings.TrimPrefix(r.URL.Path, "/debug/fleet/"); namespace {
		case "mine", "ours":
			_ = json.NewEncoder(w).Encode(history.Fleet{Cycle: "p-1", Interval: 60, Models: []history.Model{{Namespace: namespace, Model: "m"}}})
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":"you need get of variantautoscalings.llmd.ai"}`))
		}
	}))
	defer manager.Close()
	kubeconfig := c.as(t, user)
	show := func(args ...string) history.Fleet {
		t.Helper()
		r := dashboardOf(t, append([]string{"--kubeconfig", kubeconfig, "--manager", manager.URL, "--no-open"}, args...)...)
		resp, err := r.client.Get(r.link.String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return r.wait()
	}
	models := func(f history.Fleet) (out []string) {
		for _, m := range f.Models {
			out = append(out, m.Namespace)
		}
		return out
	}
	f := show("-n", "theirs, mine")
	if !slices.Equal(models(f), []string{"mine"}) || len(f.Refused) != 1 || f.Refused[0] != "namespace theirs: asking the manager: 403 Forbidden: you need get of variantautoscalings.llmd.ai" {
		t.Errorf("of two that are named: %q, refused %q", models(f), f.Refused)
	}
	list := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "list-namespaces"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "list-namespaces"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "list-namespaces"},
	}
	if err := errors.Join(c.Client.Create(t.Context(), list), c.Client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	f = show()
	if !slices.Equal(models(f), []string{"mine", "ours"}) || len(f.Refused) != 1 || !strings.Contains(f.Refused[0], "theirs") || strings.Contains(f.Refused[0], "mine") {
		t.Errorf("of all: %q, refused %q", models(f), f.Refused)
	}
}
