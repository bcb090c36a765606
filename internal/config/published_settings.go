package config

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// publishedSetting is a flag or variable of earlier versions that is not a setting of define. The
// manager accepts it where those versions did, and Parse reports it once.
type publishedSetting struct {
	flag, env string // "" where there was none
	truth     bool   // a flag that needs no value
	// replaced names the setting that replaces it, or says why there is none.
	replaced string
	// becomes returns the variable and the value that a value stands for, and in lost the part of
	// it without effect, "" for none. key is "" for a value that asks for the default. Nil is a
	// name without any effect. An error says which values were accepted.
	becomes func(value string) (key, as, lost string, err error)
}

// publishedSettings returns them in order of precedence: of two that stand for one setting, the
// first wins.
func publishedSettings() []publishedSetting {
	const (
		noWebhook = "there is no webhook: the API server itself validates VariantAutoscalings by the rules of their definition"
		oneGate   = "one pass decides about all models that wait at zero, so there is nothing to limit"
		noPools   = "InferencePools are not read: EPP_SELECTOR selects the endpoint pickers"
		jsonLines = "every line of the log is one JSON object with a time to the nanosecond"
		fewTraces = "the log has no stack traces"
	)
	return []publishedSetting{
		{flag: "zap-log-level", replaced: "LOG_LEVEL", becomes: zapLevel},
		{flag: "zap-devel", truth: true, replaced: "LOG_LEVEL=debug", becomes: zapDevelopment},
		{flag: "v", env: "V", replaced: "LOG_LEVEL=debug", becomes: verbosity},
		{flag: "zap-encoder", replaced: jsonLines},
		{flag: "zap-time-encoding", replaced: jsonLines},
		{flag: "zap-stacktrace-level", replaced: fewTraces},
		{env: "EPP_METRIC_READER_BEARER_TOKEN", replaced: "EPP_BEARER_TOKEN, or better EPP_TOKEN_PATH", becomes: pickerToken},
		{env: "SCALE_FROM_ZERO_ENGINE_MAX_CONCURRENCY", replaced: oneGate},
		{env: "POOL_GROUP", replaced: noPools},
		{flag: "webhook-cert-path", env: "WEBHOOK_CERT_PATH", replaced: noWebhook},
		{flag: "webhook-cert-name", env: "WEBHOOK_CERT_NAME", replaced: noWebhook},
		{flag: "webhook-cert-key", env: "WEBHOOK_CERT_KEY", replaced: noWebhook},
		{env: cacheKey + "MAX_SIZE", replaced: cacheKey + "MAX_ENTRIES, which counts models"},
		{env: "EPP_METRICS_CACHE_ENABLED", replaced: oneCache},
		{env: "EPP_METRICS_CACHE_TTL", replaced: oneCache},
		{env: "EPP_METRICS_CACHE_MAX_SIZE", replaced: oneCache},
		{env: "EPP_METRICS_CACHE_CLEANUP_INTERVAL", replaced: oneCache},
	}
}

// oneCache says what replaces the second cache of published ConfigMaps.
const oneCache = "what endpoint pickers report is kept with the other metrics, as " + cacheKey + "* says"

// zapLevel reads --zap-log-level: a name, or a number, of which 1 and more are debug.
func zapLevel(value string) (key, as, lost string, err error) {
	switch name := strings.ToLower(value); name {
	case "debug", "info", "warn", "error":
		return "LOG_LEVEL", name, "", nil
	case "dpanic", "panic", "fatal":
		return "LOG_LEVEL", "error", "", nil
	}
	if _, err := strconv.Atoi(value); err != nil {
		return "", "", "", fmt.Errorf("want one of debug, info, warn, error, panic, or a whole number")
	}
	return verbosity(value)
}

// zapDevelopment reads --zap-devel, which set the level and the format of the log.
func zapDevelopment(value string) (key, as, lost string, err error) {
	switch on, err := strconv.ParseBool(value); {
	case err != nil:
		return "", "", "", fmt.Errorf("want true or false")
	case on:
		return "LOG_LEVEL", "debug", "lines stay JSON, without stack traces", nil
	}
	return "", "", "", nil
}

// verbosity reads --v: debug from 1 on. 0, the default, leaves the level to LOG_LEVEL.
func verbosity(value string) (key, as, lost string, err error) {
	switch n, err := strconv.Atoi(value); {
	case err != nil:
		return "", "", "", fmt.Errorf("want a whole number")
	case n > 0:
		return "LOG_LEVEL", "debug", "", nil
	}
	return "", "", "", nil
}

func pickerToken(value string) (key, as, lost string, err error) {
	return "EPP_BEARER_TOKEN", value, "", nil
}

// definePublished declares the flags of earlier versions on fs. Their values are text, so that fs
// refuses none.
func definePublished(fs *flag.FlagSet, published []publishedSetting) {
	for _, p := range published {
		if p.flag != "" {
			fs.Var(&publishedFlag{truth: p.truth}, p.flag, "accepted from earlier versions: "+p.replaced)
		}
	}
}

// publishedFlag is the text of a flag of an earlier version.
type publishedFlag struct {
	text  string
	truth bool
}

func (p *publishedFlag) String() string { return p.text }

// Set keeps the text as it is.
func (p *publishedFlag) Set(text string) error { p.text = text; return nil }

// IsBoolFlag reports whether the flag needs no value.
func (p *publishedFlag) IsBoolFlag() bool { return p.truth }

// takePublished applies the given published settings, below those set under their current names,
// and returns a sentence for each.
func (o *Operator) takePublished(fs *flag.FlagSet, settings []setting, published []publishedSetting) ([]string, error) {
	flags := map[string]string{}
	fs.Visit(func(f *flag.Flag) {
		if p, ok := f.Value.(*publishedFlag); ok {
			flags[f.Name] = p.text
		}
	})
	var said []string
	for _, p := range published {
		name := "--" + p.flag
		value, given := flags[p.flag]
		if !given && p.env != "" {
			name = p.env
			value, _, given = o.Explicit[1:].Lookup(p.env)
		}
		if !given {
			continue
		}
		note, err := o.become(fs, settings, p, name, value)
		if err != nil {
			return nil, err
		}
		said = append(said, note)
	}
	return said, nil
}

// become applies one published setting, and returns a sentence about its effect.
func (o *Operator) become(fs *flag.FlagSet, settings []setting, p publishedSetting, name, value string) (string, error) {
	const earlier = " is a setting of an earlier version"
	if p.becomes == nil {
		return name + earlier + " and has no effect: " + p.replaced, nil
	}
	key, as, lost, err := p.becomes(value)
	switch {
	case err != nil:
		return fmt.Sprintf("%s%s; its value %q is not read (%s): use %s", name, earlier, shorten(value), err, p.replaced), nil
	case key == "":
		return fmt.Sprintf("%s=%s%s and asks for what is the default; the setting is %s", name, shorten(value), earlier, p.replaced), nil
	}
	if _, origin, set := o.Explicit.Lookup(key); set {
		return fmt.Sprintf("%s%s and has no effect, because %s is set by %s", name, earlier, key, origin), nil
	}
	s := settings[slices.IndexFunc(settings, func(s setting) bool { return s.env == key })]
	if err := fs.Set(s.flag, as); err != nil {
		return "", &FieldError{Key: name, Value: s.show(value), Want: s.want(err)}
	}
	o.Explicit = append(o.Explicit, Place{Origin: name, Lookup: File{key: as}.Lookup})
	note := fmt.Sprintf("%s%s and is read as %s=%s: use %s", name, earlier, key, s.show(as), p.replaced)
	if lost != "" {
		note += "; " + lost
	}
	return note, nil
}

// publishedKey returns what replaces a variable of earlier versions that no setting has, and
// whether there is such a variable.
func publishedKey(name string) (replaced string, ok bool) {
	for _, p := range publishedSettings() {
		if p.env == name {
			return p.replaced, true
		}
	}
	return "", false
}
