package monitor

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
)

// scrapeReload is the time over which changes of targets are gathered before they take effect.
const scrapeReload = model.Duration(time.Second)

// reload reads the configuration file and the scrape_config_files that it names. After an error the
// previous configuration stays in force. Of two reloads at once, the one that reads last applies
// last.
func (s *server) reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	cfg, jobs, err := s.read()
	if err == nil {
		err = errors.Join(s.scrape.ApplyConfig(cfg), s.discovery.ApplyConfig(jobs))
	}
	if err != nil {
		if old := s.current.Load(); old != nil {
			s.current.Store(&loaded{config: old.config, at: old.at})
		}
		return fmt.Errorf("applying %s: %w", s.options.ConfigFile, err)
	}
	s.current.Store(&loaded{config: cfg, ok: true, at: time.Now()})
	s.log.Info("configuration applied", "jobs", len(jobs))
	return nil
}

func (s *server) read() (*config.Config, map[string]discovery.Configs, error) {
	cfg, err := config.LoadFile(s.options.ConfigFile, false, s.log)
	if err != nil {
		return nil, nil, err
	}
	scrapes, err := cfg.GetScrapeConfigs()
	if err != nil {
		return nil, nil, err
	}
	jobs := make(map[string]discovery.Configs, len(scrapes))
	for _, scrape := range scrapes {
		jobs[scrape.JobName] = scrape.ServiceDiscoveryConfigs
	}
	return cfg, jobs, nil
}

// config returns the configuration in force; Serve reads one before it serves.
func (s *server) config() config.Config { return *s.current.Load().config }
