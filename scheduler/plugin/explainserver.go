package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// explainPath is where explanations are served.
const explainPath = "/debug/dray/explain"

// serveExplanations serves explanations of the pods of all engines at the address
// until ctx ends. Profiles with one address share it. The caller holds mu.
func (f *Factory) serveExplanations(ctx context.Context, address string) error {
	if !f.ServeExplanations || address == "" || f.listening[address] {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s: explainAddress: %w: give another address in the plugin's arguments, or \"\" to serve no explanations", Name, err)
	}
	if f.listening == nil {
		f.listening = map[string]bool{}
	}
	f.listening[address] = true
	server := newExplainServer(f.lastAttempt, explainPatience)
	context.AfterFunc(ctx, func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(stopping) // what is still being written by then is cut off
	})
	logger := klog.FromContext(ctx)
	logger.Info("Serving explanations", "plugin", Name, "address", listener.Addr().String(), "path", explainPath)
	go func() {
		if err := server.Serve(netutil.LimitListener(listener, explainClients)); !errors.Is(err, http.ErrServerClosed) {
			logger.Error(err, "Explanations are no longer served", "plugin", Name, "address", address)
		}
	}()
	return nil
}

// Whoever reaches the endpoint may be slow, or many, and must not take what the
// scheduler needs: files and memory.
const (
	explainClients  = 32 // connections; more have to wait
	explainPatience = 10 * time.Second
)

// newExplainServer ends connections that take longer than patience for a question, or
// between two.
func newExplainServer(find func(types.NamespacedName) *attempt, patience time.Duration) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET "+explainPath, explainHandler{find})
	return &http.Server{Handler: mux, ReadTimeout: patience, IdleTimeout: patience, WriteTimeout: 6 * patience, MaxHeaderBytes: 1 << 14}
}

// lastAttempt looks for the pod's last failed attempt, or why there is none.
func (f *Factory) lastAttempt(pod types.NamespacedName) *attempt {
	f.mu.Lock()
	plugins := slices.Clone(f.plugins)
	f.mu.Unlock()
	for _, p := range plugins {
		if a := p.lastAttempt(pod); a != nil {
			return a
		}
	}
	return nil
}

// explainHandler answers pod=namespace/name, with node=NAME about one node, in
// format=text or json. Without format, a client that accepts application/json gets
// that.
type explainHandler struct {
	find func(pod types.NamespacedName) *attempt
}

func (h explainHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	q, err := readQuestion(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := h.find(q.pod)
	if a == nil {
		http.Error(w, fmt.Sprintf("no failed attempt of pod %s is known here: it has not been tried, is placed, was refused by other plugins alone (see its condition PodScheduled), or others failed since (%d are kept)", q.pod, keptAttempts), http.StatusNotFound)
		return
	}
	if q.node != "" {
		if a = a.onNode(q.node); a == nil {
			http.Error(w, fmt.Sprintf("node %s was not refused for pod %s by this plugin: it was not asked, has the devices, or does not exist", q.node, q.pod), http.StatusNotFound)
			return
		}
	}
	if !q.json {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(a.text()))
		return
	}
	header.Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false) // selectors are to be read
	_ = encoder.Encode(a)
}

type question struct {
	pod  types.NamespacedName
	node string
	json bool
}

func readQuestion(r *http.Request) (question, error) {
	const usage = "ask " + explainPath + "?pod=NAMESPACE/NAME[&node=NODE][&format=text|json]"
	var q question
	query := r.URL.Query()
	for key, values := range query {
		switch {
		case key != "pod" && key != "node" && key != "format":
			return q, fmt.Errorf("unknown parameter %q: %s", key, usage)
		case len(values) > 1:
			return q, fmt.Errorf("parameter %s is given %d times: %s", key, len(values), usage)
		}
	}
	namespace, name, ok := strings.Cut(query.Get("pod"), "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return q, fmt.Errorf("pod %q is not NAMESPACE/NAME: %s", query.Get("pod"), usage)
	}
	q.pod, q.node = types.NamespacedName{Namespace: namespace, Name: name}, query.Get("node")
	switch query.Get("format") {
	case "json":
		q.json = true
	case "text":
	case "":
		q.json = strings.Contains(r.Header.Get("Accept"), "application/json")
	default:
		return q, fmt.Errorf("format %q is neither text nor json: %s", query.Get("format"), usage)
	}
	return q, nil
}
