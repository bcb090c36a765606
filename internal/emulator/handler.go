package emulator

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/exposition"
)

// handler serves an Emulator over HTTP.
type handler struct {
	emulator *Emulator
	words    []string
	streams  atomic.Int64 // open
}

// Handler returns the HTTP handler; see the package's documentation for its paths.
func (e *Emulator) Handler() http.Handler { return e.handler() }

func (e *Emulator) handler() *handler { return &handler{emulator: e, words: fillerWords()} }

// ServeHTTP routes without a ServeMux, because the model ID in a path may contain slashes.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for _, api := range []struct {
		suffix, method string
		serve          func(http.ResponseWriter, *http.Request, ModelKey)
	}{
		{"/v1/chat/completions", http.MethodPost, h.chat},
		{"/v1/completions", http.MethodPost, h.complete},
		{"/v1/models", http.MethodGet, h.listModels},
	} {
		prefix, ok := strings.CutSuffix(path, api.suffix)
		if !ok {
			continue
		}
		if r.Method != api.method {
			w.Header().Set("Allow", api.method)
			writeError(w, &apiError{Status: http.StatusMethodNotAllowed, Type: "MethodNotAllowedError", Message: fmt.Sprintf("method is %s, want %s", r.Method, api.method)})
			return
		}
		key := ModelKey{}
		if prefix != "" {
			key.Namespace, key.ID, ok = strings.Cut(strings.TrimPrefix(prefix, "/"), "/")
			if !ok {
				writeError(w, notFound("", "path is %s, want /NAMESPACE/MODEL%s", path, api.suffix))
				return
			}
		}
		api.serve(w, r, key)
		return
	}
	h.servePages(w, r)
}

func (h *handler) servePages(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		writeError(w, notFound("", "no %s %s here", r.Method, r.URL.Path))
	case len(parts) == 1 && parts[0] == "healthz":
		_, _ = io.WriteString(w, "ok\n")
	case len(parts) == 1 && parts[0] == "sd":
		_ = writeJSON(w, http.StatusOK, h.targets(r))
	case len(parts) == 4 && parts[0] == "pods" && parts[3] == "metrics":
		h.podPage(w, parts[1], parts[2])
	case len(parts) == 3 && parts[0] == "gateway" && parts[2] == "metrics":
		page, ok := h.emulator.gatewayPage(parts[1])
		if !ok {
			http.Error(w, fmt.Sprintf("no emulated model in namespace %q", parts[1]), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", exposition.ContentType)
		_, _ = w.Write(page)
	default:
		writeError(w, notFound("", "no %s here; want /NAMESPACE/MODEL/v1/..., /pods/NAMESPACE/POD/metrics, /gateway/NAMESPACE/metrics, /sd or /healthz", r.URL.Path))
	}
}

func (h *handler) podPage(w http.ResponseWriter, namespace, name string) {
	v, model, ok := h.emulator.podView(namespace, name)
	switch {
	case !ok:
		http.Error(w, fmt.Sprintf("no emulated pod %s/%s", namespace, name), http.StatusNotFound)
	case v == nil:
		http.Error(w, "the model is loading", http.StatusServiceUnavailable)
	default:
		var page exposition.Page
		writePage(&page, h.emulator.families, h.emulator.version, model, v)
		w.Header().Set("Content-Type", exposition.ContentType)
		_, _ = w.Write(page.Bytes())
	}
}

func (h *handler) listModels(w http.ResponseWriter, _ *http.Request, key ModelKey) {
	list := []map[string]any{}
	last := ""
	for _, k := range h.emulator.models(func(k ModelKey) bool { return key == ModelKey{} || k == key }) {
		if k.ID != last {
			list = append(list, map[string]any{"id": k.ID, "object": "model", "created": h.emulator.epoch.Unix(), "owned_by": "emulator"})
			last = k.ID
		}
	}
	if len(list) == 0 && key != (ModelKey{}) {
		writeError(w, modelNotFound(key))
		return
	}
	_ = writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}
