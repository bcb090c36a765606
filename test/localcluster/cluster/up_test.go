package cluster

import (
	"strings"
	"testing"
)

func TestUpSaysHowToPointAShellToTheCluster(t *testing.T) {
	var out strings.Builder
	u := &up{
		UpOptions: UpOptions{Out: &out, Executable: "/x/.local/bin/localcluster", Images: []string{"manager=/x/bin/manager", "other=/x/bin/other"}},
		state:     &State{Kubeconfig: "/x/.local/kubeconfig", Kubectl: "/x/.local/bin/kubectl", Prometheus: "http://127.0.0.1:9090"},
	}
	u.say(nil, 0)
	want := "everything is running already\n  export KUBECONFIG=/x/.local/kubeconfig PATH=/x/.local/bin:/x/bin:$PATH\n  Prometheus: http://127.0.0.1:9090\n"
	if got := out.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
