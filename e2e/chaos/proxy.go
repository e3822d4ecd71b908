package chaos

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// proxy stands between the scheduler and the API server. It passes calls on as they
// are, credentials included, except where a fault is drawn.
//
// Writes that it passes on are carried out even if the scheduler dies meanwhile, and
// drain waits for them: a call of a dead scheduler that arrives while its successor
// works is not what is tested here. (Leases see to that in a cluster.)
type proxy struct {
	forward *httputil.ReverseProxy
	journal *journal

	mu       sync.Mutex
	rand     *rand.Rand
	faulty   bool
	kill     *kill
	calls    int
	injected map[string]int
	inFlight sync.WaitGroup // writes
}

// kill is the death of the scheduler at a call.
type kill struct {
	in     int  // calls that match until then
	writes bool // whether only writes match, without events and leases
	after  bool // whether the call is carried out first
	how    func()
	done   chan string // told the call
}

func newProxy(target string, tlsConfig *tls.Config, random *rand.Rand, journal *journal) (*proxy, error) {
	address, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	p := &proxy{rand: random, journal: journal, injected: map[string]int{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(address) },
		Transport: &http.Transport{
			TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
		},
		FlushInterval: -1, // watches
		// What breaks off here is broken off on purpose.
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return p, nil
}

// serve listens on loopback and returns the proxy's address. It speaks TLS, without
// which clients send no tokens, and HTTP/1.1, so that a call that is broken off is a
// connection that breaks.
func (p *proxy) serve(cert, key string) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute,
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// Clients that die in the handshake are what is wanted.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = server.ServeTLS(listener, cert, key) }()
	return "https://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// arm kills the scheduler at a call that is still to come.
func (p *proxy) arm(k *kill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill = k
}

func (p *proxy) setFaulty(faulty bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faulty = faulty
}

// drain waits until the API server has answered all writes.
func (p *proxy) drain() { p.inFlight.Wait() }

func (p *proxy) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	call := classify(request)
	death, fault := p.decide(call)
	if death != nil {
		p.die(w, request, call, death)
		return
	}
	if fault != "" {
		p.journal.note("fault %s: %s", fault, call)
	}
	switch fault {
	case "":
		p.pass(w, request, call)
	case faultSlow:
		time.Sleep(slowAnswer)
		p.pass(w, request, call)
	case faultReset:
		panic(http.ErrAbortHandler)
	case faultLost:
		p.pass(&discard{header: http.Header{}}, request, call)
		panic(http.ErrAbortHandler)
	case faultCut:
		ctx, cancel := context.WithTimeout(request.Context(), cutAfter)
		defer cancel()
		p.forward.ServeHTTP(w, request.WithContext(ctx))
	default:
		refuse(w, refusals[fault])
	}
}

// die kills the scheduler at this call.
func (p *proxy) die(w http.ResponseWriter, request *http.Request, call call, death *kill) {
	if death.after {
		p.pass(&discard{header: http.Header{}}, request, call)
	}
	death.how()
	when := "before"
	if death.after {
		when = "after"
	}
	death.done <- when + " " + call.String()
	panic(http.ErrAbortHandler)
}

func (p *proxy) pass(w http.ResponseWriter, request *http.Request, call call) {
	if call.write {
		p.inFlight.Add(1)
		defer p.inFlight.Done()
		request = request.WithContext(context.WithoutCancel(request.Context()))
	}
	p.forward.ServeHTTP(w, request)
}

// decide counts the call and draws what happens to it.
func (p *proxy) decide(call call) (*kill, fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if k := p.kill; k != nil && (!k.writes || call.matters()) {
		if k.in--; k.in <= 0 {
			p.kill = nil
			return k, ""
		}
	}
	if !p.faulty || call.lease {
		return nil, ""
	}
	drawn := drawFault(p.rand, call)
	if drawn != "" {
		p.injected[string(drawn)]++
	}
	return nil, drawn
}

// call is what the proxy knows of a request.
type call struct {
	method, path               string
	write, watch, event, lease bool
}

func classify(request *http.Request) call {
	path := request.URL.Path
	return call{
		method: request.Method, path: path,
		write: request.Method != http.MethodGet,
		watch: request.URL.Query().Get("watch") != "",
		event: strings.HasSuffix(path, "/events") || strings.Contains(path, "/events/"),
		lease: strings.Contains(path, "/leases"),
	}
}

func (c call) matters() bool { return c.write && !c.event && !c.lease }

func (c call) String() string { return c.method + " " + c.path }

// refuse answers as an API server that does not carry out the call.
func refuse(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Status = metav1.StatusFailure
	status.Message = fmt.Sprintf("injected by the test: %s", status.Reason)
	w.Header().Set("Content-Type", "application/json")
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(status.Details.RetryAfterSeconds))
	}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// discard takes an answer that does not arrive.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
