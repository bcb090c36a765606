package cluster

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// sleeper starts a process that ends only by a signal, and records it.
func sleeper(t *testing.T) Process {
	t.Helper()
	command := exec.Command("sleep", "600")
	if err := command.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	t.Cleanup(func() { _ = command.Process.Kill(); <-exited })
	started, running := identity(command.Process.Pid)
	if !running {
		t.Fatal("a process that was started does not run")
	}
	return Process{Name: "sleep", PID: command.Process.Pid, StartTime: started}
}

func TestStopEndsTheRecordedProcess(t *testing.T) {
	p := sleeper(t)
	if err := stop(t.Context(), []Process{p}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if p.alive() {
		t.Error("the process still runs")
	}
}

func TestStopLeavesAProcessThatGotTheIDLater(t *testing.T) {
	p := sleeper(t)
	recorded := p
	recorded.StartTime = "an earlier time"
	if err := stop(t.Context(), []Process{recorded}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !p.alive() {
		t.Error("a process that only has the recorded id was ended")
	}
}

func TestLockWaitsForTheOtherCommand(t *testing.T) {
	l := layout{t.TempDir()}
	unlock, err := lock(t.Context(), l, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(waiting, l, io.Discard); err == nil {
		t.Error("two commands hold the lock")
	}
	unlock()
	unlock, err = lock(t.Context(), l, io.Discard)
	if err != nil {
		t.Fatal("after the other command:", err)
	}
	unlock()
}

func TestPortsDiffer(t *testing.T) {
	p, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range []int{p.Etcd, p.EtcdPeer, p.APIServer, p.ControllerManager, p.Scheduler, p.Prometheus} {
		if seen[port] || port < firstPort || port >= lastPort {
			t.Errorf("port %d is chosen twice or out of range, in %+v", port, p)
		}
		seen[port] = true
	}
}

func TestServingCertificateIsOfTheCluster(t *testing.T) {
	l := layout{t.TempDir()}
	if err := l.makeDirs(); err != nil {
		t.Fatal(err)
	}
	n := chooseNetwork()
	if err := makePKI(l, n); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(readCertificate(t, l, "ca"))
	for _, name := range []string{loopback, "localhost", "kubernetes.default.svc", n.apiServer().String()} {
		if _, err := readCertificate(t, l, "serving").Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	before := readFile(t, l.path("pki", "ca.crt"))
	if err := makePKI(l, n); err != nil {
		t.Fatal(err)
	}
	if readFile(t, l.path("pki", "ca.crt")) != before {
		t.Error("a second start made another CA")
	}
}

func TestTailShowsTheLastLines(t *testing.T) {
	log := layout{t.TempDir()}.path("x.log")
	if err := os.WriteFile(log, []byte(strings.Repeat("early\n", 5000)+"the reason\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tail(log)
	if !strings.HasSuffix(got, "the reason") || strings.Count(got, "\n") != tailLines {
		t.Errorf("got %q, want %d lines that end with the reason", got, tailLines)
	}
}

func readCertificate(t *testing.T, l layout, name string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(readFile(t, l.path("pki", name+".crt"))))
	if block == nil {
		t.Fatalf("no certificate in %s.crt", name)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
