package chaos

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// record is an API server that knows which calls it was sent.
type record struct {
	mu    sync.Mutex
	calls []string
}

func (r *record) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, request.Method+" "+request.URL.Path)
	_, _ = io.WriteString(w, "done")
}

func newTestProxy(t *testing.T) (*proxy, *record, string) {
	t.Helper()
	server := &record{}
	upstream := httptest.NewServer(server)
	t.Cleanup(upstream.Close)
	p, err := newProxy(upstream.URL, nil, rand.New(rand.NewPCG(1, 1)), newJournal(t))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return p, server, front.URL
}

func do(t *testing.T, method, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

func TestTheSchedulerDiesAtTheDrawnCall(t *testing.T) {
	for name, test := range map[string]struct {
		after bool
		want  []string // calls that the API server gets
	}{
		"before": {false, []string{"PUT /first", "GET /read"}},
		"after":  {true, []string{"PUT /first", "GET /read", "PUT /second"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, server, url := newTestProxy(t)
			killed := 0
			death := &kill{in: 2, writes: true, after: test.after, done: make(chan string, 1), how: func() { killed++ }}
			p.arm(death)
			for _, call := range []string{"PUT /first", "GET /read"} {
				method, path, _ := strings.Cut(call, " ")
				if body, err := do(t, method, url+path); err != nil || body != "done" {
					t.Fatalf("%s: %q, %v", call, body, err)
				}
			}
			if body, err := do(t, "PUT", url+"/second"); err == nil {
				t.Errorf("a dead scheduler is answered %q", body)
			}
			if said := <-death.done; killed != 1 || said != name+" PUT /second" {
				t.Errorf("killed %d times, %q", killed, said)
			}
			p.drain()
			if !slices.Equal(server.calls, test.want) {
				t.Errorf("the API server got %v, want %v", server.calls, test.want)
			}
		})
	}
}

func TestAnAnswerThatIsLostWasCarriedOut(t *testing.T) {
	p, server, url := newTestProxy(t)
	p.setFaulty(true)
	lost := 0
	for lost == 0 {
		before := p.injected[string(faultLost)]
		_, err := do(t, "POST", url+"/x")
		if p.injected[string(faultLost)] > before {
			lost++
			if err == nil {
				t.Error("the answer arrived")
			}
		}
	}
	carriedOut := len(server.calls)
	refused := 0
	for name, n := range p.injected {
		if fault(name) != faultLost && fault(name) != faultSlow {
			refused += n
		}
	}
	if want := p.calls - refused; carriedOut != want {
		t.Errorf("%d calls were carried out, want %d: %v", carriedOut, want, p.injected)
	}
}

// What is injected is to be what an API server says, to a client of Kubernetes.
func TestRefusalsAreUnderstood(t *testing.T) {
	for kind, is := range map[fault]func(error) bool{
		faultConflict: errors.IsConflict, faultInternal: errors.IsInternalError, faultTimeout: errors.IsTimeout,
		faultThrottled: errors.IsTooManyRequests, faultUnavailable: errors.IsServiceUnavailable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			status := refusals[kind]
			status.Details = nil // or the client waits and asks again
			refuse(w, status)
		}))
		client := kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL})
		if _, err := client.CoreV1().Pods("x").Get(t.Context(), "y", metav1.GetOptions{}); !is(err) {
			t.Errorf("%s: the client sees %v", kind, err)
		}
		server.Close()
	}
}
