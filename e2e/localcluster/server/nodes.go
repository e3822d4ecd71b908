package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/e2e/hollow"
	"github.com/dray-dev/dray/e2e/localcluster"
)

// hollowNodes is the role of that name: all nodes of a folder, and an HTTPS endpoint
// that says how they are, stops and starts them, and answers the API server where it
// asks kubelets. Only administrators may call it, of which the API server is one.
type hollowNodes struct {
	dir, address, cert, key, authority string
	port                               int

	ctx   context.Context
	ready chan struct{} // closed when all have been ready once
	mu    sync.Mutex
	nodes map[string]*hollowNode
}

// hollowNode is one that runs, or that was stopped.
type hollowNode struct {
	name string
	node *hollow.Node       // nil: it was stopped, and has ended
	stop context.CancelFunc // ends it
	done chan struct{}      // closed when it has ended
}

func hollowCommand() *cobra.Command {
	h := &hollowNodes{ready: make(chan struct{}), nodes: map[string]*hollowNode{}}
	logging := logsapi.NewLoggingConfiguration()
	command := &cobra.Command{Use: string(localcluster.HollowNodes), SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			logs.InitLogs()
			if err := logsapi.ValidateAndApply(logging, utilfeature.DefaultFeatureGate); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return h.run(ctx)
		}}
	flags := command.Flags()
	flags.StringVar(&h.dir, "dir", "", "directory with a folder for each node")
	flags.StringVar(&h.address, "bind-address", "127.0.0.1", "address to serve on")
	flags.IntVar(&h.port, "secure-port", 0, "port to serve on")
	flags.StringVar(&h.cert, "tls-cert-file", "", "certificate to serve with")
	flags.StringVar(&h.key, "tls-private-key-file", "", "its key")
	flags.StringVar(&h.authority, "client-ca-file", "", "authority of those who may call")
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)
	logsapi.AddFlags(logging, flags)
	return command
}

func (h *hollowNodes) run(ctx context.Context) error {
	names, err := localcluster.NodeNames(h.dir)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	h.ctx = ctx
	server, err := h.server()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(h.address, strconv.Itoa(h.port)))
	if err != nil {
		return err
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.ServeTLS(listener, h.cert, h.key); !errors.Is(err, http.ErrServerClosed) {
			fail(err)
		}
	})
	defer serving.Wait()
	defer server.Close()
	for _, name := range names {
		if _, err := h.start(name, fail); err != nil {
			return err
		}
	}
	go h.awaitAll()
	<-ctx.Done()
	for _, name := range names {
		h.end(name)
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// start starts a node that does not run. A node that ends by itself ends the process.
func (h *hollowNodes) start(name string, fail func(error)) (*hollowNode, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.nodes[name]; n != nil && n.node != nil {
		return nil, fmt.Errorf("node %s runs already", name)
	}
	dir := filepath.Join(h.dir, name)
	file, err := localcluster.ReadNode(dir)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig.yaml"))
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	node, err := hollow.New(hollow.Options{Name: name, Client: client, Dir: dir, Labels: file.Labels, Architecture: file.Architecture, Capacity: file.Capacity,
		Address: h.address, Port: int32(h.port)})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(h.ctx)
	n := &hollowNode{name: name, node: node, stop: stop, done: make(chan struct{})}
	h.nodes[name] = n
	go func() {
		defer close(n.done)
		if err := node.Run(ctx); err != nil {
			fail(err)
		}
	}()
	return n, nil
}

// end stops a node and returns when nothing of it runs. It says whether it did run. The
// node is one that runs until it has ended, so that no other is started on its folder.
func (h *hollowNodes) end(name string) bool {
	h.mu.Lock()
	n := h.nodes[name]
	h.mu.Unlock()
	if n == nil || n.node == nil {
		return false
	}
	n.stop()
	<-n.done
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes[name] == n { // nobody else has waited for it, too
		h.nodes[name] = &hollowNode{name: name}
	}
	return true
}

func (h *hollowNodes) awaitAll() {
	h.mu.Lock()
	var all []*hollowNode
	for _, n := range h.nodes {
		all = append(all, n)
	}
	h.mu.Unlock()
	for _, n := range all {
		if n.node == nil {
			continue
		}
		select {
		case <-n.node.Ready():
		case <-n.done:
		case <-h.ctx.Done():
			return
		}
	}
	close(h.ready)
}

// list says how all nodes are, by name.
func (h *hollowNodes) list() []localcluster.HollowNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []localcluster.HollowNode{}
	for name, n := range h.nodes {
		said := localcluster.HollowNode{Name: name, Running: n.node != nil, Drivers: map[string]string{}}
		if n.node != nil {
			said.Ready = isClosed(n.node.Ready())
			said.Drivers = n.node.Drivers()
		}
		all = append(all, said)
	}
	slices.SortFunc(all, func(a, b localcluster.HollowNode) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// server answers the administrator.
func (h *hollowNodes) server() (*http.Server, error) {
	authority, err := os.ReadFile(h.authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s holds no certificate", h.authority)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !isClosed(h.ready) {
			http.Error(w, "not all nodes are ready", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /nodes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(h.list())
	})
	mux.HandleFunc("POST /nodes/{name}/stop", func(w http.ResponseWriter, r *http.Request) {
		if !h.end(r.PathValue("name")) {
			http.Error(w, "no such node runs", http.StatusNotFound)
		}
	})
	mux.HandleFunc("POST /nodes/{name}/start", func(w http.ResponseWriter, r *http.Request) { h.startAnew(w, r) })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", h.log)
	return &http.Server{
		Handler: onlyAdministrators(mux), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12},
	}, nil
}

func (h *hollowNodes) startAnew(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	h.mu.Lock()
	known := h.nodes[name] != nil
	h.mu.Unlock()
	if !known {
		http.Error(w, "there is no such node", http.StatusNotFound)
		return
	}
	failed := func(err error) { klog.Background().Error(err, "A node has ended", "node", name) }
	n, err := h.start(name, failed)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	select {
	case <-n.node.Ready():
	case <-n.done:
		http.Error(w, "the node has ended by itself: see the log", http.StatusInternalServerError)
	case <-r.Context().Done():
	}
}

// log answers the API server as a kubelet does: the nodes' kubelets are all here.
func (h *hollowNodes) log(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	var running []*hollow.Node
	for _, n := range h.nodes {
		if n.node != nil {
			running = append(running, n.node)
		}
	}
	h.mu.Unlock()
	for _, node := range running {
		if text, ok := node.Log(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")); ok {
			_, _ = io.WriteString(w, text)
			return
		}
	}
	http.Error(w, "the container has not been started", http.StatusNotFound)
}

// onlyAdministrators: the authority signs certificates of nodes as well.
func onlyAdministrators(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || !slices.Contains(r.TLS.PeerCertificates[0].Subject.Organization, "system:masters") {
			http.Error(w, "this is for the administrator of the cluster", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
