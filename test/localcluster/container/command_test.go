package container

import (
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestAddressesToListenOnGetThePods(t *testing.T) {
	for text, want := range map[string]string{
		":8443":                                "127.9.8.7:8443",
		"--metrics-bind-address=:8443":         "--metrics-bind-address=127.9.8.7:8443",
		"-listen=0.0.0.0:80":                   "-listen=127.9.8.7:80",
		"[::]:80":                              "127.9.8.7:80",
		"--metrics-bind-address=0":             "--metrics-bind-address=0",
		"localhost:8443":                       "localhost:8443",
		"http://:8443":                         "http://:8443",
		"--backend=10.0.0.1:80":                "--backend=10.0.0.1:80",
		"--time=12:30":                         "--time=12:30",
		":8443 and more":                       ":8443 and more",
		"--prometheus-url=http://127.0.0.1:90": "--prometheus-url=http://127.0.0.1:90",
	} {
		if got := listenOn(text, "127.9.8.7"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestPathsOfVolumesAreThoseOfTheirFolders(t *testing.T) {
	mounts := []*runtimeapi.Mount{
		{ContainerPath: "/etc/wva", HostPath: "/k/etc/wva"},
		{ContainerPath: "/etc/wva/metrics", HostPath: "/k/metrics"},
		{ContainerPath: accountPath, HostPath: "/k/account"},
	}
	for text, want := range map[string]string{
		"/etc/wva":                             "/k/etc/wva",
		"--metrics-cert-path=/etc/wva/metrics": "--metrics-cert-path=/k/metrics",
		"/etc/wva/metrics/tls.crt":             "/k/metrics/tls.crt",
		"/etc/wva/metrics-other/tls.crt":       "/k/etc/wva/metrics-other/tls.crt",
		"/etc/wvab":                            "/etc/wvab",
		"/usr/etc/wva":                         "/usr/etc/wva",
		"./etc/wva":                            "./etc/wva",
		"file:///etc/wva":                      "file:///etc/wva",
		"/etc/wva:/etc/wva/metrics,x":          "/k/etc/wva:/k/metrics,x",
		accountPath + "/token":                 "/k/account/token",
		"":                                     "",
	} {
		if got := replacePaths(text, mounts); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
