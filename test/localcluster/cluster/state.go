package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State is the content of cluster.json. All paths are absolute.
type State struct {
	Kubeconfig          string `json:"kubeconfig"`          // of the administrator
	APIServer           string `json:"apiServer"`           // base URL
	Prometheus          string `json:"prometheus"`          // base URL
	PrometheusConfigDir string `json:"prometheusConfigDir"` // scrape configuration files, *.yml, read on POST /-/reload
	CACert              string `json:"caCert"`              // signs the API server's certificate and may sign others
	CAKey               string `json:"caKey"`
	Kubectl             string `json:"kubectl"`
	// AuditLog has a line for each request that a service account made, as an
	// audit.k8s.io/v1 Event at level Metadata, in JSON.
	AuditLog  string    `json:"auditLog"`
	Network   network   `json:"network"`   // addresses of Services and of pods of this machine, kept
	Ports     ports     `json:"ports"`     // kept by a restart
	Processes []Process `json:"processes"` // in the order of their start
}

// Process is one recorded process of a cluster.
type Process struct {
	Name      string `json:"name"`
	PID       int    `json:"pid"`
	StartTime string `json:"startTime"` // opaque: compare for equality only
	Log       string `json:"log"`
}

// Load reads the state of the cluster in dir. The error wraps fs.ErrNotExist if
// there is no cluster.
func Load(dir string) (*State, error) {
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("reading the state in %s: %w", dir, err)
	}
	return &s, nil
}

const stateFile = "cluster.json"

// loadOrNew returns the state like Load, or the state of a new cluster where there is none.
func loadOrNew(l layout) (*State, error) {
	s, err := Load(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &State{
			Kubeconfig:          l.path("kubeconfig"),
			PrometheusConfigDir: l.path("prometheus", "scrape.d"),
			CACert:              l.path("pki", "ca.crt"),
			CAKey:               l.path("pki", "ca.key"),
			Kubectl:             l.path("bin", "kubectl"),
			AuditLog:            l.path("data", "audit.log"),
			Network:             chooseNetwork(),
			Processes:           []Process{},
		}, nil
	}
	return s, err
}

// save replaces cluster.json in one step, so that no reader sees half of it.
func (s *State) save(l layout) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the state: %w", err)
	}
	if err := replace(l.path(stateFile), append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

func (s *State) process(name string) (Process, bool) {
	for _, p := range s.Processes {
		if p.Name == name {
			return p, true
		}
	}
	return Process{}, false
}

// record adds p, in place of an earlier process of that name.
func (s *State) record(p Process) {
	for i := range s.Processes {
		if s.Processes[i].Name == p.Name {
			s.Processes[i] = p
			return
		}
	}
	s.Processes = append(s.Processes, p)
}

// layout names the files of a cluster.
type layout struct{ dir string }

func newLayout(dir string) (layout, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("resolving %s: %w", dir, err)
	}
	return layout{absolute}, nil
}

func (l layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

// log returns the path of the log of a component.
func (l layout) log(component string) string { return l.path("log", component+".log") }

func (l layout) makeDirs() error {
	for _, d := range []string{"bin", "log", "pki", "data", "data/prometheus", "prometheus/scrape.d"} {
		if err := os.MkdirAll(l.path(d), 0o755); err != nil {
			return fmt.Errorf("making the folders of the cluster: %w", err)
		}
	}
	return nil
}

// replace writes a file by renaming a complete one over it.
func replace(path string, content []byte, mode fs.FileMode) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
