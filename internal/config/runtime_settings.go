package config

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
)

// annotatedKey is the key that sets Settings.AnnotatedScalers.
const annotatedKey = "WVA_ANNOTATION_DISCOVERY"

// Settings are the settings of the manager that a ConfigMap may change while it runs.
type Settings struct {
	// Interval is the time between cycles, 1s to 1h.
	Interval time.Duration
	// Executor says when cycles run, one of Executors.
	Executor string
	// ScaleToZero applies to models whose entries of KindScaleToZero do not say it.
	ScaleToZero bool
	// LimitedMode is whether decisions stay within the inventory, for models whose enableLimiter is
	// not set.
	LimitedMode bool
	// TrustNamespaces is whether namespaces set priority and limited mode for their own models: by
	// priority, enableLimiter and WVA_LIMITED_MODE of their ConfigMaps, and by models that name a
	// class of the system.
	TrustNamespaces bool
	// AnnotatedScalers is whether HorizontalPodAutoscalers and ScaledObjects with the annotation
	// llm-d.ai/managed are variants.
	AnnotatedScalers bool
	// Advisory is whether decisions are only published as advice and not carried out.
	Advisory bool
	// ShareProfiles is whether the speed of replicas learned in one namespace is a prior for
	// replicas of the same model, accelerators and pod template in others.
	ShareProfiles bool
	Backend       string // one of Backends
	LogLevel      string // one of LogLevels
	// Prometheus holds the fields that a ConfigMap may set. The others, such as Timeout, are
	// settings of the process and zero here.
	Prometheus Prometheus
	Cache      Cache
}

// Onto returns a copy of the operator's configuration with these settings.
func (s Settings) Onto(o Operator) Operator {
	o.Interval, o.Executor, o.LogLevel = s.Interval, s.Executor, s.LogLevel
	o.Collector.Backend, o.Collector.Cache = s.Backend, s.Cache
	p := s.clone().Prometheus
	of := &o.Prometheus
	of.BaseURL, of.ServerName, of.InsecureSkipVerify = p.BaseURL, p.ServerName, p.InsecureSkipVerify
	of.CACertPath, of.ClientCertPath, of.ClientKeyPath = p.CACertPath, p.ClientCertPath, p.ClientKeyPath
	of.BearerToken, of.TokenPath = p.BearerToken, p.TokenPath
	of.Username, of.Password, of.Headers = p.Username, p.Password, p.Headers
	of.MetricPrefixes = p.MetricPrefixes
	return o
}

// LogLevels returns the log levels, the most verbose first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// clone returns a deep copy.
func (s Settings) clone() Settings {
	s.Prometheus.Headers = maps.Clone(s.Prometheus.Headers)
	s.Prometheus.MetricPrefixes = slices.Clone(s.Prometheus.MetricPrefixes)
	return s
}

// settingFields are the keys of KindSettings. Their ranges are those of the flags and environment
// variables of the same meaning.
func settingFields() []field[Settings] {
	fields := []field[Settings]{
		durationField(Key{Name: "GLOBAL_OPT_INTERVAL", Default: "60s", Meaning: "time between cycles"},
			time.Second, time.Hour, func(s *Settings) *time.Duration { return &s.Interval }),
		choiceField(Key{Name: "WVA_EXECUTOR", Default: ExecutorHybrid, Meaning: "when cycles run: at the interval and on changes, at the interval, or on changes"},
			Executors(), func(s *Settings) *string { return &s.Executor }),
		truthField(Key{Name: "WVA_SCALE_TO_ZERO", Default: "false", PerNamespace: true, Meaning: "whether models without a say in it scale to zero"},
			func(s *Settings) *bool { return &s.ScaleToZero }),
		truthField(Key{Name: "WVA_LIMITED_MODE", Default: "false", PerNamespace: true, Meaning: "whether the inventory bounds decisions, where enableLimiter is not set"},
			func(s *Settings) *bool { return &s.LimitedMode }),
		truthField(Key{Name: trustKey, Default: "true", Meaning: "whether a namespace sets priority, enableLimiter and WVA_LIMITED_MODE for its own models"},
			func(s *Settings) *bool { return &s.TrustNamespaces }),
		truthField(Key{Name: annotatedKey, Default: "true", Meaning: "whether an HPA or ScaledObject with the annotation llm-d.ai/managed is a variant without a VariantAutoscaling"},
			func(s *Settings) *bool { return &s.AnnotatedScalers }),
		truthField(Key{Name: "WVA_ADVISORY", Default: "false", Meaning: "whether all decisions are advice: published as wva_advised_replicas and not carried out, as with the annotation wva.llmd.ai/actuation: advisory"},
			func(s *Settings) *bool { return &s.Advisory }),
		truthField(Key{Name: "WVA_SHARE_PROFILES", Default: "false", Meaning: "whether the learned speed of replicas is where learning begins in other namespaces, for the same model, accelerators and pod template"},
			func(s *Settings) *bool { return &s.ShareProfiles }),
		choiceField(Key{Name: "COLLECTOR_BACKEND", Default: BackendPrometheus, AtStart: true, Meaning: "where metrics are read"},
			Backends(), func(s *Settings) *string { return &s.Backend }),
		choiceField(Key{Name: "LOG_LEVEL", Default: "info", Meaning: "the least important lines that are logged"},
			LogLevels(), func(s *Settings) *string { return &s.LogLevel }),
	}
	fields = append(fields, prometheusFields()...)
	fields = append(fields, cacheFields()...)
	for i := range fields {
		fields[i].In = KindSettings
	}
	return fields
}

func prometheusFields() []field[Settings] {
	str := func(name, accepts, meaning string, at func(*Prometheus) *string) field[Settings] {
		return textField(Key{Name: "PROMETHEUS_" + name, Accepts: accepts, Meaning: meaning},
			func(s *Settings) *string { return at(&s.Prometheus) })
	}
	const file = "the path of a file in the manager's container"
	return []field[Settings]{
		newField(Key{Name: "PROMETHEUS_BASE_URL", Type: "text", Accepts: "a URL such as https://prometheus:9090", Meaning: "URL of the Prometheus HTTP API"},
			baseURL, func(s *Settings) *string { return &s.Prometheus.BaseURL }),
		str("CA_CERT_PATH", file, "CA certificates that Prometheus is verified by", func(p *Prometheus) *string { return &p.CACertPath }),
		str("CLIENT_CERT_PATH", file, "client certificate shown to Prometheus", func(p *Prometheus) *string { return &p.ClientCertPath }),
		str("CLIENT_KEY_PATH", file, "key of the client certificate", func(p *Prometheus) *string { return &p.ClientKeyPath }),
		str("SERVER_NAME", "a host name", "name that the certificate of Prometheus must carry, if not the URL's", func(p *Prometheus) *string { return &p.ServerName }),
		str("BEARER_TOKEN", "a token", "bearer token for Prometheus; prefer a token file", func(p *Prometheus) *string { return &p.BearerToken }).hidden(),
		str("TOKEN_PATH", file, "bearer token for Prometheus, read again when the file changes", func(p *Prometheus) *string { return &p.TokenPath }),
		newField(Key{Name: "PROMETHEUS_HEADERS", Type: "text", Accepts: "Name=value pairs, separated by commas", Meaning: "headers for Prometheus, for example a tenant"},
			headers, func(s *Settings) *map[string]string { return &s.Prometheus.Headers }).hidden(),
		newField(Key{Name: "PROMETHEUS_METRIC_PREFIXES", Type: "text", Default: query.DefaultPrefixes().String(), Accepts: wantPrefixes, Meaning: "what the names of vLLM's metrics begin with, the preferred first; read by every backend"},
			metricPrefixes, func(s *Settings) *query.Prefixes { return &s.Prometheus.MetricPrefixes }),
		str("USERNAME", "text", "user name for Prometheus", func(p *Prometheus) *string { return &p.Username }),
		str("PASSWORD", "text", "password for Prometheus", func(p *Prometheus) *string { return &p.Password }).hidden(),
		truthField(Key{Name: "PROMETHEUS_TLS_INSECURE_SKIP_VERIFY", Default: "false", Meaning: "do not verify the certificate of Prometheus"},
			func(s *Settings) *bool { return &s.Prometheus.InsecureSkipVerify }),
	}
}

func cacheFields() []field[Settings] {
	const name = "PROMETHEUS_METRICS_CACHE_"
	age := func(suffix, def, accepts, meaning string, shortest, longest time.Duration, at func(*Cache) *time.Duration) field[Settings] {
		return durationField(Key{Name: name + suffix, Default: def, Accepts: accepts, Meaning: meaning},
			shortest, longest, func(s *Settings) *time.Duration { return at(&s.Cache) })
	}
	const uptoUnavailable = "a duration from 1s to " + name + "UNAVAILABLE_THRESHOLD"
	return []field[Settings]{
		truthField(Key{Name: name + "ENABLED", Default: "true", Meaning: "keep measurements between cycles"},
			func(s *Settings) *bool { return &s.Cache.Enabled }),
		choiceField(Key{Name: name + "MODE", Default: CacheFixed, Meaning: "how long measurements are kept"},
			CacheModes(), func(s *Settings) *string { return &s.Cache.Mode }),
		age("TTL", "30s", uptoUnavailable, "time that a measurement is kept", time.Second, time.Hour, func(c *Cache) *time.Duration { return &c.TTL }),
		age("CLEANUP_INTERVAL", "5m", "", "time between removals of what has expired", time.Second, 24*time.Hour, func(c *Cache) *time.Duration { return &c.CleanupInterval }),
		countField(Key{Name: name + "MAX_ENTRIES", Default: "10000", Meaning: "models kept at most"},
			1, 1_000_000, func(s *Settings) *int { return &s.Cache.MaxEntries }),
		newField(Key{Name: name + "FETCH_INTERVAL", Type: "duration", Default: "15s", Accepts: uptoUnavailable + ", or 0 for off", Meaning: "time between background fetches"},
			fetchInterval, func(s *Settings) *time.Duration { return &s.Cache.FetchInterval }),
		age("FRESH_THRESHOLD", "1m", "a duration from 1s to "+name+"UNAVAILABLE_THRESHOLD", "age at which metrics stop being fresh, at least", time.Second, time.Hour,
			func(c *Cache) *time.Duration { return &c.FreshThreshold }),
		age("STALE_THRESHOLD", "0s", "a duration, which has no effect", "without effect, as published", 0, math.MaxInt64, func(c *Cache) *time.Duration { return &c.StaleThreshold }),
		age("UNAVAILABLE_THRESHOLD", "5m", "a duration from "+name+"FRESH_THRESHOLD to 1h", "age at which metrics count for nothing, at least", time.Second, time.Hour,
			func(c *Cache) *time.Duration { return &c.UnavailableThreshold }),
	}
}

// defaultSettings returns the settings where nothing is set.
func defaultSettings() Settings {
	var s Settings
	for _, f := range settingFields() {
		if v, ok := f.parse(plainText(f.Default)); ok {
			f.apply(&s, v)
		}
	}
	return s
}
