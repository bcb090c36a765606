package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// FileKey is the key of a ConfigMap of KindSettings that may hold all settings together, as YAML.
const FileKey = "config.yaml"

// processKeys returns the settings that the process reads once at its start. Published files hold
// them beside the others.
func processKeys() []string {
	return []string{
		"ALLOW_INSECURE_PROMETHEUS", "CONFIG_FILE", "CONFIG_MAP_NAME", "CONTROLLER_INSTANCE", "ENABLE_HTTP2",
		"EPP_BEARER_TOKEN", "EPP_PORT", "EPP_SELECTOR", "EPP_TOKEN_PATH",
		"EXTERNAL_METRICS_BIND_ADDRESS", "EXTERNAL_METRICS_CERT_PATH",
		"EXTERNAL_SCALER_ANY_CLIENT", "EXTERNAL_SCALER_BIND_ADDRESS", "EXTERNAL_SCALER_CERT_PATH", "EXTERNAL_SCALER_CLIENT_CA_PATH", "GPU_VENDORS", "HEALTH_PROBE_BIND_ADDRESS",
		"LEADER_ELECT", "LEADER_ELECTION_ID", "LEADER_ELECTION_LEASE_DURATION", "LEADER_ELECTION_RENEW_DEADLINE",
		"LEADER_ELECTION_RETRY_PERIOD", "LEGACY_METRIC_NAMES", "METRICS_BIND_ADDRESS", "METRICS_CERT_KEY",
		"METRICS_CERT_NAME", "METRICS_CERT_PATH", "METRICS_SECURE", "POD_NAMESPACE",
		"PROMETHEUS_BUDGET", "PROMETHEUS_MAX_RESPONSE_BYTES", "PROMETHEUS_PROXY_URL", "PROMETHEUS_RETRIES", "PROMETHEUS_TIMEOUT", "RECORD_FILE", "RECORD_MAX_BYTES",
		"REST_CLIENT_TIMEOUT", "SATURATION_CONFIG_MAP_NAME",
		"SCRAPE_CA_CERT_PATH", "SCRAPE_CLIENT_CERT_PATH", "SCRAPE_CLIENT_KEY_PATH", "SCRAPE_INTERVAL", "SCRAPE_SERVER_NAME",
		"SCRAPE_TLS_INSECURE_SKIP_VERIFY", "WATCH_NAMESPACE",
		"WVA_NAMESPACE_BATCH_SIZES", "WVA_NAMESPACE_EVENTS", "WVA_NAMESPACE_FINDINGS", "WVA_NAMESPACE_OBJECT_BYTES",
		"WVA_NAMESPACE_PAGE_BYTES", "WVA_NAMESPACE_SERIES", "WVA_NAMESPACE_VARIANTS", "WVA_NODE_SELECTOR", "WVA_STORE",
	}
}

// settingsReader reads ConfigMaps of KindSettings.
type settingsReader struct {
	fields          []field[Settings]
	defaults        Settings
	explicit        values
	origins         map[string]string // of the explicit values
	allowInsecure   bool
	systemNamespace string
}

// newSettingsReader reads the explicit settings. Its caller has validated them; one that still
// cannot be read is an error.
func newSettingsReader(options StoreOptions) (*settingsReader, error) {
	r := &settingsReader{
		fields: settingFields(), defaults: defaultSettings(),
		explicit: values{}, origins: map[string]string{}, allowInsecure: options.AllowInsecurePrometheus, systemNamespace: options.SystemNamespace,
	}
	for _, f := range r.fields {
		value, origin, ok := options.Explicit.Lookup(f.Name)
		if value = strings.TrimSpace(value); !ok || value == "" {
			continue
		}
		v, ok := f.parse(plainText(value))
		if !ok {
			return nil, &FieldError{Key: f.Name, Value: f.shown(plainText(value)), Want: f.Accepts}
		}
		r.explicit[f.Name], r.origins[f.Name] = v, origin
	}
	for _, rule := range settingRules(r.allowInsecure) {
		for _, key := range rule.keys {
			v, ok := r.explicit[key]
			switch {
			case !ok || !rule.broken(r.settings()):
			case rule.want == httpsRequired:
				return nil, errors.New(insecure(renderValue(v)))
			default:
				return nil, &FieldError{Key: key, Value: renderValue(v), Want: rule.want}
			}
		}
	}
	return r, nil
}

// read returns the accepted settings of a ConfigMap; the last good value replaces a refused one.
// Outside the system namespace only keys that are PerNamespace are accepted.
func (r *settingsReader) read(of Source, system bool, last values) (values, []Finding) {
	f, last := newFindings(of), maps.Clone(last)
	if !system {
		f.concerns = Scope{Namespace: of.Namespace}
	}
	written := r.written(of, f, last)
	out := values{}
	for _, known := range r.fields {
		raw, ok := written[known.Name]
		if !ok {
			continue
		}
		delete(written, known.Name)
		if !system && !known.PerNamespace {
			f.add(Finding{Severity: Refused, Key: known.Name, Problem: "is of the whole manager and is read in the system namespace only, which is " + r.systemNamespace + " here", InForce: "all but this key"})
			continue
		}
		if origin, ok := r.origins[known.Name]; ok {
			f.add(Finding{Severity: Doubtful, Key: known.Name, Problem: "is overridden by " + origin})
			continue
		}
		v, ok := known.parse(plainText(strings.TrimSpace(raw)))
		if !ok {
			kept := r.keep(known, out, last)
			if !system && out[known.Name] == nil {
				kept = "what holds in the system namespace"
			}
			f.add(Finding{Severity: Refused, Key: known.Name, Value: known.shown(plainText(raw)), Want: known.Accepts, Nearest: known.nearest(plainText(raw)), InForce: kept})
			continue
		}
		out[known.Name] = v
	}
	r.unknown(written, f)
	if system {
		r.enforce(out, last, f)
		if d := r.settings(out).Cache.StaleThreshold; d != 0 && out["PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD"] != nil {
			f.add(Finding{Severity: Doubtful, Key: "PROMETHEUS_METRICS_CACHE_STALE_THRESHOLD", Value: d.String(), Problem: "has no effect, as in the versions that published it"})
		}
	}
	return out, f.all()
}

// written returns the keys of the ConfigMap and those under FileKey. A key of the ConfigMap
// overrides the same key under FileKey. Empty values are not set.
func (r *settingsReader) written(of Source, f *findings, last values) map[string]string {
	out := map[string]string{}
	if file, ok := of.Data[FileKey]; ok {
		parsed, faults, err := parseSettingsText(file)
		if err != nil {
			f.add(Finding{Severity: Refused, Key: FileKey, Problem: "is not read: " + err.Error(), Want: "YAML with one setting per line", InForce: "the last good values"})
			// A file that cannot be read does not take back its last good values.
			for _, known := range r.fields {
				if _, here := of.Data[known.Name]; !here && last[known.Name] != nil {
					out[known.Name] = renderValue(last[known.Name])
				}
			}
		}
		maps.Copy(out, parsed)
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			f.add(Finding{Severity: Refused, Key: FileKey, Field: name, Value: faults[name], Want: "text, a number, true or false"})
		}
	}
	for key, value := range of.Data {
		if key == FileKey {
			continue
		}
		delete(out, key)
		if strings.TrimSpace(value) != "" {
			out[key] = value
		}
	}
	return out
}

// unknown adds findings for keys that a ConfigMap cannot set.
func (r *settingsReader) unknown(written map[string]string, f *findings) {
	var known []string
	for _, field := range r.fields {
		known = append(known, field.Name)
	}
	process := processKeys()
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if replaced, ok := publishedKey(key); ok {
			f.add(Finding{Severity: Doubtful, Key: key, Problem: "is a key of an earlier version, and this key alone has no effect: " + replaced})
			continue
		}
		if slices.Contains(process, key) {
			f.add(Finding{Severity: Doubtful, Key: key, Problem: "is a setting of the process: a flag, an environment variable or a line of --config-file; it has no effect here"})
			continue
		}
		f.unknown("", key, known)
	}
}

// keep restores the last good value of a key, if there is one, and says what is in force.
func (r *settingsReader) keep(known field[Settings], out, last values) string {
	if v, ok := last[known.Name]; ok {
		out[known.Name] = v
		return "the last good value " + known.shown(plainText(renderValue(v)))
	}
	return "the default " + cmp.Or(known.Default, `""`)
}

// enforce removes settings that break a rule: first the new ones, else any that a ConfigMap set.
func (r *settingsReader) enforce(out, last values, f *findings) {
	for _, rule := range settingRules(r.allowInsecure) {
		for rule.broken(r.settings(out)) {
			key, ok := r.blame(rule, out, last)
			if !ok {
				break // only explicit values and defaults are left; the operator refuses those
			}
			known := r.fields[slices.IndexFunc(r.fields, func(k field[Settings]) bool { return k.Name == key })]
			found := Finding{Severity: Refused, Key: key, Value: known.shown(plainText(renderValue(out[key]))), Want: rule.want}
			if rule.want == httpsRequired {
				found.Problem, found.Want = insecure(renderValue(out[key])), ""
			}
			delete(out, key)
			found.InForce = r.keep(known, out, last)
			f.add(found)
		}
	}
}

// blame chooses which of a rule's keys is removed: one with a new value, else any. It chooses a key
// at most twice: for its new value, then for that of last.
func (r *settingsReader) blame(broken rule, out, last values) (string, bool) {
	for _, key := range broken.keys {
		if v, ok := out[key]; ok && renderValue(v) != renderValue(last[key]) {
			return key, true
		}
	}
	for _, key := range broken.keys {
		if _, ok := out[key]; ok {
			delete(last, key)
			return key, true
		}
	}
	return "", false
}

// settings applies values to the defaults, layer by layer, and the explicit ones last.
func (r *settingsReader) settings(in ...values) Settings {
	s := r.defaults
	for _, layer := range in {
		applyFields(r.fields, &s, layer)
	}
	applyFields(r.fields, &s, r.explicit)
	return s
}
